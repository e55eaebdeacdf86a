"""A statement in stages: one planned charge, then each stage on what the ones before it released; all is stored, or nothing shown.

Everything is priced from public facts before the charge: what an earlier stage says is put within bounds that were declared for
it, so no price and no sensitivity of a later one depends on it. A failure between two stages leaves the charge and no answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deniable.core.compositor import grouped
from deniable.core.mechanism import Mechanism
from deniable.cost import Composed
from deniable.engines.engine import Engine
from deniable.engines.public_database import ReleasedTable
from deniable.engines.table_space import PrivateTables
from deniable.errors import InvalidArgument, QueryRefused
from deniable.ledger.receipt import Receipt
from deniable.ledger.store import Packed
from deniable.noise import Entropy
from deniable.plan.codebook import Codebook
from deniable.plan.facts import Facts, Kind
from deniable.plan.nodes import GroupAgg, ValueTable
from deniable.plan.provenance import tables_of
from deniable.plan.value_tables import with_values
from deniable.query import Payment, Price
from deniable.query.linear_noise import ReleasedNumber
from deniable.query.sql import (
    AnswerTable,
    Explanation,
    PrivateStatement,
    StagedStatement,
    StagePart,
    Statement,
    check_public,
    explain_statement,
    filled,
    public_answer,
)
from deniable.query.sql.post import Cell
from deniable.query.sql.public import PublicRows
from deniable.query.sql.quantile_bins import EDGE
from deniable.query.sql.released_facts import released_numbers, steady_rows
from deniable.query.sql.released_forms import TracedStatement, cell_name, computed_columns
from deniable.release.answer import CHOSEN, Release, statement_view
from deniable.release.answer_record import table_record
from deniable.release.promise import whole_loss, whole_promise
from deniable.release.query_mechanism import QueryMechanism
from deniable.release.release_facts import ReleaseFacts
from deniable.release.statement import contribution

if TYPE_CHECKING:
    from deniable.release.session import Session

_END = "answer"
"""The part of a stored answer that is the last stage."""


class StagedRelease(Release):
    """An answer in stages, charged as one; `stages` are the tables that were released on the way, by name."""

    def __init__(
        self, record: Mapping[str, Any], facts: ReleaseFacts, receipt: Receipt | None, stages: Mapping[str, Release]
    ) -> None:
        super().__init__(record, facts, receipt)
        self.stages = dict(stages)

    def to_json(self) -> str:
        """Everything in it, the tables on the way as well, as JSON text."""
        stages = {name: json.loads(release.to_json()) for name, release in self.stages.items()}
        return json.dumps({**json.loads(super().to_json()), "stages": stages}, sort_keys=True)


def answer_stages(
    session: Session,
    engine: Engine,
    statement: Statement | None,
    staged: StagedStatement[Release],
    *,
    payment: Payment,
    request: str | None,
    question: str,
) -> Release:
    """The answer to a question in stages; one that ends on public tables has its `statement`.

    Guarantee: one durable charge, made before data is read, covers all stages; a refusal spends nothing.
    """
    plan = PlannedStages.of(session, staged, payment)
    return plan.shown(engine, statement, *plan.release(request=request, question=question))


def check_ending(session: Session, statement: Statement, staged: StagedStatement[Release]) -> None:
    """Refuse, before anything is spent, what the engine of public tables could not read once all stages are released."""
    if isinstance(staged.end, PrivateStatement):
        return
    tables = {stage.name: _released_table(stage, None, {}) for stage in staged.stages}
    asked, codebook = replace(statement, tree=staged.end), session.codebook
    check_public(asked, codebook, ending_tables(staged.end, codebook), tables)


@dataclass(frozen=True, slots=True)
class PlannedStages:
    """The stages at their prices; nothing is spent yet."""

    session: Session
    staged: StagedStatement[Release]
    members: tuple[QueryMechanism, ...]

    @classmethod
    def of(cls, session: Session, staged: StagedStatement[Release], payment: Payment) -> PlannedStages:
        shares = _shares(session, staged, payment)
        queries = [each.query for each in staged.private]
        return cls(session, staged, tuple(map(session._query_member, queries, shares)))

    @property
    def names(self) -> tuple[str, ...]:
        """What each private part is stored as."""
        last = (_END,) if isinstance(self.staged.end, PrivateStatement) else ()
        return (*(stage.name for stage in self.staged.stages), *last)

    @property
    def prices(self) -> tuple[Price, ...]:
        """What each private part costs, in order."""
        return tuple(member.price for member in self.members)

    def release(self, *, request: str | None, question: str) -> tuple[Packed, Receipt]:
        """Charge all of it at once, run stage by stage, and store."""
        costs = Composed(tuple(member.price.cost for member in self.members))
        charge = Composed(tuple(member.price.charge for member in self.members))
        digest = self.digest
        whole = Mechanism(self.session.space, self.run, lambda d_in: grouped(costs, d_in), recipe=digest)
        tables = sorted({table for member in self.members for table in tables_of(member.compiled.plan)})
        packed, receipt = self.session._released(
            whole, charge, request=request, plan=digest, question=question, tables=tables
        )
        self.session._last = self.session.filters.read(charge)
        return packed, receipt

    def shown(self, engine: Engine, statement: Statement | None, packed: Packed, receipt: Receipt | None) -> Release:
        """A stored answer as the statement shows it, free: released values and public tables are read, nothing else."""
        return _Shown(self.session, engine, statement, self.staged, self, self._read(packed, receipt)).answer()

    def _read(self, packed: Packed, receipt: Receipt | None) -> dict[str, Release]:
        parts = packed.release["parts"]
        found = {}
        for name, member in zip(self.names, self.members, strict=True):
            release = Release.from_packed(Packed(parts[name]["release"], parts[name]["facts"]), receipt)
            found[name] = release.under([output for output, _ in member.compiled.outputs])
        return found

    def run(self, data: PrivateTables, entropy: Entropy) -> Packed:
        """Each stage on the data and on what was released before it."""
        kept: dict[str, Any] = {}
        released: dict[str, Release] = {}
        tables: dict[str, ValueTable] = {}
        for index, (name, member) in enumerate(zip(self.names, self.members, strict=True)):
            compiled = replace(member.compiled, plan=_on(member.compiled.plan, tables))
            made = self.session._answer(compiled, member.price, data, entropy)
            kept[name] = {"release": made.release, "facts": made.facts}
            if index < len(self.staged.stages):
                stage = self.staged.stages[index]
                plain = Release.from_packed(made).under([output for output, _ in member.compiled.outputs])
                released[name] = statement_view(
                    plain, stage.statement, scalars_of(self.staged.stages[:index], released)
                )
                tables[name] = filled(stage.table, stage_rows(stage, released[name]))
        return Packed({"kind": "workload", "parts": kept}, made.facts)

    @property
    def digest(self) -> str:
        """What decides all answers: every stage's recipe, and what is computed of it for the next one."""
        steps = [
            [stage.name, repr(stage.statement.stages), repr(stage.table.columns), repr(stage.written)]
            for stage in self.staged.stages
        ]
        decided = ["stages", [member.recipe for member in self.members], steps]
        return hashlib.sha256(json.dumps(decided).encode()).hexdigest()


