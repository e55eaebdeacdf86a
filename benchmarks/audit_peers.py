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
from deniable.cost import Bounded, Cost, Gaussian
from deniable.version import __version__

ENVIRONMENTS = {
    "opendp": ("opendp==0.16.0",),
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.7.2"),
    "opacus": ("opacus==1.6.0", "torch==2.13.0"),
}
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


def main() -> None:
    """Write the page of peers alone."""
    before = time.process_time()
    page = Report("audit_peers", title="Other libraries, audited", versions={"deniable": __version__}, how="one run")
    peers(page)
    page.note(f"CPU seconds of the auditor, without the libraries' own draws: {number(time.process_time() - before)}.")
    page.write()


if __name__ == "__main__":
    main()
