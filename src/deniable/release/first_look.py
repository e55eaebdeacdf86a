"""A first look at a table: rows, missing values, quartiles, histograms and keys, priced together and charged once.

What is asked follows from the codebook alone: every bounded number gets its quartiles and a histogram over its
declared bins (or ten even ones), every listed text and truth value its counts. It is the default release of a data
set nobody has asked about yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable.errors import InvalidArgument
from deniable.exact.figures import NOTHING, error_figures, short_figures
from deniable.exact.guards import Real, positive, shown
from deniable.plan.facts import Kind
from deniable.plan.html_card import html_card, html_lines, html_pairs
from deniable.plan.tables import Table
from deniable.plan.variable import Variable
from deniable.query import Query
from deniable.query.aggregates import Aggregate, BinnedCounts, Count, Quantile
from deniable.release.answer import Release
from deniable.release.text import cell
from deniable.release.workload import Workload, WorkloadRelease

if TYPE_CHECKING:
    from deniable.release.session_overview import OverviewVerbs

_BINS = 10
"""Even bins of a number that declares none."""

_KEYS = 8
"""Keys that are named in the short form."""
_BARS = "▁▂▃▄▅▆▇█"

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
                kept = {key: each for key, each in values.items() if key != "bins"}
                rows.append({"about": name, **kept, **_quartiles(values)})
            else:
                counts = {
                    str(group[0]): count for group, count in zip(answer.groups, answer.columns["n"].values, strict=True)
                }
                rows.append({"about": name, "counts": counts})
        return rows

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Each variable with what was found, in words."""
        return [(name, _in_words(answer)) for name, answer in self.released.answers.items()]

    @property
    def _end(self) -> list[str]:
        return [f"{self.released.receipt}", "every answer by its name: .released, as rows: .table"]

    def __str__(self) -> str:
        wide = max(len(name) for name, _ in self.lines)
        return "\n".join([*(f"{name.ljust(wide)}  {said}" for name, said in self.lines), "", *self._end])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_card(html_pairs(self.lines), html_lines(self._end))


def _in_words(answer: Release) -> str:
    """One answer in a line: counts by key, or how many are there, the quartiles and the shape of the histogram."""
    if answer.keys:
        named = [f"{group[0]} {cell(answer.columns['n'], at)}" for at, group in enumerate(answer.groups)]
        return ", ".join(named[:_KEYS]) + (f" and {len(named) - _KEYS} more" if len(named) > _KEYS else "")
    columns = answer.columns
    if "rows" in columns:
        return cell(columns["rows"], 0)
    said = [f"{cell(columns['present'], 0)} present"]
    if "median" in columns:
        said += [_quartiles_said(answer), f"histogram {_bars(columns['bins'].values[0])}"]
    return "; ".join(said)


def _quartiles_said(answer: Release) -> str:
    """The quartiles and how many ranks they may be off; one that may be off by a quarter of the rows says nothing."""
    columns = answer.columns
    quarter = max(columns["present"].values[0], 0) / 4
    drawn = _quartiles({name: columns[name].values[0] for name in columns})
    offs = {name: off[0] for name in drawn if (off := columns[name].off) is not None and off[0] is not None}
    heard = {name: off for name, off in offs.items() if off < quarter}
    if not heard:
        return "quartiles say nothing at this price"
    shown = ", ".join(short_figures(value) if name in heard else NOTHING for name, value in drawn.items())
    return f"quartiles {shown} (± {error_figures(max(heard.values()))} ranks)"


def _quartiles(values: Mapping[str, Any]) -> dict[str, Any]:
    """The quartiles that were drawn, put in order: each was chosen for itself."""
    names = [name for name, _ in _QUARTILES if name in values]
    drawn = [values[name] for name in names]
    return dict(zip(names, drawn if None in drawn else sorted(drawn), strict=True))


def _bars(counts: Sequence[float]) -> str:
    """Noisy counts as little columns; what is below zero is drawn as nothing."""
    top = max([*counts, 1])
    return "".join(_BARS[max(0, min(len(_BARS) - 1, round((len(_BARS) - 1) * count / top)))] for count in counts)


def first_look(
    session: OverviewVerbs, *, paid: Mapping[str, Real | None], table: str | None, request: str | None
) -> FirstLook:
    """Spend an amount, or a share of what is left, on the default questions about a table."""
    given = {name: value for name, value in paid.items() if value is not None}
    if len(given) != 1:
        raise InvalidArgument("say what a first look may cost: epsilon=0.1, rho=0.01, or share=0.05 of what is left")
    whole = {name: positive(**{name: value}) for name, value in given.items()}
    if "share" in whole:
        whole = {session.filters.unit: _share_of_rest(session, whole["share"])}
    questions = _questions(session, _table(session, table))
    return FirstLook(_planned(session, questions, whole).release(request=request))


def _planned(session: OverviewVerbs, questions: dict[str, Query[Any]], whole: dict[str, Fraction]) -> Workload:
    return session.workload(questions, epsilon=whole.get("epsilon"), rho=whole.get("rho"))


def _share_of_rest(session: OverviewVerbs, part: Fraction) -> Fraction:
    if not part <= 1:
        raise InvalidArgument(f"share is a part of what is left, above 0 and at most 1, got {shown(part)}")
    left = session.remaining.spend.loss
    if not left > 0:
        raise InvalidArgument("nothing is left of the budget; a first look needs some")
    return _shortened(left * part)


def _shortened(amount: Fraction) -> Fraction:
    """Six digits, rounded down, so that shares add up to no more than there is."""
    scale = Fraction(10**9)
    return Fraction(int(amount * scale)) / scale or amount


def _table(session: OverviewVerbs, name: str | None) -> Table:
    private = [table for table in session.codebook.tables if not table.public]
    if name is None and len(private) == 1:
        return private[0]
    if name is None:
        raise InvalidArgument(f"say table=, which of {', '.join(table.name for table in private)} to look at")
    return session.codebook[name]


def _questions(session: OverviewVerbs, table: Table) -> dict[str, Query[Any]]:
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
    if known.kind is Kind.NUMBER and known.bounded and known.ends[0] < known.ends[1]:
        quartiles = {name: Quantile(variable.name, q, interval=False) for name, q in _QUARTILES}
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
    values = known.ends[1] - known.ends[0] + 1
    if known.step == 1 and 1 < values <= _BINS:  # a bin for each value
        return BinnedCounts(variable.name, tuple(low + place for place in range(int(values) + 1)))
    width = (high - low) / _BINS
    return BinnedCounts(variable.name, tuple(low + width * step for step in range(_BINS + 1)))