def _on(plan: GroupAgg, tables: Mapping[str, ValueTable]) -> GroupAgg:
    return replace(plan, source=with_values(plan.source, tables))


def _shares(session: Session, staged: StagedStatement[Release], payment: Payment) -> list[Payment]:
    """What each private part is paid: an even share."""
    count = len(staged.private)
    if payment.accuracy is not None:
        raise InvalidArgument("a query in stages is paid with epsilon= or rho=, shared evenly; accuracy= goes with one")
    if payment.laws:
        raise InvalidArgument("a query in stages has one law of noise for all its outputs: law='gaussian'")
    if count == 1:
        return [payment]
    delta = session._delta(payment.delta)
    even = replace(
        payment,
        epsilon=None if payment.epsilon is None else payment.epsilon / count,
        rho=None if payment.rho is None else payment.rho / count,
        delta=delta / count,
    )
    return [even] * count


def stage_rows(stage: StagePart, release: Release) -> list[tuple[Any, ...]]:
    """The rows of a released stage, in the order of its columns; a number of a public key is that key again."""
    found = []
    for row in release.table:
        if stage.written is None:
            found.append(tuple(row[name] for name, _ in stage.table.columns))
        else:
            key = [
                value * known.step if type(value) is int else value
                for value, (_, known) in zip(stage.written[row[release.keys[0]]], stage.table.columns, strict=False)
            ]
            found.append((*key, row[stage.table.columns[-1][0]]))
    return found


