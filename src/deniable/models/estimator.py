"""What every estimator shares: which rows and columns it reads, its price, and its fit through a session's one door.

Guarantee: bounds and categories come from the codebook; a fit is charged once, as a whole, before a row is read; asking for
the same fit at the same price again gives the stored model, free.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Never, NoReturn, Protocol

from deniable.core.space import Space
from deniable.core.step import MechanismFamily
from deniable.core.transformation import Transformation
from deniable.cost import Cost
from deniable.engines.table_space import coded_rows, column_facts, rows_per_unit
from deniable.errors import InvalidArgument
from deniable.exact import loss_text, number_of, weak_promise
from deniable.exact.guards import Real, integer, shown
from deniable.models.encoding import OTHER, Encoding, Feature, NumberScale, feature
from deniable.models.learnt_bounds import WIDEST, fit_with_bounds
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Case, Column, Compare, Comparison, Expression, Literal
from deniable.plan.facts import Facts, Kind
from deniable.plan.functions.numeric import Clamp
from deniable.plan.nodes import Filter, Relation, scan
from deniable.plan.relation import schema
from deniable.plan.translate import parse

MOST_STEPS = 1_000_000
"""Noisy answers of one fit; a plan of more would not fit into memory."""


class Door(Protocol):
    """What a fit needs of a session."""

    codebook: Codebook

    def release(
        self,
        question: Any,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real | None = None,
        request: str | None = None,
    ) -> Any:
        """Charge, run, store, show."""
        ...

    def quote(
        self, question: Any, *, epsilon: Real | None = None, rho: Real | None = None, delta: Real | None = None
    ) -> Any:
        """What a payment buys; nothing is spent."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FitPrice:
    """What a fit will do and cost. Nothing was spent or looked at for it.

    `multiplier` is the noise on each step, in units of what one unit of privacy can move it. `forecast` says what that means.
    """

    estimator: str
    steps: int
    multiplier: float
    cost: Cost
    epsilon: Fraction | None
    delta: Fraction
    forecast: str

    def __str__(self) -> str:
        paid = "its rho" if self.epsilon is None else loss_text("epsilon", self.epsilon, self.delta)
        steps = number_of(self.steps, "noisy step")
        whole = f"{self.estimator}: {steps}, noise multiplier {self.multiplier:.4g}, for {paid}; {self.forecast}"
        return "\n".join([whole, *weak_promise(self.epsilon, self.delta)])


