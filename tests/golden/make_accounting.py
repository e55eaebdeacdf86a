"""Make tests/golden/accounting.json again: epsilon by other accountants, each in an environment of its own, beside the truth.

Every tool gets the same releases and the same delta and answers with its default settings, as an upper bound where it has one.
The truth comes from references with 50 digits, or from the contour integral (`tests/unit/accounting/contour.py`), by bisection.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dev
from benchmarks.peers import answer, peer, version
from deniable.accounting import epsilon
from tests.golden.accounting_cases import CASES, cost_of, delta_of
from tests.golden.accounting_page import rendered

FILE = Path(__file__).with_name("accounting.json")
PAGE = dev.ROOT / "docs" / "accountants.md"
LONGEST = 60

START = """
import json, math, signal, warnings
warnings.simplefilter("ignore")
CASES = json.loads({cases!r})
def stop(*_):
    raise TimeoutError("longer than {longest} s")
signal.signal(signal.SIGALRM, stop)
def each(epsilon):
    found = {{}}
    for case in CASES:
        signal.alarm({longest})
        try:
            value = float(epsilon(case["parts"], case["delta"]))
            found[case["id"]] = value if math.isfinite(value) else repr(value)
        except NotImplementedError:
            pass
        except Exception as error:
            found[case["id"]] = "failed: " + (str(error).splitlines() or [type(error).__name__])[0][:80]
        finally:
            signal.alarm(0)
    return found
"""

DP_ACCOUNTING = """
import dp_accounting as d
R = d.NeighboringRelation
def event(part):
    kind = part["kind"]
    if kind == "gaussian":
        one = d.GaussianDpEvent(part["scale"])
    elif kind == "laplace":
        one = d.LaplaceDpEvent(part["scale"])
    elif kind == "discrete laplace":
        one = d.dp_event.DiscreteLaplaceDpEvent(1 / part["scale"], 1)
    elif kind == "sampled gaussian":
        one = d.PoissonSampledDpEvent(part["rate"], d.GaussianDpEvent(part["scale"]))
    elif kind == "response":
        k = part["categories"]
        one = d.RandomizedResponseDpEvent((1 - part["truth"]) * k / (k - 1), k)
    else:
        raise NotImplementedError
    return d.SelfComposedDpEvent(one, part["times"])
def relation(parts):
    return R.REPLACE_ONE if any(part["kind"] == "response" for part in parts) else R.ADD_OR_REMOVE_ONE
"""

TOOLS: dict[str, tuple[tuple[str, ...], str]] = {
    "dp-accounting PLD": (
        ("dp-accounting",),
        DP_ACCOUNTING
        + """
from dp_accounting.pld import privacy_loss_distribution as pld
def epsilon(parts, delta):
    if all(part["kind"] == "pure" for part in parts):
        whole = None
        for part in parts:
            pure = d.pld.common.DifferentialPrivacyParameters(part["epsilon"], 0)
            one = pld.from_privacy_parameters(pure).self_compose(part["times"])
            whole = one if whole is None else whole.compose(one)
        return whole.get_epsilon_for_delta(delta)
    accountant = d.pld.PLDAccountant(relation(parts))
    for part in parts:
        accountant.compose(event(part))
    return accountant.get_epsilon(delta)
""",
    ),
    "dp-accounting RDP": (
        ("dp-accounting",),
        DP_ACCOUNTING
        + """
def epsilon(parts, delta):
    accountant = d.rdp.RdpAccountant(neighboring_relation=relation(parts))
    for part in parts:
        accountant.compose(event(part))
    return accountant.get_epsilon(delta)
""",
    ),
    "prv-accountant": (
        ("prv-accountant",),
        """
import prv_accountant as p
def epsilon(parts, delta):
    laws = []
    for part in parts:
        if part["kind"] == "gaussian":
            laws.append(p.GaussianMechanism(part["scale"]))
        elif part["kind"] == "sampled gaussian":
            laws.append(p.PoissonSubsampledGaussianMechanism(part["rate"], part["scale"]))
        elif part["kind"] == "laplace":
            laws.append(p.LaplaceMechanism(mu=1 / part["scale"]))
        elif part["kind"] == "pure":
            laws.append(p.PureDPMechanism(part["epsilon"]))
        else:
            raise NotImplementedError
    times = [part["times"] for part in parts]
    accountant = p.PRVAccountant(prvs=laws, max_self_compositions=times, eps_error=0.01, delta_error=delta / 1000)
    return accountant.compute_epsilon(delta=delta, num_self_compositions=times)[2]
""",
    ),
    "autodp": (
        ("autodp",),
        """
from autodp import mechanism_zoo as z, transformer_zoo as t
def epsilon(parts, delta):
    laws = []
    for part in parts:
        if part["kind"] == "gaussian":
            laws.append(z.GaussianMechanism(part["scale"]))
        elif part["kind"] == "laplace":
            laws.append(z.LaplaceMechanism(part["scale"]))
        elif part["kind"] == "pure":
            laws.append(z.PureDP_Mechanism(part["epsilon"]))
        elif part["kind"] == "response" and part["categories"] == 2:
            laws.append(z.RandresponseMechanism(part["truth"]))
        elif part["kind"] == "sampled gaussian":
            base = z.GaussianMechanism(part["scale"])
            base.neighboring = "add_remove"
            laws.append(t.AmplificationBySampling(PoissonSampling=True)(base, part["rate"], improved_bound_flag=True))
        else:
            raise NotImplementedError
    return t.Composition()(laws, [part["times"] for part in parts]).get_approxDP(delta)