def scalars_of(stages: Sequence[StagePart], released: Mapping[str, Release]) -> dict[str, Cell]:
    """The one value of every stage that has one, with its interval; missing where HAVING or LIMIT left no row."""
    found = {}
    for stage in stages:
        release = released[stage.name]
        if release.keys or not release.columns or stage.written is not None or len(release.groups) > 1:
            continue
        if not release.groups:
            found[stage.scalar] = Cell(None)
            continue
        column = release.columns[stage.table.columns[-1][0]]
        sure = column.lower is not None and column.upper is not None
        ends = (column.lower[0], column.upper[0]) if sure else (None, None)  # type: ignore[index]
        found[stage.scalar] = Cell(column.values[0], *ends)
    return found


@dataclass(frozen=True, slots=True)
class _Shown:
    """What was released, on its way to what the statement shows."""

    session: Session
    engine: Engine
    statement: Statement | None
    staged: StagedStatement[Release]
    plan: PlannedStages
    found: Mapping[str, Release]

    def answer(self) -> StagedRelease:
        stages: dict[str, Release] = {}
        for index, stage in enumerate(self.staged.stages):
            before = scalars_of(self.staged.stages[:index], stages)
            stages[stage.name] = statement_view(self.found[stage.name], stage.statement, before)
        if isinstance(self.staged.end, PrivateStatement):
            end = statement_view(self.found[_END], self.staged.end, scalars_of(self.staged.stages, stages))
            notes = [*self._notes(end.notes), *edge_notes(stages.values())]
            record = {**end._record, "guarantee": self._guarantee(), "notes": notes}
            return StagedRelease(record, self._facts(end.facts), end.receipt, stages)
        return self._public(self.staged.end, stages)

    def _public(self, tree: exp.Expression, stages: Mapping[str, Release]) -> StagedRelease:
        cells: list[ReleasedNumber] = []
        places: dict[str, dict[str, range]] = {}
        for place, stage in enumerate(self.staged.stages):
            places[stage.name] = {}
            for name, column in self._numbers(place, stages[stage.name]).items():
                places[stage.name][name] = range(len(cells), len(cells) + len(column))
                cells += column
        traced = self._traced(tree, stages, places)
        try:
            found = self._rows(traced, stages, places)
        except QueryRefused:  # the statement was tried before the charge, what is added to it was not
            traced = replace(traced, tree=tree, hidden=[], forms=[])
            found = self._rows(traced, stages, places)
        last = stages[self.staged.stages[-1].name]
        columns = computed_columns(traced, found.columns, cells, Fraction(last.confidence).limit_denominator(10**9))
        notes = self._notes(tuple(note for release in stages.values() for note in release.notes))
        if traced.chooses and CHOSEN not in notes:
            notes.append(CHOSEN)
        bare = [column.name for at, column in enumerate(columns) if column.lower is None and not traced.plain(at)]
        notes.append("Columns are computed from released values and public tables.")
        if bare:
            notes.append(f"No interval is said for {', '.join(bare)}.")
        shown = AnswerTable((), ((),) * found.count, columns)
        record = table_record(shown, last.confidence, self._guarantee(), notes)
        return StagedRelease(record, self._facts(last.facts), last.receipt, stages)

    def _traced(
        self, tree: exp.Expression, stages: Mapping[str, Release], places: Mapping[str, Mapping[str, range]]
    ) -> TracedStatement:
        codebook, parts = self.session.codebook, self.staged.stages
        noisy = {name for stage in parts for name in stages[stage.name].columns}
        tables = ending_tables(tree, codebook)
        named = {name for stage in parts for name, _ in stage.table.columns}
        named |= {each.name for name in tables for each in codebook[name].variables}
        steady = {
            s.name for s, member in zip(parts, self.plan.members, strict=False) if steady_rows(s, member.compiled)
        }
        return TracedStatement.of(
            tree,
            [(name, column) for name, each in places.items() for column in each],
            public=frozenset(map(str.lower, named - noisy)),
            steady=frozenset(map(str.lower, {*steady, *tables})),
        )

    def _rows(
        self, traced: TracedStatement, stages: Mapping[str, Release], places: Mapping[str, Mapping[str, range]]
    ) -> PublicRows:
        assert self.statement is not None
        tables = {
            stage.name: _released_table(stage, stages[stage.name], places[stage.name] if traced.hidden else {})
            for stage in self.staged.stages
        }
        asked, codebook = replace(self.statement, tree=traced.tree), self.session.codebook
        return public_answer(asked, codebook, ending_tables(traced.tree, codebook), self.engine, tables)

    def _numbers(self, place: int, release: Release) -> dict[str, list[ReleasedNumber]]:
        """The released columns of a stage that have intervals, cell by cell."""
        stage, member = self.staged.stages[place], self.plan.members[place]
        return {
            name: released_numbers(stage, name, release.columns[name], member.compiled, member.price)
            for name, _ in stage.table.columns
            if name in release.columns and release.columns[name].lower is not None
        }

    def _notes(self, notes: Sequence[str]) -> list[str]:
        count = len(self.plan.members)
        said = f"Released in {count} stages; a later one compares with noisy values." if count > 1 else None
        return list(dict.fromkeys([*([said] if said else []), *notes, *self.staged.notices]))

    def _guarantee(self) -> str:
        if self.session.rehearsal:
            return "NO GUARANTEE: drawn with testing entropy, not with secret noise."
        return f"Guarantee: {whole_promise(self.plan.prices, self.session.unit)}."

    def _facts(self, facts: ReleaseFacts) -> ReleaseFacts:
        parts = [release.facts for release in self.found.values()]
        return replace(
            facts,
            epsilon=sum((each.epsilon for each in parts), Fraction(0)),
            delta=min(sum((each.delta for each in parts), Fraction(0)), Fraction(1)),
            mechanisms=tuple(dict.fromkeys(name for each in parts for name in each.mechanisms)),
            postprocessing=(*facts.postprocessing, "later stages computed from released values"),
        )


