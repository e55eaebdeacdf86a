"""How many queries fit into one budget: several filters side by side, each rule alone, and what version 0.1 chose.

Counts, not times: they are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import deniable as dp
from benchmarks.report import Report
from deniable.accounting import Filters, Rule, RuleKind, Spend
from deniable.cost import Bounded, Calibrated, Cost, DiscreteLaplace, Gaussian, composed
from deniable.errors import Unaccountable
from deniable.exact import gaussian_mu

BUDGET = dp.budget(epsilon=1, delta=1e-6)
WITH_WORKLOAD, WITHOUT = Fraction(97, 100), Fraction(88, 100)


def table_count(epsilon: Fraction, delta: Fraction) -> Cost:
    """A count in a table with Gaussian noise calibrated to a pair."""
    mu = gaussian_mu(epsilon, delta).lower
    return Calibrated(Gaussian(scale=1, squared_sensitivity=mu**2), epsilon=epsilon, delta=delta)


SMALL, TINY = Fraction(1, 10**9), Fraction(1, 10**8)
ROUNDS: Mapping[str, tuple[Cost, ...]] = {
    "three pure counts, epsilon 0.3": (DiscreteLaplace(scale=Fraction(10, 3)),),
    "pure counts, epsilon 0.05": (DiscreteLaplace(scale=20),),
    "pure counts, epsilon 0.005": (DiscreteLaplace(scale=200),),
    "Gaussian counts, scale 20": (Gaussian(scale=20, sensitivity=1),),
    "Gaussian counts, scale 100": (Gaussian(scale=100, sensitivity=1),),
    "thresholded groups, epsilon 0.2": (DiscreteLaplace(scale=5), Bounded(epsilon=0, delta=TINY)),
    "thresholded groups, epsilon 0.02": (DiscreteLaplace(scale=50), Bounded(epsilon=0, delta=SMALL)),
    "thresholded groups, scale 50": (Gaussian(scale=50, sensitivity=1), Bounded(epsilon=0, delta=SMALL)),
    "steps of DP-SGD, scale 1, rate 1/1000": (Gaussian(scale=1, sensitivity=1).sampled(rate=Fraction(1, 1000)),),
    "steps of DP-SGD, scale 4, rate 1/100": (Gaussian(scale=4, sensitivity=1).sampled(rate=Fraction(1, 100)),),
    "a pure count of 0.2 and a table count of (0.2, 1e-8)": (
        DiscreteLaplace(scale=5),
        table_count(Fraction(1, 5), TINY),
    ),
    "a pure count of 0.01 and a Gaussian one of scale 100": (
        DiscreteLaplace(scale=100),
        Gaussian(scale=100, sensitivity=1),
    ),
    "pure, Gaussian and thresholded, small": (
        DiscreteLaplace(scale=200),
        Gaussian(scale=150, sensitivity=1),
        Bounded(epsilon=Fraction(1, 200), delta=SMALL),
    ),
}


def fitting(rule: Rule | Filters, cost: Cost) -> int:
    """How many times in a row a cost is allowed."""
    filters = rule if isinstance(rule, Filters) else Filters.single(rule)
    try:
        return filters.more(filters.read(cost), filters.nothing) or 0
    except Unaccountable:
        return 0


def alone(workload: Cost | None) -> dict[str, list[Rule]]:
    """Each rule alone with all of delta, its order and its reserve for leaks as the workload likes them best, if it is known."""
    rules: dict[str, list[Rule]] = {kind.value: [] for kind in RuleKind if kind is not RuleKind.PURE}
    shares = [Fraction(k, 16) for k in range(16)]
    rules["basic"].append(Rule(RuleKind.BASIC, Spend(Fraction(1), BUDGET.delta)))
    rules["concentrated"] += [BUDGET._concentrated(BUDGET.delta * share, "") for share in shares]
    rules["gaussian"] += [BUDGET._gaussian(BUDGET.delta * share) for share in shares]
    usual = [BUDGET._shared(RuleKind.RENYI, BUDGET._left(BUDGET.delta * s), BUDGET.delta * s, None) for s in shares]
    rules["renyi"] += usual
    if workload is not None:
        rules["renyi"] += [rule for rule in BUDGET._candidates(workload) if rule.kind is RuleKind.RENYI]
    return rules


def counted(parts: tuple[Cost, ...]) -> dict[str, int]:
    """Rounds that fit, by what keeps the budget."""
    cost = composed(parts)
    found = {name: max(fitting(rule, cost) for rule in rules) for name, rules in alone(cost).items()}
    found["best rule alone"] = max(found.values())
    found["the same, order not suited"] = max(fitting(r, cost) for rules in alone(None).values() for r in rules)
    found["side by side"] = fitting(BUDGET.filters(), cost)
    found["with the workload"] = fitting(BUDGET.filters([cost]), cost)
    found["0.1, compositor"] = fitting(BUDGET.rule(), cost)
    pair = Rule(RuleKind.BASIC, Spend(Fraction(1), BUDGET.delta))
    found["0.1, session"] = fitting(pair, cost)
    return found


def main() -> None:
    """Write docs/benchmarks/filters.md."""
    page = Report("filters", title="How many queries fit into (1, 10⁻⁶)", versions={"deniable": dp.__version__})
    page.note(
        "Rounds of queries that are answered before the budget (epsilon 1, delta 10⁻⁶) refuses. *Alone*: the best of adding up, "
        "zCDP, Rényi and Gaussian privacy with all of delta, its reserve for leaks (and, in the first column, its Rényi order) "
        "chosen for this very workload. *Side by side* is what a session or a compositor does when nobody says what will come; "
        "*with the workload* when it was declared. Targets: of the best rule alone at least 97 % with the workload, and 88 % side by "
        "side, which the steps of scale 1 and the last row miss."
    )
    names = [
        "best rule alone", "the same, order not suited", "with the workload", "side by side", "0.1, compositor", "0.1, session",
    ]  # fmt: skip
    rows = [[name, *(f"{counted(parts)[each]:,}" for each in names)] for name, parts in ROUNDS.items()]
    page.table(["rounds of", *names], rows)
    page.note(
        "A zero means that the first query is refused: version 0.1's compositor counted rho, its session added up pairs and "
        "could not read noise without one. Steps of DP-SGD with little noise need a Rényi order of their own, and only a "
        "declared workload gives them one: without it, and under version 0.1, not one step fits. In the last row leaks run out. "
        "No division of delta among these filters keeps 88 % of the first column in every row: the steps of scale 1 alone need more "
        "than 0.8 of delta at any order, Gaussian counts of scale 20 more than 0.29 under the Gaussian filter. The last row could be "
        "kept with 0.428 of delta for leaks, which leaves less than a quarter of today's share to table answers with Gaussian noise "
        "([why](../theory/best-of-filters.md))."
    )
    page.write()


if __name__ == "__main__":
    main()
