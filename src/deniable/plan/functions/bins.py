"""Functions that say between which public edges a number lies."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from deniable.errors import QueryRefused
from deniable.plan.arithmetic import number, refused
from deniable.plan.expression import Expression
from deniable.plan.facts import Facts, Kind, fitting
from deniable.plan.functions.scalar import Cell, ScalarFunction, Spelling, Writer
from deniable.plan.sql_trees import Tree, add, bigint, binary, case, subtract, within
from deniable.plan.sql_trees import number as constant

if TYPE_CHECKING:
    from deniable.plan.translate import Translator

ONE = Fraction(1)


def _read_bin(translator: Translator, node: exp.Anonymous) -> Expression:
    value, *edges = node.expressions
    return Bin(translator.expression(value), tuple(translator.constant(edge, node) for edge in edges))


@dataclass(frozen=True, slots=True)
class Bin(ScalarFunction):
    """The number (from 0) of the bin [edge, next edge) a value falls in; the last bin holds its right edge.

    A value below the first or above the last edge, and a missing one, is missing.
    """

    value: Expression
    edges: tuple[Fraction, ...]

    spellings = (Spelling("BIN(x, 0, 10, 50)", "bin", _read_bin, arity=(3, None)),)
    meaning = "the number, from 0, of the bin between rising constant edges; missing outside"
    probes: ClassVar[Mapping[str, str]] = {
        "bins": "bin(real, -100, -3, 0, 2.5, 50)",
        "even bins": "bin(whole, -1000, -500, 0, 500, 1000)",
    }
    feature = "bins"

    @property
    def copies(self) -> int:
        return len(self.edges)

    @property
    def weight(self) -> int:
        return 10 + 2 * len(self.edges)

    def facts(self, *known: Facts) -> Facts:
        value = number(known[0], "bin")
        starts, last = bin_starts(value.step, self.edges)
        inside = value.bounded and starts[0] <= value.ends[0] and value.ends[1] <= last
        return Facts(Kind.NUMBER, value.nullable or not inside, ONE, 0, len(self.edges) - 2)

    def evaluate(self, *cells: Any) -> Cell:
        (value,) = cells
        if not self.edges[0] <= value <= self.edges[-1]:
            return None
        return Fraction(min(bisect_right(self.edges, value), len(self.edges) - 1) - 1)

    def sql(self, writer: Writer) -> Tree:
        starts, last = bin_starts(writer.known(self.value).step, self.edges)
        tree = writer.tree(self.value)
        inside = within(tree, constant(starts[0]), constant(last))
        gaps = {b - a for a, b in pairwise(starts)}
        if len(gaps) == 1 and (width := gaps.pop()) > 0:
            place = writer.profile.quotient(subtract(tree.copy(), constant(starts[0])), constant(width))
            chosen: Tree = exp.Least(this=place, expressions=[constant(len(starts) - 1)], ignore_nulls=True)
        else:
            chosen = _searched(tree, starts, 0)
        return case([(inside, bigint(chosen))])


def bin_starts(step: Fraction, edges: tuple[Fraction, ...]) -> tuple[list[int], int]:
    """The first grid point of every bin, and the last grid point of the last one."""
    if len(edges) < 2 or any(not a < b for a, b in pairwise(edges)):
        raise QueryRefused("bad-constant", "bins need at least two rising edges")
    return [ceil(edge / step) for edge in edges[:-1]], floor(edges[-1] / step)


def _searched(value: Tree, starts: list[int], offset: int) -> Tree:
    """The last start at most the value, by halving."""
    if len(starts) == 1:
        return constant(offset)
    middle = len(starts) // 2
    below = _searched(value, starts[:middle], offset)
    above = _searched(value, starts[middle:], offset + middle)
    return case([(binary(exp.LT, value.copy(), constant(starts[middle])), below)], above)


def _read_bucket(translator: Translator, node: exp.WidthBucket) -> Expression:
    names = ("min_value", "max_value", "num_buckets")
    if any(node.args.get(name) is None for name in names):
        raise translator.refusal(node, "bad-constant", "write WIDTH_BUCKET(x, lower, upper, count)")
    lower, upper, count = (translator.constant(node.args[name], node) for name in names)
    if count.denominator != 1:
        raise translator.refusal(node, "bad-constant", "WIDTH_BUCKET takes a whole number of buckets")
    return WidthBucket(translator.expression(node.this), lower, upper, int(count))


@dataclass(frozen=True, slots=True)
class WidthBucket(ScalarFunction):
    """The number of the equal bucket of [lower, upper) a value falls in: 1 to `count`, 0 below, `count` + 1 from `upper` on."""

    value: Expression
    lower: Fraction
    upper: Fraction
    count: int

    spellings = (
        Spelling(
            "WIDTH_BUCKET(x, 0, 100, 10)",
            exp.WidthBucket,
            _read_bucket,
            reads=frozenset({"min_value", "max_value", "num_buckets"}),
        ),
    )
    meaning = "the number of the equal bucket of [0, 100): 1 to 10, 0 below, 11 from 100 on"
    probes: ClassVar[Mapping[str, str]] = {
        "buckets": "width_bucket(real, -3, 2.5, 7)",
        "even buckets": "width_bucket(whole, 0, 100, 10)",
    }
    feature = "WIDTH_BUCKET"

    @property
    def copies(self) -> int:
        return self.count + 1

    def facts(self, *known: Facts) -> Facts:
        value = number(known[0], "WIDTH_BUCKET")
        if not (self.lower < self.upper and 1 <= self.count <= 10**4):
            raise refused("bad-constant", "WIDTH_BUCKET takes rising bounds and 1 to 10,000 buckets")
        starts = self._starts(value.step)
        fitting(Facts(Kind.NUMBER, True, value.step, starts[0], starts[-1]))
        low = 0 if value.lower is None else bisect_right(starts, value.lower)
        high = self.count + 1 if value.upper is None else bisect_right(starts, value.upper)
        return Facts(Kind.NUMBER, value.nullable, ONE, low, high)

    def evaluate(self, *cells: Any) -> Cell:
        place = floor((cells[0] - self.lower) * self.count / (self.upper - self.lower)) + 1
        return Fraction(min(max(place, 0), self.count + 1))

    def sql(self, writer: Writer) -> Tree:
        starts = self._starts(writer.known(self.value).step)
        tree = writer.tree(self.value)
        low, high = constant(starts[0]), constant(starts[-1])
        gaps = {b - a for a, b in pairwise(starts)}
        if len(gaps) == 1 and (width := gaps.pop()) > 0:
            inside = add(writer.profile.quotient(subtract(tree.copy(), low.copy()), constant(width)), constant(1))
        else:
            inside = _searched(tree, starts[:-1], 1)
        above = binary(exp.GTE, tree.copy(), high)
        within_all = binary(exp.GTE, tree.copy(), low)
        below = binary(exp.LT, tree, low.copy())
        return bigint(case([(below, constant(0)), (above, constant(self.count + 1)), (within_all, inside)]))

    def _starts(self, step: Fraction) -> list[int]:
        """The first grid point at or after each edge."""
        width = (self.upper - self.lower) / self.count
        return [ceil((self.lower + place * width) / step) for place in range(self.count + 1)]


BINS: tuple[type[ScalarFunction], ...] = (Bin, WidthBucket)