@dataclass(frozen=True, slots=True)
class RowsReader:
    """Where an estimator's rows come from: a table, a filter, columns, and how many rows of one unit are kept."""

    features: Sequence[str] | None = field(default=None, kw_only=True)
    table: str | None = field(default=None, kw_only=True)
    where: str | None = field(default=None, kw_only=True)
    rows: int | None = field(default=None, kw_only=True)
    values: Mapping[str, Sequence[str]] | None = field(default=None, kw_only=True)
    """Values of text columns without declared categories: public ones, or those a charged query with a threshold has shown."""
    bounds: str | None = field(default=None, kw_only=True)
    """"private": the bounds of numbers that have none declared are found within the same charge."""

    title: ClassVar[str] = "estimator"
    scale: ClassVar[NumberScale] = NumberScale.LINEAR
    reference: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.features is not None:
            if isinstance(self.features, str) or not all(isinstance(name, str) for name in self.features):
                raise InvalidArgument(f"features must be a list of column names, got {self.features!r}")
            if len(set(self.features)) != len(self.features):
                raise InvalidArgument(f"features must differ from one another, got {list(self.features)}")
            object.__setattr__(self, "features", tuple(self.features))
        if self.rows is not None:
            integer(rows=self.rows, least=1)
        if self.bounds not in (None, "private"):
            raise InvalidArgument(f"bounds must be 'private' or left out, got {self.bounds!r}")
        self.check()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            from deniable.misnamed import no_attribute

            raise no_attribute(self, name)

    def check(self) -> None:
        """Refuse settings that make no sense, one line each."""

    # What an estimator says of itself

    def reading(self, codebook: Codebook) -> RowsReading:
        """The rows and columns this reads, checked against the codebook."""
        return RowsReading.of(self, codebook)

    def family(self, codebook: Codebook) -> MechanismFamily:
        """The fit for every noise multiplier, as mechanisms on the tables of a codebook."""
        reading = self.reading(codebook)
        return MechanismFamily(reading.space, lambda multiplier: self.whole(reading, multiplier)).after(reading.rows)

    def whole(self, reading: RowsReading, multiplier: Real) -> Any:
        """The fit with this noise multiplier, with the search for bounds before it where there are open columns."""
        return fit_with_bounds(self, reading, multiplier) if reading.open else self.at(reading, multiplier)

    def at(self, reading: RowsReading, multiplier: Real) -> Any:
        """The fit with this noise multiplier, as a mechanism on the rows."""
        raise NotImplementedError

    def step_count(self, reading: RowsReading) -> int:
        """How many noisy answers a fit asks for."""
        return 1

    def predicts(self, reading: RowsReading) -> bool:
        """Whether what is fitted predicts rows by itself."""
        return True

    def forecast(self, reading: RowsReading, multiplier: float) -> str:
        """What the noise will do, from public facts."""
        return f"each released total is off by about {multiplier:.3g} times what one unit can add"

    # What a user does with it

    def price(
        self, session: Door, *, epsilon: Real | None = None, rho: Real | None = None, delta: Real | None = None
    ) -> FitPrice:
        """Steps, noise and cost of a fit; nothing is spent and no data is touched."""
        bought = _door(session).quote(self.family(session.codebook), epsilon=epsilon, rho=rho, delta=delta)
        multiplier, reading = float(bought.mechanism.parameter or 0), self.reading(session.codebook)
        return FitPrice(
            estimator=self.title,
            steps=self.step_count(reading) + bool(reading.open),
            multiplier=multiplier,
            cost=bought.cost,
            epsilon=bought.epsilon,
            delta=bought.delta,
            forecast=searched(reading.open) + self.forecast(reading, multiplier),
        )

    def fit(
        self,
        session: Door,
        *unnamed: Never,
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real | None = None,
        request: str | None = None,
    ) -> Any:
        """The fitted model: one durable charge for the whole run, trained, stored, and only then shown.

        Guarantee: the session's, for everything this model is and everything that is computed from it.
        """
        return _door(session, unnamed).release(
            self.family(session.codebook), epsilon=epsilon, rho=rho, delta=delta, request=request
        )

    def settings(self) -> dict[str, Any]:
        """Every setting, as plain values."""
        plain = {each.name: _plain(getattr(self, each.name)) for each in fields(self)}
        return plain if self.bounds else {name: value for name, value in plain.items() if name != "bounds"}

    def recipe(self) -> str:
        """The settings as one text that decides what the fit does."""
        return f"{self.title}({json.dumps(self.settings(), sort_keys=True, default=str)})"


def _door(session: Any, unnamed: Sequence[object] = ()) -> Door:
    """A session, through which alone rows are read; a frame of rows has no budget."""
    if not (hasattr(session, "release") and hasattr(session, "codebook")):
        kind = type(session).__name__  # its repr could be rows
        rows = "; for rows, fit(X, y), there is dp.models.for_sklearn" if unnamed else ""
        raise InvalidArgument(
            f"a model is fitted to a session, such as dp.Dataset(...).session(...), got a {kind}{rows}"
        )
    if unnamed:
        raise InvalidArgument("say what is paid by name: fit(session, epsilon=1)")
    door: Door = session
    return door


@dataclass(frozen=True, slots=True)
class Estimator(RowsReader):
    """An estimator of one target column from the other columns."""

    target: str = ""

    def __post_init__(self) -> None:
        if not (isinstance(self.target, str) and self.target):
            raise InvalidArgument(f"target must name a column, got {self.target!r}")
        if self.features is not None and self.target in self.features:
            raise InvalidArgument(f"the target {self.target!r} cannot be a feature as well")
        RowsReader.__post_init__(self)


