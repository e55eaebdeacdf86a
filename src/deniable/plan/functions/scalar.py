"""What a scalar function is: its row says how it is written, what is publicly known of its values, and how it is computed.

The row is a class of expressions. The SQL parser, the analysis, the reference engine, the SQL of every engine, the
conformance kit, the brute-force laws and the documentation read it; nothing else knows a function by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from sqlglot import exp

if TYPE_CHECKING:
    from deniable.plan.expression import Expression
    from deniable.plan.facts import Facts
    from deniable.plan.profile import Profile
    from deniable.plan.sql_trees import Tree
    from deniable.plan.translate import Translator

Cell: TypeAlias = Fraction | bool | str | date | datetime | None
"""A value of an expression on one row; None is missing."""


class Writer(Protocol):
    """What a function needs to write itself as SQL: the engine's profile, and the facts and the SQL of its arguments."""

    @property
    def profile(self) -> Profile:
        """The engine's spelling."""

    def known(self, expression: Expression) -> Facts:
        """The facts of an expression here."""

    def tree(self, expression: Expression) -> Tree:
        """The SQL of an expression; a number is the integer of its grid."""

    def on(self, expression: Expression, step: Fraction) -> Tree:
        """A number counted in a finer step."""

    def alike(self, parts: Sequence[Expression]) -> list[Tree]:
        """Several values of one kind, numbers on their common grid."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write a function in SQL: a node class of the parser, or a name the parser does not know.

    `arity` is the least and the largest number of arguments of a name (None: any number more); the parser counts those of
    its own nodes. `reads` are the parts of the node that are read, or cannot matter, besides its operands: a node that says
    more is refused. `types` are the targets of a CAST.
    """

    form: str
    of: type[exp.Expression] | str
    read: Callable[[Translator, Any], Expression]
    reads: frozenset[str] = frozenset()
    arity: tuple[int, int | None] = (1, None)
    types: frozenset[Any] = frozenset()


class ScalarFunction(ABC):
    """A function of the values of one row. Its fields are its arguments and public constants.

    Guarantee: `evaluate` of arguments that fit `known` fits `facts(*known)`, and `sql` computes the same on every engine.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    spellings: ClassVar[tuple[Spelling, ...]]
    """How it is written in SQL."""

    meaning: ClassVar[str]
    """One line for the table of functions."""

    probes: ClassVar[Mapping[str, str]]
    """Named expressions over the conformance kit's columns, which every engine must answer as the reference does."""

    operands: ClassVar[tuple[str, ...]] = ("value",)
    """The fields that are expressions."""

    strict: ClassVar[bool] = True
    """Whether it is missing when an argument is; then `evaluate` never sees a missing one."""

    regrids: ClassVar[bool] = False
    """Whether `exact` may say something."""

    @property
    def arguments(self) -> tuple[Expression, ...]:
        """The expressions it is a function of."""
        return tuple(getattr(self, name) for name in self.operands)

    @property
    def feature(self) -> str | None:
        """The feature an engine may lack; None for what all plans rest on."""
        return None

    @property
    def copies(self) -> int:
        """How often its SQL names an argument."""
        return 1

    @property
    def weight(self) -> int:
        """How many SQL nodes it adds besides its arguments."""
        return 3 if self.copies == 1 else 10

    @abstractmethod
    def facts(self, *known: Facts) -> Facts:
        """What holds for every value, from the facts of the arguments; or a refusal."""

    @abstractmethod
    def evaluate(self, *cells: Any) -> Cell:
        """The value on one row, exact."""

    @abstractmethod
    def sql(self, writer: Writer) -> Tree:
        """The same as SQL."""

    def exact(self, *known: Facts) -> Expression | None:
        """The same value in a form that is exact on a grid; None when it is one."""
        return None

    def note(self, *known: Facts) -> str | None:
        """What a reader must know where the value is not what plain SQL would give."""
        return None


def unwrapped(node: exp.Expression) -> exp.Expression:
    """The argument of a function without the cast SQLGlot may have put around it."""
    while isinstance(node, exp.TsOrDsToDate | exp.TsOrDsToTimestamp | exp.Paren):
        node = node.this
    return node


def of_argument(row: Callable[[Expression], Expression]) -> Callable[[Translator, Any], Expression]:
    """How a function of one argument is read."""
    return lambda translator, node: row(translator.expression(unwrapped(node.this)))
