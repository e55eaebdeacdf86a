"""How an answer is to be shown: its order, its first rows, those within ends. Looks at released values alone, so it costs nothing.

A query keeps the views asked of it and its session applies them to the answer; an answer takes the same calls. What is measured,
charged and stored is the same with and without them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, rational


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerView:
    """One step of showing: rows whose `of` lies within the ends, in this order, so many of them at most."""

    order: tuple[str, ...] = ()
    descending: bool = False
    limit: int | None = None
    of: str | None = None
    at_least: Fraction | None = None
    at_most: Fraction | None = None


def ordered(names: Sequence[str], *, descending: bool, known: Sequence[str]) -> AnswerView:
    """Rows by these columns or keys."""
    if not names:
        raise InvalidArgument(f"order_by needs a column or key, one of {', '.join(known)}")
    for name in names:
        _check(name, known)
    return AnswerView(order=tuple(names), descending=descending)


def largest(count: int, *, by: str | None, columns: Sequence[str]) -> AnswerView:
    """The rows with the largest values in a column."""
    if by is None and len(columns) != 1:
        raise InvalidArgument(f"say by=, the column whose largest values to show: one of {', '.join(columns)}")
    name = columns[0] if by is None else by
    _check(name, columns)
    return AnswerView(order=(name,), descending=True, limit=integer(count=count, least=1))


def within(name: str, *, at_least: Real | None, at_most: Real | None, columns: Sequence[str]) -> AnswerView:
    """The rows whose value in a column lies within these ends."""
    _check(name, columns)
    ends = [None if end is None else rational(end=end) for end in (at_least, at_most)]
    if ends == [None, None]:
        raise InvalidArgument(f"having needs at_least= or at_most=, or both: having({name!r}, at_least=100)")
    return AnswerView(of=name, at_least=ends[0], at_most=ends[1])


def _check(name: str, known: Sequence[str]) -> None:
    if name in known:
        return
    advice = ""
    if name.startswith("-") and name[1:] in known:
        advice = f"; write order_by({name[1:]!r}, descending=True)"
    elif any(sign in name for sign in "<>="):
        advice = f"; write having({known[0]!r}, at_least=100), or at_most="
    raise InvalidArgument(f"no column {name!r} in this answer; it has {', '.join(known)}{advice}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewable(ABC):
    """A question with the views its answer is shown by."""

    views: tuple[AnswerView, ...] = ()

    @property
    @abstractmethod
    def _parts(self) -> tuple[list[str], list[str]]:
        """The keys of the answer, and its columns."""

    def order_by(self, *names: str, descending: bool = False) -> Self:
        """The answer's rows by these columns or keys; by noisy values, so nothing more is spent."""
        keys, columns = self._parts
        return self._shown(ordered(names, descending=descending, known=[*keys, *columns]))

    def top(self, count: int, by: str | None = None) -> Self:
        """The `count` rows with the largest noisy values in a column, the largest first; who is among them is noisy too."""
        return self._shown(largest(count, by=by, columns=self._parts[1]))

    def having(self, name: str, *, at_least: Real | None = None, at_most: Real | None = None) -> Self:
        """Only the rows whose noisy value in a column lies within these ends; rows without a value are left out."""
        return self._shown(within(name, at_least=at_least, at_most=at_most, columns=self._parts[1]))

    def _shown(self, view: AnswerView) -> Self:
        if not self._parts[1]:
            raise InvalidArgument("order_by, top and having come after agg, which names the numbers")
        return replace(self, views=(*self.views, view))