@dataclass(frozen=True, slots=True)
class RowsReading:
    """The rows of one fit: the transformation that hands them out, and what is public about their columns."""

    rows: Transformation
    per_unit: int
    features: tuple[Feature, ...]
    target: Feature | None
    replaces: bool
    open: tuple[str, ...] = ()
    """Numbers whose bounds a fit has to find first."""

    @classmethod
    def of(cls, reader: RowsReader, codebook: Codebook) -> RowsReading:
        """The reading an estimator asks for; a column without bounds or categories is refused by name."""
        source: Relation = scan(codebook, reader.table)
        target = getattr(reader, "target", None)
        names = tuple(reader.features) if reader.features is not None else _others(codebook, reader.table, target)
        if not names:
            raise InvalidArgument("a model needs at least one feature, got none")
        listed = _listed(reader, schema(source))
        asked = [*names, *([target] if target else [])]
        missing = _boundless(schema(source), asked) if reader.bounds == "private" else ()
        facts = column_facts(codebook, reader.table, asked, listed=listed, searched=missing)
        if reader.where is not None:
            source = Filter(source, parse(reader.where, schema=schema(source)))
        most = rows_per_unit(source) if reader.rows is None else reader.rows
        columns = {name: place_of(name, listed[name]) if name in listed else Column(name) for name in facts}
        columns |= {name: Clamp(Column(name), *_widest(facts[name])) for name in missing}
        facts |= {name: _wide(facts[name]) for name in missing}
        rows = coded_rows(codebook, source, columns, rows=most)
        facts |= {name: replace(facts[name], categories=(*values, OTHER)) for name, values in listed.items()}
        features = tuple(feature(name, facts[name], scale=reader.scale, reference=reader.reference) for name in names)
        moved = rows.map(d_in=1) == 2
        return cls(rows, most, features, feature(target, facts[target]) if target else None, moved, missing)

    @property
    def space(self) -> Space:
        """The space of the rows."""
        return self.rows.target

    @property
    def encoding(self) -> Encoding:
        """The features as columns of whole numbers."""
        return Encoding(self.features)

    def target_number(self) -> Feature:
        """The target, which must be a number."""
        assert self.target is not None
        if not self.target.is_number:
            raise InvalidArgument(f"the target {self.target.name!r} has categories; a regression needs a number")
        return self.target

    def target_classes(self) -> tuple[Any, ...]:
        """The classes of the target, from the codebook."""
        assert self.target is not None
        if self.target.is_number:
            raise InvalidArgument(
                f"the target {self.target.name!r} is a number; a classifier needs declared categories or a boolean"
            )
        if len(self.target.values) < 2:
            raise InvalidArgument(f"the target {self.target.name!r} has fewer than two declared categories")
        return self.target.values


def searched(names: Sequence[str]) -> str:
    """What a price says about bounds that have to be found."""
    return f"the bounds of {', '.join(names)} are found first, for about a tenth of it; " if names else ""


def _boundless(known: Mapping[str, Facts], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        name for name in names if name in known and known[name].kind is Kind.NUMBER and not known[name].bounded
    )


def _wide(known: Facts) -> Facts:
    """The public range of a number without bounds, as wide as exact arithmetic allows."""
    lower, upper = (
        -WIDEST if known.lower is None else max(known.lower, -WIDEST),
        WIDEST if known.upper is None else min(known.upper, WIDEST),
    )
    return replace(known, lower=min(lower, upper), upper=max(lower, upper))


def _widest(known: Facts) -> tuple[Fraction, Fraction]:
    lower, upper = _wide(known).ends
    return lower * known.step, upper * known.step


def place_of(name: str, values: Sequence[str]) -> Expression:
    """The place of a text in a list of values, or one more for every other text."""
    places = [(Compare(Comparison.EQUAL, Column(name), Literal(each)), place) for place, each in enumerate(values)]
    whens = tuple((when, Literal(Fraction(place))) for when, place in places)
    return Case(whens, Literal(Fraction(len(values))))


def _listed(reader: RowsReader, known: Mapping[str, Facts]) -> dict[str, tuple[str, ...]]:
    given: object = reader.values or {}
    if not isinstance(given, Mapping) or any(isinstance(each, str) for each in given.values()):
        raise InvalidArgument(f"values must list texts by column, such as {{'town': ['a', 'b']}}, got {shown(given)}")
    listed = {name: tuple(values) for name, values in given.items()}
    for name, values in listed.items():
        fact = known.get(name)
        if fact is None or fact.kind is not Kind.STRING or fact.categories is not None:
            raise InvalidArgument(f"values lists {name!r}, which is no text column without declared categories")
        if (
            not values
            or not all(isinstance(each, str) for each in values)
            or OTHER in values
            or len(set(values)) != len(values)
        ):
            raise InvalidArgument(f"values of {name!r} must be different texts, at least one, got {list(values)}")
    return listed


def _others(codebook: Codebook, table: str | None, target: str | None) -> tuple[str, ...]:
    """All columns but the target and those that say whose row it is."""
    source = scan(codebook, table)
    known = codebook[source.table]
    unit = codebook.unit
    apart = {target, known.unit, known.period, *(link.column for link in known.links), unit.id if unit else None}
    if target is not None and target not in schema(source):
        column_facts(codebook, table, [target])
    return tuple(name for name in schema(source) if name not in apart)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Fraction) else value