""",
    ),
    "opacus RDP": (
        ("--no-deps", "opacus", "numpy", "scipy"),
        """
import importlib.util, pathlib, sys, types
root = pathlib.Path(importlib.util.find_spec("opacus").origin).parent
for name in ("opacus", "opacus.accountants"):
    module = types.ModuleType(name)
    module.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
    sys.modules[name] = module
from opacus.accountants.analysis import rdp
ORDERS = [1 + x / 10.0 for x in range(1, 100)] + list(range(12, 64))
def epsilon(parts, delta):
    total = 0
    for part in parts:
        if part["kind"] not in ("gaussian", "sampled gaussian"):
            raise NotImplementedError
        total = total + rdp.compute_rdp(q=part.get("rate", 1.0), noise_multiplier=part["scale"], steps=part["times"], orders=ORDERS)
    return rdp.get_privacy_spent(orders=ORDERS, rdp=total, delta=delta)[0]
""",
    ),
    "opacus GDP (CLT)": (
        ("--no-deps", "opacus", "numpy", "scipy"),
        """
import importlib.util, pathlib, sys, types
root = pathlib.Path(importlib.util.find_spec("opacus").origin).parent
for name in ("opacus", "opacus.accountants"):
    module = types.ModuleType(name)
    module.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
    sys.modules[name] = module
from opacus.accountants.analysis import gdp
def epsilon(parts, delta):
    if len(parts) > 1 or parts[0]["kind"] != "sampled gaussian":
        raise NotImplementedError
    part = parts[0]
    return gdp.compute_eps_poisson(steps=part["times"], noise_multiplier=part["scale"], sample_rate=part["rate"], delta=delta)
""",
    ),
    "opendp": (
        ("opendp",),
        """
import opendp.prelude as dp
dp.enable_features("contrib", "honest-but-curious")
SPACE = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
WHOLE = dp.atom_domain(T=int), dp.absolute_distance(T=int)
def epsilon(parts, delta):
    kinds = {part["kind"] for part in parts}
    if kinds <= {"gaussian"}:
        one = [dp.m.make_gaussian(*SPACE, scale=part["scale"]) for part in parts for _ in range(part["times"])]
        whole = dp.c.make_zCDP_to_approxDP(dp.c.make_composition(one) if len(one) > 1 else one[0])
        return whole.map(1.0).epsilon(delta)
    if kinds <= {"discrete gaussian"}:
        one = [dp.m.make_gaussian(*WHOLE, scale=part["scale"]) for part in parts for _ in range(part["times"])]
        whole = dp.c.make_zCDP_to_approxDP(dp.c.make_composition(one) if len(one) > 1 else one[0])
        return whole.map(1).epsilon(delta)
    if kinds <= {"laplace"}:
        one = [dp.m.make_laplace(*SPACE, scale=part["scale"]) for part in parts for _ in range(part["times"])]
        return (dp.c.make_composition(one) if len(one) > 1 else one[0]).map(1.0)
    if kinds <= {"discrete laplace"}:
        one = [dp.m.make_laplace(*WHOLE, scale=part["scale"]) for part in parts for _ in range(part["times"])]
        return (dp.c.make_composition(one) if len(one) > 1 else one[0]).map(1)
    raise NotImplementedError
""",
    ),
}


def true_epsilon(delta: Callable[[float], Any], chance: float) -> float:
    """Where a falling function reaches `chance`, by halving to the last digits."""
    low, high = 0.0, 2.0**-10
    while delta(high) > chance:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > chance else (low, middle)
        if high - low <= 1e-12 * high:
            break
    return high


def made(words: list[str]) -> dict[str, Any]:
    """The file as it is when only some tools are asked again, else a new one with every truth."""
    if words and FILE.exists():
        found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
        return found
    rows = [{**case, "truth": true_epsilon(delta_of(case["parts"]), case["delta"])} for case in CASES]
    return {"made by": "tests/golden/make_accounting.py", "tools": {}, "left out": {}, "cases": rows}


def main(words: list[str]) -> None:
    """Ask every tool (or those named), write the file."""
    found = made(words)
    for tool, (packages, code) in TOOLS.items():
        if words and tool not in words:
            continue
        name = next(word for word in packages if not word.startswith("-"))
        python = peer(name, *packages)
        question = START.format(cases=json.dumps(CASES), longest=LONGEST)
        values = answer(python, question + code + "\nanswer = each(epsilon)\n")
        found["left out"].pop(tool, None)
        if values is None:
            found["left out"][tool] = "could not be installed" if python is None else "failed to start"
            continue
        found["tools"][tool] = {"package": name, "version": version(python, name), "epsilon": values}
        dev.say(f"{tool}: {len(values)} answers")
    found["ours"] = {case["id"]: epsilon(cost_of(case["parts"]), delta=case["delta"]).upper for case in CASES}
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(rendered(found), encoding="utf-8")
    dev.say(f"wrote {FILE.name} and docs/{PAGE.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
