"""Gates: what a compositor charges before it runs anything.

A gate only ever adds. The in-memory ones live here: `Filter` refuses what does not fit, `Odometer` only counts, `Planned`
accepts the costs declared beforehand and nothing else. The durable one is the ledger in `release`.
All are safe to share among threads; after a fork they retire in the child, because two copies of one budget are two budgets.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any, NoReturn, Protocol

from deniable.accounting import NOTHING, Adaptivity, Rule, Spend
from deniable.cost import Cost, composed
from deniable.errors import BudgetExceeded, Retired


class Gate(Protocol):
    """Charge, or raise and charge nothing. Never a refund."""

    def charge(self, cost: Cost) -> None:
        """Record `cost` as spent; only then may the caller run."""
        ...


class _Guarded:
    """One lock, one process, no copies."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._charged: list[Cost] = []

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise Retired(
                "this budget was forked into another process; use a ledger to share one budget among processes"
            )

    @property
    def charged(self) -> Cost:
        """Everything charged so far, in order, as one cost."""
        with self._lock:
            return composed(self._charged)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: two copies of a budget are two budgets")


class Filter(_Guarded):
    """Charges up to the limit of `rule` and refuses beyond it; losses may be chosen as we go.

    Guarantee: everything answered behind this gate together satisfies `rule.limit` (theorem named in `rule.theorem`).
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__()
        self.rule = rule
        self._spent = NOTHING

    def charge(self, cost: Cost) -> None:
        """Spend `cost` if it fits; otherwise raise `BudgetExceeded` and spend nothing."""
        asked = self.rule.read(cost)
        with self._lock:
            self._check_process()
            after = self._spent + asked
            if not self.rule.fits(after):
                left = self.rule.limit - self._spent
                raise BudgetExceeded(
                    f"asked for {asked}, but only {left} is left of {self.rule.limit}; ask for less or stop here",
                    asked=asked,
                    spent=self._spent,
                    left=left,
                )
            self._spent = after
            self._charged.append(cost)

    @property
    def spent(self) -> Spend:
        """What has been spent, in the rule's own measure."""
        with self._lock:
            return self._spent

    @property
    def remaining(self) -> Spend:
        """What is left, in the rule's own measure."""
        with self._lock:
            return self.rule.limit - self._spent

    @property
    def adaptivity(self) -> Adaptivity:
        """What may be chosen from earlier answers."""
        return self.rule.adaptivity


class Odometer(_Guarded):
    """Counts what is spent and never refuses.

    Guarantee: stopping at a reading fixed beforehand is private to that reading. A statement at a moment chosen from the
    answers needs more; this object does not make it.
    """

    def __init__(self, rule: Rule) -> None:
        super().__init__()
        self.rule = rule
        self._spent = NOTHING

    def charge(self, cost: Cost) -> None:
        """Add `cost` to the count."""
        asked = self.rule.read(cost)
        with self._lock:
            self._check_process()
            self._spent = self._spent + asked
            self._charged.append(cost)

    @property
    def spent(self) -> Spend:
        """The count, in the rule's own measure."""
        with self._lock:
            return self._spent

    @property
    def adaptivity(self) -> Adaptivity:
        """What may be chosen from earlier answers."""
        return self.rule.adaptivity


class Planned(_Guarded):
    """A list of costs declared before the first query, to be used in that order.

    Guarantee: the answers together cost the declared list, whatever the queries; because the losses were fixed beforehand
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
        """Accept the next declared cost, or refuse and stay where we are."""
        with self._lock:
            self._check_process()
            done = len(self._charged)
            if done == len(self.declared):
                raise Retired(f"all {done} declared answers have been given; declare a longer plan to ask more")
            if cost != self.declared[done]:
                raise BudgetExceeded(
                    f"answer {done + 1} was declared to cost {self.declared[done]!r}, this one costs {cost!r}",
                    asked=cost,
                    left=self.declared[done:],
                )
            self._charged.append(cost)

    @property
    def total(self) -> Cost:
        """The whole declared plan as one cost: what this gate guarantees from the start."""
        return composed(self.declared)


class Both:
    """Charges `outer` first, then `inner`; if `inner` refuses, `outer` stays charged: never a refund."""

    def __init__(self, outer: Gate, inner: Gate) -> None:
        self.outer, self.inner = outer, inner

    def charge(self, cost: Cost) -> None:
        """Charge both gates."""
        self.outer.charge(cost)
        self.inner.charge(cost)
