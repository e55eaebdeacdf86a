"""Small pieces of SQLGlot trees, so that the generator reads like the SQL it writes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeAlias

from sqlglot import exp

Tree: TypeAlias = exp.Expression

SMALLEST, BIGGEST = -(2**63), 2**63 - 1


def column(name: str, table: str | None = None) -> Tree:
    """A quoted column."""
    return exp.column(exp.to_identifier(name, quoted=True), table=table)


def number(value: int) -> Tree:
    """A whole constant."""
    if value == SMALLEST:
        return paren(exp.Sub(this=number(SMALLEST + 1), expression=number(1)))
    literal: Tree = exp.Literal.number(str(abs(value)))
    return paren(exp.Neg(this=literal)) if value < 0 else literal


def text(value: str) -> Tree:
    """A constant text."""
    return exp.Literal.string(value)


def call(name: str, *arguments: Tree) -> Tree:
    """A function by the name the engine knows it under."""
    return exp.Anonymous(this=name, expressions=list(arguments))


@cache
def _type(kind: str) -> exp.DataType:
    """A type by name, parsed once."""
    return exp.DataType.build(kind, dialect="duckdb" if kind in ("INT128", "UBIGINT") else None)


def cast(value: Tree, kind: str) -> Tree:
    """A cast to a type."""
    known = _type(kind)
    fresh = exp.DataType(this=known.this, expressions=[part.copy() for part in known.expressions], nested=False)
    return exp.Cast(this=value, to=fresh)


def bigint(value: Tree) -> Tree:
    """A cast to a 64-bit integer."""
    return cast(value, "BIGINT")


def null(kind: str) -> Tree:
    """A missing value of a type."""
    return cast(exp.null(), kind)


def paren(value: Any) -> Tree:
    """A value in parentheses."""
    return exp.Paren(this=value)


def case(branches: Iterable[tuple[Tree, Tree]], otherwise: Tree | None = None) -> Tree:
    """The first branch that holds."""
    ifs = [exp.If(this=condition, true=result) for condition, result in branches]
    return exp.Case(ifs=ifs, default=otherwise)


def binary(kind: type[Any], left: Tree, right: Tree) -> Tree:
    """A binary operator, operands and result in parentheses as needed."""
    return paren(kind(this=_wrapped(left), expression=_wrapped(right)))


def _wrapped(part: Tree) -> Tree:
    return paren(part) if isinstance(part, exp.Binary | exp.Neg | exp.Not | exp.In | exp.Between) else part


def add(left: Tree, right: Tree) -> Tree:
    """left + right"""
    return binary(exp.Add, left, right)


def subtract(left: Tree, right: Tree) -> Tree:
    """left - right"""
    return binary(exp.Sub, left, right)


def multiply(left: Tree, right: Tree) -> Tree:
    """left * right"""
    return binary(exp.Mul, left, right)


def scaled(value: Tree, factor: int) -> Tree:
    """value * factor, nothing when the factor is one."""
    return value if factor == 1 else multiply(value, number(factor))


def within(value: Tree, low: Tree, high: Tree) -> Tree:
    """value BETWEEN low AND high"""
    return paren(exp.Between(this=_wrapped(value), low=low, high=high))


def both(*conditions: Tree) -> Tree:
    """All conditions together."""
    return paren(exp.and_(*conditions, copy=False)) if len(conditions) > 1 else conditions[0]


def missing(value: Tree) -> Tree:
    """value IS NULL"""
    return paren(exp.Is(this=_wrapped(value), expression=exp.null()))


def present(value: Tree) -> Tree:
    """value IS NOT NULL"""
    return exp.Not(this=missing(value))


def clamped(value: Tree, low: int | None, high: int | None) -> Tree:
    """A 64-bit value limited to [low, high]; missing stays missing, which GREATEST alone would not grant."""
    branches = []
    if low is not None:
        branches.append((binary(exp.LT, value, number(low)), number(low)))
    if high is not None:
        branches.append((binary(exp.GT, value.copy(), number(high)), number(high)))
    return case(branches, value.copy()) if branches else value


def limited(value: Tree, low: int, high: int) -> Tree:
    """A value that is never missing, limited to [low, high]."""
    raised = exp.Greatest(this=value, expressions=[number(low)], ignore_nulls=True)
    return exp.Least(this=raised, expressions=[number(high)], ignore_nulls=True)


def named(tree: Tree, name: str) -> Tree:
    """A value under a name."""
    return exp.Alias(this=tree, alias=exp.to_identifier(name, quoted=True))


def over(written: list[Tree], inner: exp.Query, alias: str = "rows") -> exp.Select:
    """SELECT written FROM (inner) AS alias."""
    chosen = written or [named(number(1), "__deniable_one")]
    selected = exp.select(*chosen, copy=False)
    return selected.from_(exp.alias_(inner.subquery(copy=False), alias, quoted=True, copy=False), copy=False)