def edge_notes(stages: Iterable[Release]) -> Iterator[str]:
    """Where bins between quantiles end, each with its interval."""
    for release in stages:
        edges = [column for name, column in release.columns.items() if name.startswith(EDGE)]
        if edges and not release.keys:
            told = [f"{e.values[0]} ({e.lower[0]} to {e.upper[0]})" for e in edges if e.lower and e.upper]
            yield f"Bins end at {', '.join(told)}; the last one at the upper bound."


def _released_table(stage: StagePart, release: Release | None, cells: Mapping[str, Sequence[int]]) -> ReleasedTable:
    """A stage's table for plain SQL, with numbers for its `cells`; without rows before it is released."""
    rows = [] if release is None else stage_rows(stage, release)
    values = {name: [_plain(row[place]) for row in rows] for place, (name, _) in enumerate(stage.table.columns)}
    numbered = {cell_name(name): Facts(Kind.NUMBER) for name in cells}
    return ReleasedTable(
        {**dict(stage.table.columns), **numbered}, {**values, **{cell_name(name): each for name, each in cells.items()}}
    )


def ending_tables(tree: exp.Expression, codebook: Codebook) -> tuple[str, ...]:
    """The public tables that are read once all stages are released."""
    named = {node.name.lower() for node in tree.find_all(exp.Table)}
    return tuple(table.name for table in codebook.tables if table.name.lower() in named)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return None if isinstance(value, float) and value != value else value


def explained_stages(session: Session, staged: StagedStatement[Release], payment: Payment) -> Explanation:
    """What each stage would do and cost, and the price of all; nothing is read or spent."""
    if payment.is_open:
        one = Fraction(1)
        payment = replace(payment, epsilon=one) if session.filters.unit == "epsilon" else replace(payment, rho=one)
    plan = PlannedStages.of(session, staged, payment)
    parts = tuple(
        explain_statement(
            each, member.compiled, member.price, unit=session.unit.phrase, bounds=contribution(member.compiled)
        )
        for each, member in zip(staged.private, plan.members, strict=True)
    )
    public = not isinstance(staged.end, PrivateStatement)
    after = ("compute the rest from released values and public tables, exactly and free",) if public else ()
    last = parts[-1]
    notices = (*staged.notices, *(("a later stage compares with noisy values",) if len(parts) > 1 else ()))
    return replace(last, stages=parts, whole=f"costs {whole_loss(plan.prices)}", after=after, notices=notices)
