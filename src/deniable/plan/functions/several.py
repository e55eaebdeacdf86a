"""Functions of several values of one kind, which skip missing ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from deniable.plan.arithmetic import refused
from deniable.plan.expression import Expression
from deniable.plan.facts import Facts, Kind, hull
from deniable.plan.functions.scalar import Cell, ScalarFunction, Spelling, Writer
from deniable.plan.sql_trees import Tree

if TYPE_CHECKING:
    from deniable.plan.translate import Translator


class _OfSeveral(ScalarFunction):
    """A function of a list of expressions."""

    __slots__ = ()
    parts: tuple[Expression, ...]
    strict = False

    @property
    def arguments(self) -> tuple[Expression, ...]:
        return self.parts


@dataclass(frozen=True, slots=True)
class Coalesce(_OfSeveral):
    """The first value that is not missing."""

    parts: tuple[Expression, ...]

    spellings = (
        Spelling(
            "COALESCE(x, y, 0)",
            exp.Coalesce,
            lambda translator, node: Coalesce(tuple(translator.alike(node, [node.this, *node.expressions]))),
            reads=frozenset({"is_nvl", "is_null"}),
        ),
    )
    meaning = "the first value that is not missing"
    probes: ClassVar[Mapping[str, str]] = {"missing values": "coalesce(tens, whole, 0)"}

    def facts(self, *known: Facts) -> Facts:
        return hull(known).with_null(all(each.nullable for each in known))

    def evaluate(self, *cells: Any) -> Cell:
        return next((cell for cell in cells if cell is not None), None)

    def sql(self, writer: Writer) -> Tree:
        first, *rest = writer.alike(self.parts)
        return exp.Coalesce(this=first, expressions=rest) if rest else first


def _present(translator: Translator, node: exp.Expression) -> tuple[Expression, ...]:
    """The parts; a dialect in which one missing part makes all missing must show that none can be."""
    parts = tuple(translator.alike(node, [node.this, *node.expressions]))
    if not node.args.get("ignore_nulls") and (
        translator.schema is None or any(translator.facts(part).nullable for part in parts)
    ):
        raise translator.refusal(
            node, "unsupported", "LEAST and GREATEST of NULL differ between dialects", "write COALESCE(x, 0)"
        )
    return parts


def _ordered(known: tuple[Facts, ...]) -> tuple[Facts, list[Facts]]:
    """The hull of the parts, and the parts on its grid that are never missing."""
    together = hull(known)
    if together.kind in (Kind.STRING, Kind.BOOLEAN):
        raise refused("no-order", f"{together.kind.value}s have no order every engine agrees on")
    on_grid = [each.on(together.step) for each in known] if together.kind is Kind.NUMBER else list(known)
    sure = [each for each in on_grid if not each.nullable]
    return together.with_null(all(each.nullable for each in known)), sure


@dataclass(frozen=True, slots=True)
class Least(_OfSeveral):
    """The smallest value that is not missing."""

    parts: tuple[Expression, ...]

    spellings = (
        Spelling(
            "LEAST(x, y)",
            exp.Least,
            lambda translator, node: Least(_present(translator, node)),
            reads=frozenset({"ignore_nulls"}),
        ),
    )
    meaning = "the smallest value that is not missing"
    probes: ClassVar[Mapping[str, str]] = {"least": "least(whole, tens, 3)"}

    def facts(self, *known: Facts) -> Facts:
        together, sure = _ordered(known)
        tops = [end for end in (together.upper, *(each.upper for each in sure)) if end is not None]
        return Facts(together.kind, together.nullable, together.step, together.lower, min(tops, default=None))

    def evaluate(self, *cells: Any) -> Cell:
        return min((cell for cell in cells if cell is not None), default=None)

    def sql(self, writer: Writer) -> Tree:
        first, *rest = writer.alike(self.parts)
        return exp.Least(this=first, expressions=rest, ignore_nulls=True) if rest else first


@dataclass(frozen=True, slots=True)
class Greatest(_OfSeveral):
    """The largest value that is not missing."""

    parts: tuple[Expression, ...]

    spellings = (
        Spelling(
            "GREATEST(x, y)",
            exp.Greatest,
            lambda translator, node: Greatest(_present(translator, node)),
            reads=frozenset({"ignore_nulls"}),
        ),
    )
    meaning = "the largest value that is not missing"
    probes: ClassVar[Mapping[str, str]] = {"least and greatest": "least(whole, tens, 3) + greatest(real, -1)"}

    def facts(self, *known: Facts) -> Facts:
        together, sure = _ordered(known)
        bottoms = [end for end in (together.lower, *(each.lower for each in sure)) if end is not None]
        return Facts(together.kind, together.nullable, together.step, max(bottoms, default=None), together.upper)

    def evaluate(self, *cells: Any) -> Cell:
        return max((cell for cell in cells if cell is not None), default=None)

    def sql(self, writer: Writer) -> Tree:
        first, *rest = writer.alike(self.parts)
        return exp.Greatest(this=first, expressions=rest, ignore_nulls=True) if rest else first


SEVERAL: tuple[type[ScalarFunction], ...] = (Coalesce, Least, Greatest)
