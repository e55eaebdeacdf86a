"""What engines spell differently. Everything else is generated once.

A profile never changes what a plan means: each method has one meaning, stated here, and the conformance kit checks it on
every engine and version before a plan runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sqlglot import exp

from deniable.errors import QueryRefused
from deniable.plan.sql_trees import Tree, bigint, call, cast, limited, text
from deniable.plan.unit import Length


class Profile(ABC):
    """One engine's spelling of the few operations SQL dialects do not share."""

    dialect: str
    """SQLGlot's name of the dialect the text is written in."""

    wide: str
    """A type of whole numbers of at least 126 bits, for sums."""

    lacking: Mapping[str, str] = MappingProxyType({})
    """The features the engine computes differently, and the words for it; found at connect, see `engines.conformance`."""

    def allow(self, feature: str | None) -> None:
        """Called before a feature is written: one the engine lacks is refused."""
        if feature is not None and feature in self.lacking:
            raise QueryRefused(
                "engine-differs", self.lacking[feature], rewrite=f"leave out {feature}, or use a version we support"
            )

    def wide_sum(self, value: Tree) -> Tree:
        """An exact sum of 64-bit integers that cannot overflow."""
        return exp.Sum(this=cast(value, self.wide))

    @abstractmethod
    def quotient(self, numerator: Tree, denominator: Tree) -> Tree:
        """The whole part of a quotient of non-negative 64-bit integers; missing when either is."""

    def wide_quotient(self, numerator: Tree, denominator: Tree) -> Tree:
        """The whole part of a quotient of a wide number and a 64-bit one, neither negative, as a 64-bit integer it fits."""
        return bigint(self.quotient(numerator, denominator))

    @abstractmethod
    def xor(self, left: Tree, right: Tree) -> Tree:
        """Bitwise exclusive or of non-negative 64-bit integers."""

    @abstractmethod
    def matches(self, value: Tree, pattern: str) -> Tree:
        """Whether a text matches a regular expression that is anchored at both ends."""

    @abstractmethod
    def days(self, value: Tree) -> Tree:
        """Days from 1970-01-01 to a date, as a 64-bit integer."""

    @abstractmethod
    def microseconds(self, value: Tree) -> Tree:
        """Microseconds from 1970-01-01 00:00 to a timestamp, as a 64-bit integer."""

    @abstractmethod
    def text_number(self, value: Tree) -> Tree:
        """The first 15 hexadecimal digits of a text's MD5 as a 64-bit integer."""

    def truncated_date(self, value: Tree, length: Length) -> Tree:
        """The first day of the period a date lies in."""
        return cast(self.truncated_timestamp(cast(value, "TIMESTAMP"), length), "DATE")

    def truncated_timestamp(self, value: Tree, length: Length) -> Tree:
        """The start of the period a timestamp lies in."""
        return call("DATE_TRUNC", text(length.value), value)

    def part(self, name: str, value: Tree) -> Tree:
        """The year, quarter, month, day, hour or minute of a date or timestamp."""
        return cast(exp.Extract(this=exp.var(name), expression=value), "BIGINT")

    def characters(self, value: Tree) -> Tree:
        """The number of code points of a text."""
        return cast(call("LENGTH", value), "BIGINT")

    def one_of(self, value: Tree, texts: Sequence[str]) -> Tree:
        """True where a text is one of several different ones, byte for byte; false or missing elsewhere."""
        return exp.In(this=value, expressions=[text(each) for each in texts])

    def place(self, value: Tree, texts: Sequence[str]) -> Tree | None:
        """The place of a text among several different ones, from 0 as a 64-bit integer; missing where it is none of them.

        None where the engine has nothing quicker than to compare it with one after another.
        """
        return None

    def sortable(self, value: Tree) -> Tree:
        """The same text, which sorts by code points."""
        return value

    def row_number(self) -> Tree:
        """A number that is different for every row; it means nothing else."""
        return exp.Window(this=exp.RowNumber())

    def gathered(self, rows: exp.Select, units: Sequence[str]) -> exp.Select:
        """The same rows; an engine that spreads rows over machines may bring those of a unit together here."""
        return rows

    def real(self, value: float) -> Tree:
        """A constant double, exact."""
        return cast(text(repr(value)), "DOUBLE")

    def limited(self, value: Tree, low: int, high: int) -> Tree:
        """A 64-bit value that is never missing, limited to [low, high]."""
        return limited(value, low, high)
