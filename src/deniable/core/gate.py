"""Gates: what a compositor charges before it runs anything.

A gate only ever adds. The in-memory ones live here: `PrivacyFilter` refuses what does not fit, `Odometer` only counts, `Planned`
accepts what costs no more than was declared beforehand, in that order. The durable one is the ledger in `release`.
All are safe to share among threads; after a fork they retire in the child, because two copies of one budget are two budgets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from deniable import accounting
from deniable.accounting import NOTHING, Adaptivity, Spend
from deniable.core.guard import Guarded
from deniable.cost import Cost, composed
from deniable.errors import BudgetExceeded, Retired


class Gate(Protocol):
    """Charge, or raise and charge nothing. Never a refund."""

    def charge(self, cost: Cost) -> None:
        """Record `cost` as spent; only then may the caller run."""
        ...


class _Gate(Guarded):
    """What was charged, in order."""

    what = "this budget"
    instead = "use a ledger to share one budget among processes"

    def __init__(self) -> None:
        super().__init__()
        self._charged: list[Cost] = []

    @property
    def charged(self) -> Cost:
        """Everything charged so far, in order, as one cost.

        A number read from it, as by `deniable.epsilon`, holds for losses fixed beforehand only. Where they were chosen along the
        way the statement is the gate's own: the limit of a filter, whatever this list says.
        """
        with self._turn():
            return composed(self._charged)


class PrivacyFilter(_Gate):
    """Charges up to the limit of a rule, or of several side by side, and refuses beyond it; losses may be chosen as we go.

    With several rules a cost is taken while one that has allowed everything so far allows it. One lock is over all of them, and
    all are asked before anything runs. `spent` and `remaining` speak of the rule that leaves most, and name its measure.

    Guarantee: everything answered behind this gate together satisfies the limit of its one rule, or the budget whose shares its
    rules are (theorem named in `theorem`). A rule that is sound only for losses fixed beforehand is refused.
    """

    def __init__(self, rules: accounting.Rule | accounting.Filters) -> None:
        super().__init__()
        self.filters = rules if isinstance(rules, accounting.Filters) else accounting.Filters.single(rules)
        self._tally = self.filters.nothing

    def charge(self, cost: Cost) -> None:
        """Spend `cost` if it fits; otherwise raise `BudgetExceeded` and spend nothing."""
        filters = self.filters
        asked = filters.read(cost)
        with self._turn():
            after = self._tally + asked
            if not filters.fits(after):
                raise exceeded(filters, cost, asked=asked, before=self._tally)
            self._tally = after
            self._charged.append(cost)

    @property
    def rule(self) -> accounting.Rule:
        """The rule that leaves most."""
        with self._turn():
            return self.filters.leader(self._tally)

    @property
    def spent(self) -> Spend:
        """What has been spent, in the measure of the rule that leaves most."""
        with self._turn():
            return self.filters.spent(self._tally)

    @property
    def remaining(self) -> Spend:
        """What is left, in the measure of the rule that leaves most."""
        with self._turn():
            return self.filters.left(self._tally)

    @property
    def theorem(self) -> str:
        """The theorem this gate rests on, and why it was picked."""
        return self.filters.theorem

    @property
    def adaptivity(self) -> Adaptivity:
        """What may be chosen from earlier answers."""
        return self.filters.adaptivity


def exceeded(
    filters: accounting.Filters, cost: Cost, *, asked: accounting.Tally, before: accounting.Tally
) -> BudgetExceeded:
    """The refusal of a cost that no rule allows; of several rules side by side in the epsilon that would still be allowed."""
    leader = filters.leader(before)
    price, left = filters.stated(asked), filters.room(before)
    wanted = "what adding up cannot read" if price is None else price.shown()
    return BudgetExceeded(
        f"asked for {wanted}, but only {left.shown(downwards=True)} is left of {filters.whole}; ask for less or stop here"
        + accounting.lost_by(leader, cost),
        asked=price,
        spent=filters.spent(before),
        left=left,
    )


class Odometer(_Gate):
    """Counts what is spent and never refuses.

    Guarantee: stopping at a reading fixed beforehand is private to that reading. A statement at a moment chosen from the
    answers needs more; this object does not make it.
    """

    def __init__(self, rule: accounting.Rule) -> None:
        super().__init__()
        self.rule = rule
        self._spent = NOTHING

    def charge(self, cost: Cost) -> None:
        """Add `cost` to the count."""
        asked = self.rule.read(cost)
        with self._turn():
            self._spent = self._spent + asked
            self._charged.append(cost)

    @property
    def spent(self) -> Spend:
        """The count, in the rule's own measure."""
        with self._turn():
            return self._spent

    @property
    def adaptivity(self) -> Adaptivity:
        """What may be chosen from earlier answers."""
        return self.rule.adaptivity


class Planned(_Gate):
    """A list of costs declared before the first query, to be used in that order; what is proved no larger may take its place.

    Guarantee: the answers together cost at most the declared list, whatever the queries; because the losses were fixed beforehand
    the list may be read by every measure, the privacy loss distribution included.
    """

    adaptivity = Adaptivity.QUERIES
    theorem = (
        "losses fixed beforehand may be read by every measure, loss distributions included (Zhu, Dong and Wang 2022)"
    )

    def __init__(self, costs: Iterable[Cost]) -> None:
        super().__init__()
        self.declared = tuple(costs)

    def charge(self, cost: Cost) -> None:
        """Accept what is proved no larger than the next declared cost, or refuse and stay where we are.

        What is noted is the declared cost: a smaller one was chosen along the way, and may not be read as if it had been planned.
        """
        with self._turn():
            done = len(self._charged)
            if done == len(self.declared):
                raise Retired(f"what was declared has been answered, {done} in all; declare a longer plan to ask more")
            if not accounting.no_larger(cost, self.declared[done]):
                raise BudgetExceeded(
                    f"answer {done + 1} was declared to cost {self.declared[done]!r}; this one costs {cost!r}, which no measure "
                    "proves no larger",
                    asked=cost,
                    left=self.declared[done:],
                )
            self._charged.append(self.declared[done])

    @property
    def total(self) -> Cost:
        """The whole declared plan as one cost: what this gate guarantees from the start."""
        return composed(self.declared)


class Both(Guarded):
    """Charges `outer` first, then `inner`; if `inner` refuses, `outer` stays charged: never a refund."""

    what = "this budget"

    def __init__(self, outer: Gate, inner: Gate) -> None:
        super().__init__()
        self.outer, self.inner = outer, inner

    def charge(self, cost: Cost) -> None:
        """Charge both gates."""
        self.outer.charge(cost)
        self.inner.charge(cost)
