"""The question, as an immutable value that is built up step by step: rows, then groups, then aggregates.

Every method returns a new query; nothing is read, priced or spent before `price` or `release`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, Generic, Never, Protocol, TypeVar, Unpack

from deniable.core.step import MechanismFamily
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, positive, shown
from deniable.plan.expression import Expression
from deniable.plan.nodes import (
    ByHash,
    ByOrder,
    Choice,
    Filter,
    JoinKind,
    Level,
    Project,
    Relation,
    Union,
)
from deniable.plan.relation import derive, join, schema
from deniable.plan.translate import parse
from deniable.query.aggregates import Aggregate, Of, OfUnit
from deniable.query.answer_views import Viewable
from deniable.query.contribution import ChosenBounds, choose_bounds
from deniable.query.keys import MOST_BINS, Key, key_of
from deniable.query.payment import Payment, PaymentTerms, with_payment
from deniable.query.per_unit import PerUnit

if TYPE_CHECKING:
    from deniable.query.price import Price


Answer = TypeVar("Answer", covariant=True)
"""What a query releases; a session's queries release a `Release`."""

_BY_HASH = ByHash()


class QueryRunner(Protocol[Answer]):
    """Who prices and answers a finished query: a session."""

    def price_query(self, query: Query[Any], payment: Payment) -> Price:
        """The price of a query."""
        ...

    def release_query(self, query: Query[Any], payment: Payment, request: str | None) -> Answer:
        """The answer to a query, charged."""
        ...

    def query_mechanism(self, query: Query[Any]) -> MechanismFamily:
        """The query as a mechanism on the table space; its payment picks the member."""
        ...

    def prepare(self, query: Query[Any]) -> None:
        """Have the engine keep the query's bounded rows."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Viewable, Generic[Answer]):
    """A question about a private table.

    Guarantee: asking for its price costs nothing; releasing it charges the session first.
    """

    source: Relation
    runner: QueryRunner[Answer]
    keys: tuple[Key, ...] = ()
    aggregates: tuple[tuple[str, Aggregate], ...] = ()
    groups: int | None = None
    rows: int | None = None
    total: int | None = None
    choice: Choice = _BY_HASH
    sampled: bool = False
    levels: tuple[Level, ...] | None = None
    other: str | None = None
    whole: bool = False
    shares: tuple[tuple[str, Fraction], ...] = ()
    _compiled: list[tuple[Any, Any]] = field(default_factory=list, init=False, repr=False, compare=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            from deniable.misnamed import no_attribute

            raise no_attribute(self, name)

    def __getitem__(self, place: object) -> Never:
        raise InvalidArgument(
            f"a query has no rows or columns to take out, got [{shown(place)}]; "
            "write where('x > 1') for rows and agg(m=dp.mean('x')) for a column"
        )

    def __repr__(self) -> str:
        by = f" by {', '.join(key.name for key in self.keys)}" if self.keys else ""
        asked = ", ".join(f"{name}={type(aggregate).__name__.lower()}" for name, aggregate in self.aggregates)
        return f"Query({asked or 'nothing yet'}{by}; price it or release it)"

    @property
    def _parts(self) -> tuple[list[str], list[str]]:
        return [key.name for key in self.keys], [name for name, _ in self.aggregates]

    def where(self, condition: Of | None = None, **equal: Never) -> Query[Answer]:
        """Only the rows on which `condition` is true, such as `"duration > 0 and country in ('FR', 'DE')"`."""
        if condition is None or equal:
            raise InvalidArgument("a condition is text: where(\"country = 'FR' AND duration > 0\")")
        return self._on(Filter(self.source, self._read(condition)))

    def derive(self, *unnamed: Never, **columns: Of) -> Query[Answer]:
        """Further columns computed from each row, such as `minutes="duration * 60"`."""
        if unnamed:
            raise InvalidArgument(f"a column needs a name: derive(y={shown(unnamed[0])})")
        return self._on(derive(self.source, **{name: self._read(text) for name, text in columns.items()}))

    def select(self, **columns: Of) -> Query[Answer]:
        """Exactly these columns."""
        return self._on(Project(self.source, tuple((name, self._read(text)) for name, text in columns.items())))

    def join(
        self, other: Query[Any], *, on: str | Sequence[str] | Mapping[str, str] = (), how: str = "inner"
    ) -> Query[Answer]:
        """Rows beside the rows of `other` with equal `on` columns; two private tables meet only within one unit."""
        try:
            kind = JoinKind(how)
        except ValueError:
            known = ", ".join(each.value for each in JoinKind)
            raise InvalidArgument(f"how must be one of {known}, got {how!r}") from None
        return self._on(join(self.source, self._rows_of(other, "join"), _pairs(on), kind))

    def union(self, *others: Query[Any]) -> Query[Answer]:
        """All rows of this and the others, which have the same columns."""
        return self._on(Union((self.source, *(self._rows_of(other, "union") for other in others))))

    def _rows_of(self, other: object, what: str) -> Relation:
        """The rows of a query of the same session that does not group or compute yet."""
        if not isinstance(other, Query):
            wanted = other if isinstance(other, str) else "towns"
            raise InvalidArgument(
                f"{what} takes a query: write {what}(session.query({wanted!r}), ...), got {shown(other)}"
            )
        if other.runner is not self.runner:
            raise InvalidArgument(f"{what} takes a query of the same session: these two belong to different sessions")
        if other.keys or other.aggregates:
            raise InvalidArgument(f"{what} takes rows: leave group_by and agg of the other query for afterwards")
        return other.source

    def per_unit(
        self, *keys: str, bounds: Mapping[str, tuple[Real, Real]] | None = None, **summaries: Aggregate | OfUnit
    ) -> Query[Answer]:
        """One row for each unit (and each value of `keys` it has), summing up that unit's own rows: a sub-query per person.

        `summaries` are dp.count(), dp.count(x), dp.count_distinct(x), dp.sum(x), dp.mean(x), dp.minimum(x), dp.maximum(x),
        dp.median(x) (the lower of two middle values), dp.quantile(x, q) (the least value with a share q of the rows at or below
        it) or dp.mode(x) (the least of the most frequent values); `bounds` limits one, such as `bounds={"visits": (0, 20)}`, so
        that it can be added up or averaged afterwards. A mean is rounded to a grid up to 1,024 times as fine as the column's.
        """
        limits = dict(bounds or {})
        unknown = sorted(set(limits) - set(summaries))
        if unknown:
            raise InvalidArgument(f"bounds are given for {unknown[0]!r}, which is not among {sorted(summaries)}")
        read = tuple((key, self._read(key)) for key in keys)
        return self._on(PerUnit(self.source, read, self._read).relation(summaries, limits))

    def group_by(self, *keys: str, values: Mapping[str, Sequence[Any]] | None = None, **named: Of) -> Query[Answer]:
        """Groups by columns or by named expressions, such as `month="date_trunc('month', day)"`.

        `values` declares the keys to show; otherwise they are the codebook's (its bins for a number that has them), or, when
        it has none, those of the data that enough units share. Add `.rollup()`, `.cube()` or `.grouping_sets(...)` for totals.
        """
        for key in keys:
            if not isinstance(key, str):
                raise InvalidArgument(f"keys are texts, one after another: {_unpacked(key)}, got {shown(key)}")
        declared = dict(values or {})
        asked = {**{key: key for key in keys}, **named}
        unknown = sorted(set(declared) - set(asked))
        if unknown:
            raise InvalidArgument(f"values are given for {unknown[0]!r}, which is not a key; keys are {sorted(asked)}")
        built = [key_of(self.source, name, self._read(of), declared.get(name)) for name, of in asked.items()]
        grouped = replace(self, keys=(*self.keys, *built))
        _check_names(grouped)
        return grouped

    def group_by_quantiles(self, bins: int, **named: Of) -> Query[Answer]:
        """One more key: which of so many bins of about equal size a number is in, 1 for the smallest, such as `quarter="minutes"`.

        Guarantee: the quantiles between bins are chosen privately and released first, as a stage of the same charge; where
        they are is said beside the answer. Rows with equal values are in one bin, rows without one in none.
        """
        if len(named) != 1 or self.in_stages:
            raise InvalidArgument("group_by_quantiles takes one named number: group_by_quantiles(4, quarter='minutes')")
        ((name, of),) = named.items()
        if not 2 <= integer(bins=bins, least=2) <= MOST_BINS:
            raise InvalidArgument(f"bins between quantiles are 2 to {MOST_BINS}, got {bins}")
        grouped = replace(self, keys=(*self.keys, Key(name, self._read(of), quantiles=bins)))
        _check_names(grouped)
        return grouped

    def rollup(self) -> Query[Answer]:
        """Sub-totals too: by all keys, by all but the last, ..., and the grand total.

        Guarantee: every level is measured and charged; rows and sums are then fitted so that they add up exactly.
        """
        names = self._key_names("rollup")
        return self.grouping_sets(*(names[:size] for size in range(len(names), -1, -1)))

    def cube(self) -> Query[Answer]:
        """Totals by every subset of the keys.

        Guarantee: every level is measured and charged; rows and sums are then fitted so that they add up exactly.
        """
        names = self._key_names("cube")
        return self.grouping_sets(*(part for size in range(len(names), -1, -1) for part in combinations(names, size)))

    def grouping_sets(self, *levels: Sequence[str]) -> Query[Answer]:
        """Exactly these levels, each a list of key names; `()` is the grand total. Every key must be in one of them.

        Guarantee: every level is measured and charged; rows and sums are then fitted so that they add up exactly.
        """
        names = self._key_names("grouping_sets")
        unknown = [each for level in levels for each in level if each not in names]
        if any(isinstance(level, str) for level in levels) or unknown:
            raise InvalidArgument(f"each level is a list of keys among {', '.join(names)}, got {levels!r}")
        asked = {tuple(name for name in names if name in level) for level in levels}
        absent = [name for name in names if not any(name in level for level in asked)]
        if absent:
            raise InvalidArgument(f"key {absent[0]!r} is in none of the levels; leave it out of group_by")
        ordered = sorted(asked, key=lambda level: (-len(level), [names.index(name) for name in level]))
        return replace(self, levels=None if ordered == [names] else tuple(ordered))

    def _key_names(self, what: str) -> tuple[str, ...]:
        if not self.keys:
            raise InvalidArgument(f"{what} comes after group_by, which names the keys")
        return tuple(key.name for key in self.keys)

    def with_other(self, label: str = "other") -> Query[Answer]:
        """One more row for the rows of all groups that stay hidden, under `label`; one for each combination of declared keys.

        Guarantee: a further measurement of what is hidden, charged like a total; counts and sums, not units or distinct values.
        """
        if not (isinstance(label, str) and label):
            raise InvalidArgument(f"other rows need a name that is not empty, got {label!r}")
        return replace(self, other=label)

    def split(self, **shares: Real) -> Query[Answer]:
        """How the budget is shared: relative parts by output, and `keys` for the number of units that decides which are shown.

        What is not named has part one. Without this all share evenly, which makes the product of the errors least.
        """
        known = [name for name, _ in self.aggregates] + ["keys"]
        unknown = sorted(set(shares) - set(known))
        if unknown:
            raise InvalidArgument(f"split names {unknown[0]!r}, which is not computed; it may name {', '.join(known)}")
        return replace(self, shares=tuple((name, positive(**{name: part})) for name, part in shares.items()))

    def whole_numbers(self) -> Query[Answer]:
        """Counts and sums as non-negative whole numbers that still add up; what was measured is kept beside them."""
        return replace(self, whole=True)

    def agg(self, *unnamed: Never, **aggregates: Aggregate) -> Query[Answer]:
        """What to compute of each group, by name."""
        if unnamed:
            raise InvalidArgument("give every number a name: agg(n=dp.count()) or agg(average=dp.mean('x'))")
        for name, aggregate in aggregates.items():
            if not isinstance(aggregate, Aggregate):
                raise InvalidArgument(
                    f"{name} must be an aggregate such as dp.count() or dp.mean('x'), got {aggregate!r}; "
                    "dp.minimum, dp.maximum and dp.mode are for per_unit"
                )
        asked = replace(self, aggregates=(*self.aggregates, *aggregates.items()))
        _check_names(asked)
        return asked

    def bound(self, *, groups: int | None = None, rows: int | None = None, total: int | None = None) -> Query[Answer]:
        """How many groups one unit may touch, how many rows it may add to each, and how many in all, for this query only.

        With `total` alone a unit keeps so many rows, wherever they are.
        """
        return replace(
            self,
            groups=self.groups if groups is None else integer(groups=groups, least=1),
            rows=self.rows if rows is None else integer(rows=rows, least=1),
            total=self.total if total is None else integer(total=total, least=1),
        )

    def choose_bounds(
        self,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        share: Real = Fraction(19, 20),
        most_groups: int = 100,
        most_rows: int = 100,
        request: str | None = None,
    ) -> ChosenBounds[Answer]:
        """Bounds for this question, chosen privately: about a `share` of the units fit within each of them.

        A private quantile over units of the number of groups each is in, and one of the rows it has in its fullest group;
        `most_groups` and `most_rows` are public limits of what may be chosen.
        Guarantee: charged and stored like any release; bounds chosen so are public from then on.
        """
        return choose_bounds(
            self,
            share=share,
            most={"groups": most_groups, "rows": most_rows},
            payment=Payment.read(epsilon=epsilon, rho=rho),
            request=request,
        )

    def keeping(self, *, first: Of | None = None, last: Of | None = None, sampled: bool = False) -> Query[Answer]:
        """Keep some rows of a unit with too many and leave the others out, in place of weighing all of them evenly.

        The `first` or `last` by a public order (groups beyond the bound too), or those a keyed hash picks (`sampled`), where
        rows that look alike are told apart by their number among equals.
        """
        if (first is not None) + (last is not None) + (sampled is True) != 1 or sampled not in (True, False):
            raise InvalidArgument("say first= or last= with the expression to order by, or sampled=True: one of them")
        if sampled:
            return replace(self, choice=ByHash(), sampled=True)
        order = first if first is not None else last
        assert order is not None
        return replace(self, choice=ByOrder(self._read(order), last=last is not None), sampled=False)

    @with_payment
    def price(self, *unnamed: Never, **payment: Unpack[PaymentTerms]) -> Price:
        """What it would cost and how wrong it would be, from public facts alone; nothing is spent."""
        return self.runner.price_query(self, Payment.of(payment, unnamed))

    @with_payment
    def release(self, *unnamed: Never, request: str | None = None, **payment: Unpack[PaymentTerms]) -> Answer:
        """The answer: charged first, drawn once, stored, with an interval for every cell."""
        return self.runner.release_query(self, Payment.of(payment, unnamed), request)

    @property
    def in_stages(self) -> bool:
        """Whether something is released first that the question rests on: the ends of bins between quantiles."""
        return any(key.quantiles for key in self.keys)

    @property
    def mechanism(self) -> MechanismFamily:
        """This question as a mechanism on the session's table space: a family, whose payment picks the member.

        `mechanism(epsilon=0.5)` is the member at a price, whose cost can be read by every measure.

        Guarantee: `release` runs this mechanism and no other, after its cost was charged.
        """
        return self.runner.query_mechanism(self)

    def prepare(self) -> Query[Answer]:
        """Have the engine keep this question's rows, bounded, so that more questions with its filters, keys and bounds are faster.

        Guarantee: nothing is released, so nothing is charged.
        """
        self.runner.prepare(self)
        return self

    def _on(self, source: Relation) -> Query[Answer]:
        if self.keys or self.aggregates:
            raise InvalidArgument("where, derive, join and union come before group_by and agg")
        schema(source)  # refuses now what does not fit, not when it is run
        return replace(self, source=source)

    def _read(self, of: Of) -> Expression:
        if not isinstance(of, Expression):
            return parse(of, schema=schema(self.source))
        return of


def _check_names(query: Query[Any]) -> None:
    """Refuse columns of one name in the answer: keys, aggregates, and what stands beside them for their errors."""
    taken = {key.name.lower(): "a key" for key in query.keys}
    for name, aggregate in query.aggregates:
        for column in (name, *(f"{name}_{end}" for end in aggregate.error_columns)):
            what = "an output" if column == name else f"the error of {name}"
            if column.lower() in taken:
                raise InvalidArgument(f"{column!r} would be {taken[column.lower()]} and {what}; choose another name")
            taken[column.lower()] = what


def _pairs(on: str | Sequence[str] | Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    if isinstance(on, str):
        return ((on, on),)
    pairs = on.items() if isinstance(on, Mapping) else ((name, name) for name in on) if isinstance(on, Sequence) else ()
    found = tuple(pairs)
    if not (isinstance(on, Mapping | Sequence) and all(isinstance(name, str) for pair in found for name in pair)):
        raise InvalidArgument(f"on takes column names, such as 'id' or {{'left': 'right'}}, got {shown(on)}")
    return found


def _unpacked(key: Any) -> str:
    names = key if isinstance(key, list | tuple | set) else ["origin", "year"]
    return "group_by(" + ", ".join(f'"{name}"' for name in names) + ")"
