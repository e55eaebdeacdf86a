"""The same audit of other libraries, each in an environment of its own: what it says is about one pair and these draws.

Each library draws in its own process by its own calls; the answers come back as JSON, floats bit by bit, and are held against what
the library states. `python3 dev.py bench audit_peers` writes the page of peers, `python3 dev.py bench audit` that and the rest.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import date
from typing import Any

import deniable as dp
from benchmarks.peers import answer, peer, version
from benchmarks.report import Report, number
from deniable.audit.claims import curve_of
from deniable.audit.faults import PLANTED, Fault
from deniable.audit.self_audit import audit_fault
from deniable.cost import Bounded, Cost, Gaussian
from deniable.noise import system_entropy
from deniable.version import __version__

ENVIRONMENTS = {
    "opendp": ("opendp==0.16.0",),
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.7.2"),
    "opacus": ("opacus==1.6.0", "torch==2.13.0"),
    "privacy-estimates": ("privacy-estimates==0.1.0.post1",),
}
MORE, MOST = 10, 200_000
"""Another auditor is given so many times the draws that ours needs, but no more than the second number."""
ONE = Bounded(epsilon=1)
_OPENDP = "import opendp.prelude as dp\ndp.enable_features('contrib')\n"
_OPACUS = """import torch
from opacus.optimizers import DPOptimizer
weight = torch.nn.Parameter(torch.zeros(1))
inner = torch.optim.SGD([weight], lr=0.0)
step = DPOptimizer(inner, noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=1, loss_reduction="sum", secure_mode={secure})
def gradient(value):
    step.zero_grad()
    weight.grad_sample = torch.full((1, 1), float(value))
    step.step()
    return float(weight.grad[0])
