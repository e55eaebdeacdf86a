"""What the aggregates of one query measure together: every integer once, however many outputs use it.

Everything is decided from the codebook; what cannot be measured is refused here, before anything is spent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal as Word
from typing import TypeAlias

from deniable.errors import QueryRefused
from deniable.plan import nodes as plan
from deniable.plan.analysis import facts
from deniable.plan.even_weights import FINEST, Spread, fine_bits, fine_step
from deniable.plan.expression import (
    Arithmetic,
    Case,
    Column,
    Compare,
    Comparison,
    Expression,
    Literal,
    Not,
    Operator,
)
from deniable.plan.facts import Facts, Kind
from deniable.plan.functions.numeric import clamp_step, refined
from deniable.plan.nodes import Relation
from deniable.plan.presence import may_be_missing
from deniable.plan.relation import schema
from deniable.plan.translate import parse
from deniable.query.aggregates.aggregate import Of, PrivateChoice

TOTAL: Word["total"] = "total"
"""A unit's total is clipped to what its rows that count can add; no row is weighed."""

Clip: TypeAlias = tuple[Fraction, Fraction] | Word["total"] | None
"""What happens to a unit with too many rows: its total is clipped to these ends or to `TOTAL`; None: its rows weigh less."""

_NUMBERS = {
    Kind.DATE: "write days_between(DATE '2024-01-01', x), or group by date_trunc('month', x)",
    Kind.TIMESTAMP: "write days_between(DATE '2024-01-01', date(x)), or group by date_trunc('month', x)",
    Kind.BOOLEAN: "count where it is true: COUNT(*) FILTER (WHERE x), in the builder where('x').agg(n=dp.count())",
    Kind.STRING: "count its values with group_by and count, or top_k",
}
"""How a column of another kind is asked about."""


@dataclass(slots=True)
class Measuring:
    """The measurements of one query as its aggregates register them; at most `rows` rows of one unit count in a group.

    `spreads` says whether a unit with more is spread evenly over all it has, in every output alike (`plan.even_weights`).
    `measured` names each integer of the plan, `steps` its grid, `grains` what it is shown in whole multiples of, `bins` the
    bins of histograms, `choices` the private choices. `shown_histograms` get noise of their own; others are only chosen from.
    """

    source: Relation
    rows: int
    spreads: bool = False
    measured: dict[plan.Aggregate, str] = field(default_factory=dict)
    steps: dict[str, Fraction] = field(default_factory=dict)
    grains: dict[str, Fraction] = field(default_factory=dict)
    bins: dict[str, int] = field(default_factory=dict)
    choices: dict[str, PrivateChoice] = field(default_factory=dict)
    shown_histograms: set[str] = field(default_factory=set)

    def spread(self, bits: int) -> Spread | None:
        """How a unit with too many rows is spread, in parts of `bits` binary places."""
        return Spread(self.rows, bits) if self.spreads else None

    def read(self, of: Of) -> Expression:
        """A column or expression, checked against the schema."""
        return parse(of, schema=schema(self.source)) if isinstance(of, str) else of

    def numeric(self, of: Of) -> Expression:
        """A column or expression to be averaged: of a truth value one and zero, so that its mean is a share."""
        read = self.read(of)
        if self.facts(read).kind is not Kind.BOOLEAN:
            return read
        return Case(((read, Literal(1)), (Not(read), Literal(0))))

    def facts(self, of: Expression) -> Facts:
        """What is publicly known of an expression."""
        return facts(of, schema(self.source))

    def bounded(self, of: Expression, what: str) -> Facts:
        """The facts of a bounded number, or a refusal."""
        known = self.facts(of)
        if known.kind is not Kind.NUMBER:
            name = f" ({of.name})" if isinstance(of, Column) else ""
            said = f"{what} needs a number, this column{name} is a {known.kind.value}"
            raise QueryRefused("not-a-number", said, rewrite=_NUMBERS.get(known.kind, ""))
        if not known.bounded:
            raise QueryRefused(
                "unbounded",
                f"{what} needs bounds, and this column has none",
                rewrite="declare lower and upper in the codebook, or write clamp(x, lower, upper)",
            )
        return known

    def add(self, aggregate: plan.Aggregate, step: Fraction = Fraction(1)) -> str:
        """The name of an integer of the plan, measured once."""
        name = self.measured.setdefault(aggregate, f"m{len(self.measured)}")
        spread = None if isinstance(aggregate, plan.Units | plan.Distinct) else aggregate.spread
        self.steps[name], self.grains[name] = fine_step(step, spread), step
        return name

    def histogram(self, of: Expression, bins: int, *, shown: bool) -> str:
        """The rows in each of `bins` bins, numbered by `of`."""
        name = self.add(plan.Histogram(of, bins, self.rows, FINEST if self.spreads else None))
        self.bins[name] = bins
        if shown:
            self.shown_histograms.add(name)
        return name

    def choose(self, choice: PrivateChoice) -> str:
        """The name of a private choice."""
        name = f"c{len(self.choices)}"
        self.choices[name] = choice
        return name

    def count(self, of: Expression | None, most: int | None = None) -> str:
        """Rows where `of` is present; one shared count of all rows where it cannot be missing."""
        counted = of if of is not None and self.may_be_missing(of) else None
        if counted is None or most is not None:  # all rows of a unit together weigh a whole number of rows
            return self.add(plan.RowCount(self.rows if most is None else most, counted))
        return self.add(plan.RowCount(self.rows, counted, self.spread(FINEST)))

    def may_be_missing(self, of: Expression) -> bool:
        """Whether some row may lack a value of `of`: its facts allow it, and no filter rules it out."""
        return may_be_missing(self.source, of)

    def total(self, of: Expression, clip: Clip = None) -> str:
        """The sum of a bounded number; a unit with too many rows is spread, or what it adds is clipped."""
        known = self.bounded(of, "a sum")
        if isinstance(clip, tuple):
            wide = Facts(Kind.NUMBER, step=known.step, lower=None, upper=None)  # sums go beyond one row's bounds
            step = clamp_step(wide, *clip)
            return self.add(plan.Total(refined(of, known.step, step), *clip), step)
        low, high = known.ends
        reach = self.rows * known.step
        spread = None if clip == TOTAL else self.spread(fine_bits(max(-low, high)))
        return self.add(plan.Total(of, min(low, 0) * reach, max(high, 0) * reach, spread), known.step)

    def clipped_total(self, of: Expression, lower: Fraction, upper: Fraction) -> str:
        """The sum of a number that lies in [lower, upper] in every row."""
        known = self.bounded(of, "a sum")
        spread = self.spread(fine_bits(max(map(abs, known.ends))))
        return self.add(plan.Total(of, self.rows * lower, self.rows * upper, spread), known.step)

    def centred(self, of: Expression) -> tuple[str, Fraction, Facts]:
        """The sum of distances from the middle of the bounds: half the sensitivity of the sum itself."""
        known = self.bounded(of, "a mean")
        low, high = known.ends
        centre = (low + high) // 2 * known.step
        return self.total(Arithmetic(Operator.SUBTRACT, of, Literal(centre))), centre, known

    def category_number(self, of: Expression, values: tuple[str, ...]) -> Expression:
        """The place of a text among declared values."""
        return Case(
            tuple(
                (Compare(Comparison.EQUAL, of, Literal(value)), Literal(Fraction(i))) for i, value in enumerate(values)
            )
        )
