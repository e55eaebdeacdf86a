"""Conditions and cases: AND, OR, IS, IN, LIKE, BETWEEN, CASE, COALESCE and their kin, as expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deniable.plan.analysis import facts
from deniable.plan.expression import (
    And,
    Case,
    Coalesce,
    Compare,
    Comparison,
    Expression,
    Greatest,
    In,
    IsNull,
    Least,
    Like,
    Literal,
    Not,
    Or,
    between,
    null_if,
)

if TYPE_CHECKING:
    from deniable.plan.translate import Translator


def conjunction(translator: Translator, node: exp.And) -> Expression:
    """a AND b."""
    return And(tuple(translator.expression(part) for part in node.flatten()))


def disjunction(translator: Translator, node: exp.Or) -> Expression:
    """a OR b."""
    return Or(tuple(translator.expression(part) for part in node.flatten()))


def negation(translator: Translator, node: exp.Not) -> Expression:
    """NOT a."""
    return Not(translator.expression(node.this))


def test(translator: Translator, node: exp.Is) -> Expression:
    """a IS NULL, a IS TRUE, a IS FALSE, and their opposites."""
    if node.args.get("negate"):
        plain = node.copy()
        plain.set("negate", None)
        return Not(test(translator, plain))
    value = translator.expression(node.this)
    if isinstance(node.expression, exp.Null):
        return IsNull(value)
    if isinstance(node.expression, exp.Boolean):
        asked = value if node.expression.this else Not(value)
        return Coalesce((asked, Literal(False)))
    raise translator.refusal(node, "unsupported", "IS is followed by NULL, TRUE or FALSE")


def range_test(translator: Translator, node: exp.Between) -> Expression:
    """a BETWEEN b AND c."""
    value, lower, upper = translator.alike(node, [node.this, node.args["low"], node.args["high"]])
    return between(value, lower, upper)


def membership(translator: Translator, node: exp.In) -> Expression:
    """a IN (constants)."""
    if node.args.get("query") is not None or not node.expressions:
        raise translator.refusal(
            node, "subquery", "IN takes a list of constants here", "use a semi join along the unit or a link"
        )
    value, *among = translator.alike(node, [node.this, *node.expressions])
    if not all(isinstance(part, Literal) for part in among):
        raise translator.refusal(node, "bad-constant", "IN takes a list of constants")
    translator.check_case(node, value, *among)
    return In(value, tuple(among))  # type: ignore[arg-type]


def likeness(translator: Translator, node: exp.Like) -> Expression:
    """a LIKE 'pattern'."""
    if not (isinstance(node.expression, exp.Literal) and node.expression.is_string):
        raise translator.refusal(node, "bad-constant", "LIKE takes a constant pattern")
    like = Like(translator.expression(node.this), node.expression.this)
    translator.check_case(node, like.value, Literal(like.pattern))
    return Not(like) if node.args.get("negate") else like


def case(translator: Translator, node: exp.Case) -> Expression:
    """CASE WHEN ... END, with or without a subject."""
    subject = node.args.get("this")
    branches = []
    for branch in node.args["ifs"]:
        if subject is None:
            condition = translator.expression(branch.this)
        else:
            condition = Compare(Comparison.EQUAL, *translator.alike(node, [subject, branch.this]))
        branches.append((condition, _optional(translator, branch.args.get("true"))))
    return _cases(translator, node, branches, _optional(translator, node.args.get("default")))


def condition(translator: Translator, node: exp.If) -> Expression:
    """IF(a, b, c)."""
    branch = (translator.expression(node.this), _optional(translator, node.args.get("true")))
    return _cases(translator, node, [branch], _optional(translator, node.args.get("false")))


def _optional(translator: Translator, node: exp.Expression | None) -> Expression | None:
    return None if node is None or isinstance(node, exp.Null) else translator.expression(node)


def _cases(
    translator: Translator,
    node: exp.Expression,
    branches: list[tuple[Expression, Expression | None]],
    otherwise: Expression | None,
) -> Expression:
    """A CASE whose branches may say NULL: from there on, the rest holds only where that branch does not."""
    for index, (condition, result) in enumerate(branches):
        if result is None:
            rest = branches[index + 1 :]
            if not rest and otherwise is None:
                if index == 0:
                    raise translator.refusal(node, "bad-constant", "this CASE is always NULL")
                return Case(tuple(branches[:index]))  # type: ignore[arg-type]
            inner = _cases(translator, node, rest, otherwise) if rest else otherwise
            untrue = Not(Coalesce((condition, Literal(False))))
            return Case((*branches[:index], (untrue, inner)))  # type: ignore[arg-type]
    return Case(tuple(branches), otherwise)  # type: ignore[arg-type]


def first_present(translator: Translator, node: exp.Coalesce) -> Expression:
    """COALESCE(a, b, ...)."""
    return Coalesce(tuple(translator.alike(node, [node.this, *node.expressions])))


def nullified(translator: Translator, node: exp.Nullif) -> Expression:
    """NULLIF(a, b)."""
    left, right = translator.alike(node, [node.this, node.expression])
    return null_if(left, right)


def least(translator: Translator, node: exp.Least) -> Expression:
    """LEAST(a, b, ...)."""
    return Least(_present(translator, node))


def greatest(translator: Translator, node: exp.Greatest) -> Expression:
    """GREATEST(a, b, ...)."""
    return Greatest(_present(translator, node))


def _present(translator: Translator, node: exp.Expression) -> tuple[Expression, ...]:
    """The parts; a dialect in which one missing part makes all missing must show that none can be."""
    parts = tuple(translator.alike(node, [node.this, *node.expressions]))
    if not node.args.get("ignore_nulls") and (
        translator.schema is None or any(facts(part, translator.schema).nullable for part in parts)
    ):
        raise translator.refusal(
            node, "unsupported", "LEAST and GREATEST of NULL differ between dialects", "write COALESCE(x, 0)"
        )
    return parts