"""


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    """One way another library answers about a number that one person moves by one, and what it states."""

    name: str
    package: str
    setup: str
    call: str
    claim: Cost = ONE
    stated: str = "ε = 1"


ANSWERS = (
    PeerAnswer(
        "opendp: discrete Laplace, scale 1",
        "opendp",
        f"{_OPENDP}noisy = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)",
        "noisy(x)",
    ),
    PeerAnswer(
        "opendp: Laplace on floats, scale 1",
        "opendp",
        f"{_OPENDP}noisy = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)",
        "noisy(float(x))",
    ),
    PeerAnswer(
        "opendp: Gaussian on floats, scale 1",
        "opendp",
        f"{_OPENDP}noisy = dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)",
        "noisy(float(x))",
        Gaussian(scale=1),
        "Gaussian, scale 1",
    ),
    PeerAnswer(
        "diffprivlib: Laplace",
        "diffprivlib",
        "from diffprivlib.mechanisms import Laplace\nnoisy = Laplace(epsilon=1, sensitivity=1)",
        "noisy.randomise(float(x))",
    ),
    PeerAnswer(
        "diffprivlib: Geometric",
        "diffprivlib",
        "from diffprivlib.mechanisms import Geometric\nnoisy = Geometric(epsilon=1, sensitivity=1)",
        "noisy.randomise(int(x))",
    ),
    PeerAnswer(
        "diffprivlib: Snapping",
        "diffprivlib",
        "from diffprivlib.mechanisms import Snapping\nnoisy = Snapping(epsilon=1, sensitivity=1, lower=-50, upper=50)",
        "noisy.randomise(float(x))",
    ),
    PeerAnswer(
        "opacus: one gradient of DPOptimizer",
        "opacus",
        _OPACUS.format(secure=False),
        "gradient(x)",
        Gaussian(scale=1),
        "Gaussian, scale 1",
    ),
    PeerAnswer(
        "opacus: the same, secure_mode",
        "opacus",
        _OPACUS.format(secure=True),
        "gradient(x)",
        Gaussian(scale=1),
        "Gaussian, scale 1",
    ),
)


def audited(one: PeerAnswer, *, samples: int) -> list[str]:
    """One row of the table: what the library states, and whether these draws refute it."""
    python = peer(one.package, *ENVIRONMENTS[one.package])
    found: Any = answer(python, f"{one.setup}\nanswer = [[{one.call} for _ in range({samples // 2})] for x in (0, 1)]")
    if found is None:
        return [one.name, "–", one.stated, "not measured", "–", "–"]
    sides = [iter(side) for side in found]
    verdict = dp.audit.check(lambda x: next(sides[x]), claim=one.claim, neighbours=(0, 1), samples=samples)
    said = "exceeded on this pair" if verdict.broken else "not refuted"
    event = str(verdict.event) if verdict.broken else "–"
    return [one.name, version(python, one.package), one.stated, said, number(verdict.epsilon_at_least), event]


def peers(page: Report, *, samples: int = 20_000) -> None:
    """The table of all of them."""
    page.note(
        f"Other libraries on the pair (0, 1), {samples:,} draws of each mechanism, level 1 % for each, on {date.today().isoformat()}. "
        "“Exceeded on this pair” says that stated ε is exceeded on this pair, by the event shown; “not refuted” says no more "
        "than that. For Gaussian statements the lower bound on ε is at δ = 10⁻⁶. Where an event speaks of multiples of powers of two, "
        "the floats that can be reached differ between the two data sets. The gradient of Opacus is one step of its `DPOptimizer` on one "
        "per-sample gradient, 0 or 1, set by hand."
    )
    rows = [audited(one, samples=samples) for one in ANSWERS]
    page.table(["mechanism", "version", "states", "stated ε is", "ε at least", "event"], rows)


# Other auditors -----------------------------------------------------------------------------------------------------------

_BOUNDS = """import warnings
warnings.simplefilter("ignore")
from privacy_estimates import AttackResults, compute_eps_lo
answer = [
    [float(compute_eps_lo(AttackResults(FN=n - a, FP=b, TN=n - b, TP=a), delta=delta, alpha=0.01, method=method))
     for method in ("beta", "jeffreys")]
    for a, b, n, delta in {counts}
]
"""


def counts_of(fault: type[Fault]) -> tuple[int, int, int, float, float]:
    """How often the event that a fault names is seen on each side, in how many draws; the claim as (epsilon, delta)."""
    draws = min(MORE * (fault.samples or MOST), MOST) // 2
    curve = curve_of(fault.claim)
    sides = dp.audit.event_counts(fault(), fault.event, neighbours=(fault.left, fault.right), draws=draws)
    return max(sides), min(sides), draws, curve.delta, float(dp.epsilon(fault.claim, delta=curve.delta).upper)


def auditors(page: Report) -> None:
    """The planted faults by auditors of others that can be installed."""
    python = peer("privacy-estimates", *ENVIRONMENTS["privacy-estimates"])
    counted = [counts_of(fault) for fault in PLANTED]
    found: Any = answer(python, _BOUNDS.format(counts=[list(each[:4]) for each in counted]))
    ours = sum(audit_fault(fault, entropy=system_entropy()).broken for fault in PLANTED)
    rows = [["deniable", __version__, "none", "as each fault states", f"{ours} of {len(PLANTED)}"]]
    for place, method in enumerate(("Clopper–Pearson", "Jeffreys")):
        caught = sum(b[place] > each[4] for b, each in zip(found, counted, strict=True)) if found else None
        rows.append(
            [
                f"privacy-estimates, {method}",
                version(python, "privacy-estimates") if found else "–",
                "the best event of each fault",
                f"{MORE} times as many, at most {MOST:,}",
                "not measured" if caught is None else f"{caught} of {len(PLANTED)}",
            ]
        )
    page.note(
        f"The forty planted faults by other auditors, on {date.today().isoformat()}, one run, level 1 % for each fault. `privacy-estimates` bounds epsilon from "
        "the counts of one attack and looks for none itself: it is told the event that gives each fault away, which ours has to find. Its third method, the joint "
        "density, was not run. Of others we know of, `dp-auditorium`, `dp-sniper`, `statdp`, `delta-siege`, "
        "`dp-stochastic-tester`, `dp-finder`, `checkdp`, `privacy-auditing`, `tapas-privacy` and `canife` are not on the registry under these names; "
        "`tensorflow-privacy`, `privacy-meter`, `anonymeter` and `adversarial-robustness-toolbox` are, and attack models or synthetic records, not mechanisms."
    )
    page.table(["auditor", "version", "told beforehand", "draws", "faults found"], rows)


def main() -> None:
    """Write the page of peers alone."""
    before = time.process_time()
    page = Report("audit_peers", title="Other libraries, audited", versions={"deniable": __version__}, how="one run")
    peers(page)
    auditors(page)
    page.note(f"CPU seconds of the auditor, without the libraries' own draws: {number(time.process_time() - before)}.")
    page.write()


if __name__ == "__main__":
    main()
