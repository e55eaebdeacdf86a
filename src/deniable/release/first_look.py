"""A first look at a table: rows, missing values, quartiles, histograms and keys, priced together and charged once.

What is asked follows from the codebook alone: every bounded number gets its quartiles and a histogram over its
declared bins (or ten even ones), every listed text and truth value its counts. It is the default release of a data
set nobody has asked about yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, positive, shown
from deniable.plan.codebook import Table
from deniable.plan.facts import Kind
from deniable.plan.variable import Variable
from deniable.query import Query
from deniable.query.aggregates import Aggregate, BinnedCounts, Count, Quantile
from deniable.release.workload import Workload, WorkloadRelease

if TYPE_CHECKING:
    from deniable.release.session import Session

_BINS = 10
"""Even bins of a number that declares none."""

_QUARTILES = (("q1", Fraction(1, 4)), ("median", Fraction(1, 2)), ("q3", Fraction(3, 4)))


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What a first look found: the releases, and a short table of them."""

    released: WorkloadRelease

    @property
    def table(self) -> list[dict[str, Any]]:
        """One dictionary for each variable: rows, missing, quartiles, or the most frequent key."""
        rows = []
        for name, answer in self.released.answers.items():
            values = {column: answer.columns[column].values[0] for column in answer.columns} if not answer.keys else {}
            if "rows" in values:
                rows.append({"about": name, "rows": values["rows"]})
            elif values:
                rows.append({"about": name, **{key: each for key, each in values.items() if key != "bins"}})
            else:
                counts = {
                    str(group[0]): count for group, count in zip(answer.groups, answer.columns["n"].values, strict=True)
                }
                rows.append({"about": name, "counts": counts})
        return rows

    def __str__(self) -> str:
        return str(self.released)

    __repr__ = __str__


def first_look(session: Session, *, share: Real, table: str | None, request: str | None) -> FirstLook:
    """Spend a share of what is left on the default questions about a table."""
    part = positive(share=share)
    if not part <= 1:
        raise InvalidArgument(f"share is a part of what is left, above 0 and at most 1, got {share!r}")
    left = session.remaining.spend.loss
    if not left > 0:
        raise InvalidArgument("nothing is left of the budget; a first look needs some")
    questions = _questions(session, _table(session, table))
    whole = {session.filters.unit: _shortened(left * part)}
    return FirstLook(_planned(session, questions, whole).release(request=request))


def _planned(session: Session, questions: dict[str, Query[Any]], whole: dict[str, Fraction]) -> Workload:
    return session.workload(questions, epsilon=whole.get("epsilon"), rho=whole.get("rho"))


def _shortened(amount: Fraction) -> Fraction:
    """Six digits, rounded down, so that shares add up to no more than there is."""
    scale = Fraction(10**9)
    return Fraction(int(amount * scale)) / scale or amount


def _table(session: Session, name: str | None) -> Table:
    private = [table for table in session.codebook.tables if not table.public]
    if name is None and len(private) == 1:
        return private[0]
    if name is None:
        raise InvalidArgument(f"say table=, which of {', '.join(table.name for table in private)} to look at")
    return session.codebook[name]


def _questions(session: Session, table: Table) -> dict[str, Query[Any]]:
    start = session.query(table.name)
    unit = session.unit
    if unit.groups is None or unit.rows is None:
        start = start.bound(groups=unit.groups or 1, rows=unit.rows or 1)
    found = {"rows": start.agg(rows=Count())}
    for variable in table.variables:
        if variable.name in (unit.id, table.unit) or any(link.column == variable.name for link in table.links):
            continue
        asked = _about(start, variable)
        if asked is not None:
            found[variable.name] = asked
    return found


def _about(start: Query[Any], variable: Variable) -> Query[Any] | None:
    """The default question about one variable; none where nothing public is known to ask by."""
    known = variable.facts()
    present: dict[str, Aggregate] = {"present": Count(variable.name)}
    if known.kind is Kind.NUMBER and known.bounded:
        quartiles = {name: Quantile(variable.name, q) for name, q in _QUARTILES}
        return start.agg(**present, **quartiles, bins=_histogram(variable))
    if known.kind is Kind.STRING and known.categories is not None:
        return start.group_by(variable.name).agg(n=Count())
    if known.kind is Kind.BOOLEAN:
        return start.group_by(variable.name).agg(n=Count())
    return start.agg(**present)


def _histogram(variable: Variable) -> BinnedCounts:
    if variable.bins is not None:
        return BinnedCounts(variable.name)
    known = variable.facts()
    low, high = (end * known.step for end in known.ends)
    if not low < high:
        raise InvalidArgument(f"{variable.name} has one value only, {shown(low)}: there is nothing to look at")
    width = (high - low) / _BINS
    return BinnedCounts(variable.name, tuple(low + width * step for step in range(_BINS + 1)))
