"""Choosing privately what to look at: each of many random slices of the people votes for a statistic, and the winner
is drawn privately.

An analyst who looks at raw data before choosing what to publish leaks by the choice. Here the look is a fixed rule,
taken on each slice by itself: which candidate separates the values of a column most. One unit is in one slice and so
moves one vote. Theory: docs/theory/slices.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable.core.domain import Categories
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, positive
from deniable.mechanisms import exponential
from deniable.plan.facts import Kind
from deniable.plan.nodes import scan
from deniable.plan.relation import schema
from deniable.release.value import ValueRelease
from deniable.transformations import category_counts, in_random_parts

if TYPE_CHECKING:
    from deniable.release.session_mechanisms import MechanismSession

_AUTHOR = "deniable: which candidate separates most"


@dataclass(frozen=True, slots=True)
class SliceChoice:
    """The candidate that was chosen, and the release that paid for it."""

    chosen: str
    candidates: tuple[str, ...]
    slices: int
    release: ValueRelease

    def __str__(self) -> str:
        return (
            f"{self.chosen}, chosen among {', '.join(self.candidates)} by {self.slices} slices; {self.release.receipt}"
        )

    __repr__ = __str__


def choose_by_slices(
    session: MechanismSession,
    candidates: Sequence[str],
    *,
    choose: str,
    epsilon: Real,
    slices: int,
    table: str | None,
    request: str | None,
) -> SliceChoice:
    """Charge, have every slice vote, and draw the winner by the exponential mechanism over the votes."""
    names, count = tuple(candidates), integer(slices=slices, least=1)
    if len(set(names)) < 2 or len(set(names)) != len(names):
        raise InvalidArgument(f"give at least two different candidates, got {list(candidates)!r}")
    column, word, rest = choose.partition(" by")
    if not word or rest.strip() or not column.strip():
        raise InvalidArgument(f"choose is written '<column> by', the column whose differences count; got {choose!r}")
    value = column.strip()
    known = schema(scan(session.codebook, table)).get(value)
    if known is not None and known.kind not in (Kind.NUMBER, Kind.BOOLEAN):
        raise InvalidArgument(f"slices compare means, which needs a number; {value} is a {known.kind.value}")
    frame = session.rows(table, columns=[value, *names])
    votes = in_random_parts(
        separates_most(value, names), parts=count, to=Categories(tuple(range(len(names)))), default=0, author=_AUTHOR
    )
    mechanism = frame >> votes >> category_counts() >> exponential(scale=2 / positive(epsilon=epsilon))
    released: Any = session.release(mechanism, epsilon=epsilon, request=request)
    return SliceChoice(names[int(released.value)], names, count, released)


def separates_most(value: str, candidates: Sequence[str]) -> Callable[[Any], int]:
    """The candidate under whose groups the means of `value` differ most, by the share of squares between groups; ties
    to the first.
    """

    def vote(part: dict[str, list[Any]]) -> int:
        scores = [_between(part[value], part[name]) for name in candidates]
        return scores.index(max(scores))

    return vote


def _between(values: Sequence[Any], keys: Sequence[Any]) -> Fraction:
    groups: dict[Any, list[Fraction]] = {}
    for each, key in zip(values, keys, strict=True):
        if each is not None and each == each:
            groups.setdefault(key, []).append(Fraction(each))
    everyone = [each for group in groups.values() for each in group]
    if not everyone:
        return Fraction(0)
    centre = sum(everyone, Fraction(0)) / len(everyone)
    return sum(
        (len(group) * (sum(group, Fraction(0)) / len(group) - centre) ** 2 for group in groups.values()), Fraction(0)
    )
