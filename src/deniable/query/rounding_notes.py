"""What a reader must know where an answer is not what plain SQL would give: rounded quotients, letters, wide quantiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from deniable.plan.analysis import facts
from deniable.plan.expression import Expression, Fold, children
from deniable.plan.facts import Facts
from deniable.plan.nodes import GroupAgg
from deniable.plan.provenance import computed
from deniable.plan.relation import schema
from deniable.plan.rewriting import rounds_quotients
from deniable.query.aggregates import Output

_QUOTIENTS = "quotients of two columns are rounded to a multiple of 2^-20, except where they are compared"
_LETTERS = "UPPER and LOWER change the letters A to Z alone in columns without declared categories"
_WIDE = "the bounds are wide: a quantile is rounded to the middle of a bin of width"


def rounding_notes(node: GroupAgg, outputs: Sequence[Output]) -> list[str]:
    """One sentence for each such thing in a plan."""
    used = list(_used(node))
    widths = sorted({output.bin_width for output in outputs if output.bin_width is not None})
    told = " and ".join(f"{float(width):,.6g}" for width in widths)
    return [
        *([_QUOTIENTS] if any(rounds_quotients(each) for each, _ in used) else []),
        *([_LETTERS] if any(_folds_free_text(each, known) for each, known in used) else []),
        *([f"{_WIDE} {told}, and its error in ranks is that of the nearest value in the bin"] if widths else []),
    ]


def _used(node: GroupAgg) -> Iterator[tuple[Expression, Mapping[str, Facts]]]:
    known = schema(node.source)
    yield from ((each, known) for each in (*node.inputs, *(key.expression for key in node.keys)))
    yield from computed(node.source)


def _folds_free_text(expression: Expression, known: Mapping[str, Facts]) -> bool:
    if isinstance(expression, Fold) and facts(expression.value, known).categories is None:
        return True
    return any(_folds_free_text(child, known) for child in children(expression))
