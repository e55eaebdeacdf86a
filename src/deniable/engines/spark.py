"""Spark, for tables that one machine does not hold: plans run on the cluster and only integers come back.

Needs Spark 4 with `spark.sql.ansi.enabled` true (without it, casts and sums go wrong silently) and the session time zone
UTC; both are looked at before every plan. Sums are DECIMAL(38, 0) made from BIGINT. Nothing is
collected but groups and joint vectors, unless a mechanism needs rows themselves.

A plan is one statement, however many medians, histograms and distinct counts it has: where there are any, the bounded rows
are read once, cached by Spark for as long as the statement runs, and all parts are collected together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import count
from typing import Any

from sqlglot import exp

from deniable.engines.conformance import conform
from deniable.engines.limit import HOUR, limit_seconds, stoppable
from deniable.engines.places import table_places
from deniable.engines.results import Fetched
from deniable.engines.sql.groups import Groups
from deniable.engines.sql.relations import Source
from deniable.engines.sql.sql_statement import Kept
from deniable.engines.sql.stored_cells import Physical
from deniable.engines.sql_engine import SqlEngine, fetched_columns
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real
from deniable.plan.codebook import Codebook
from deniable.plan.nodes import Distinct, GroupAgg, Histogram
from deniable.plan.profile import Profile
from deniable.plan.sql_trees import Tree, bigint, call, cast, column, number, paren, text
from deniable.plan.tables import Table
from deniable.plan.variable import Type, Variable

_OLDEST = 4
_ASKED = count()
_PLACE = "deniable_statement"
"""Which of the queries of one statement a row answers."""

_SETTINGS = {
    "spark.sql.ansi.enabled": ("true",),
    "spark.sql.session.timeZone": ("UTC", "Etc/UTC", "GMT", "Z", "+00:00"),
    "spark.sql.parser.escapedStringLiterals": ("false",),
    "spark.sql.ansi.doubleQuotedIdentifiers": ("false",),
}
_KINDS = {
    **dict.fromkeys(["tinyint", "smallint", "int", "bigint"], Physical.INTEGER),
    **dict.fromkeys(["float", "double"], Physical.REAL),
    "boolean": Physical.BOOLEAN,
    "date": Physical.DATE,
    "timestamp": Physical.TIMESTAMP,
    "timestamp_ntz": Physical.TIMESTAMP,
}


class SparkProfile(Profile):
    """Spark 4 under ANSI rules."""

    dialect = "spark"
    wide = "DECIMAL(38, 0)"

    def quotient(self, numerator: Tree, denominator: Tree) -> Tree:
        return exp.IntDiv(this=paren(numerator), expression=paren(denominator))

    def xor(self, left: Tree, right: Tree) -> Tree:
        return paren(exp.BitwiseXor(this=paren(left), expression=paren(right)))

    def matches(self, value: Tree, pattern: str) -> Tree:
        # In Java `$` also matches before a last line break; `\z` does not.
        whole = "\\A" + pattern.removeprefix("^").removesuffix("$") + "\\z"
        return paren(exp.RegexpLike(this=value.copy(), expression=text(whole)))

    def days(self, value: Tree) -> Tree:
        return bigint(call("UNIX_DATE", value))

    def microseconds(self, value: Tree) -> Tree:
        return call("UNIX_MICROS", value)

    def text_number(self, value: Tree) -> Tree:
        digits = call("SUBSTR", call("MD5", value), number(1), number(15))
        return bigint(call("CONV", digits, number(16), number(10)))

    def row_number(self) -> Tree:
        return call("MONOTONICALLY_INCREASING_ID")

    def gathered(self, rows: exp.Select, units: Sequence[str]) -> exp.Select:
        # The window that ranks would shuffle its input anyway; before the keyed hash is computed the rows are half as wide.
        rows.set("distribute", exp.Distribute(expressions=[column(name) for name in units]))
        return rows


class SparkEngine(SqlEngine):
    """Runs plans on a Spark cluster.

    `source` is a Spark session, whose tables have the codebook's names unless `tables` says otherwise, a Spark
    DataFrame, or DataFrames by the codebook's table names. `time_limit` is in seconds and public: every statement has as long.

    Guarantee: contributions are bounded after the last step that multiplies rows; no error depends on the data.
    """

    def __init__(
        self,
        source: Any,
        codebook: Codebook,
        *,
        key: bytes | int,
        tables: Sequence[str] | Mapping[str, str] | None = None,
        time_limit: Real = HOUR,
    ) -> None:
        super().__init__(codebook, SparkProfile(), key=key)
        seconds, self._seconds = (
            float(limit_seconds(time_limit)),
            float(HOUR),
        )  # the limit is for questions, not for the kit
        frames = _frames(source, codebook, tables)
        self._session = next(iter(frames.values())).sparkSession
        if any(frame.sparkSession is not self._session for frame in frames.values()):
            raise InvalidArgument("the Spark tables belong to different sessions; take all from one")
        self._check()
        self._views: dict[str, Any] = {}
        self._bounded, self._bounding = f"deniable_{id(self)}_bounded", ""
        self._profile.lacking = conform(self.name, self._profile, self._execute)
        self._seconds = seconds
        self._views = {f"deniable_{id(self)}_{i}": frames[table.name] for i, table in enumerate(codebook.tables)}
        names = dict(zip((table.name for table in codebook.tables), self._views, strict=True))
        self._bound = {table.name: _source(names[table.name], frames[table.name], table) for table in codebook.tables}

    @property
    def name(self) -> str:
        """The engine and its version, public."""
        return f"Spark {self._session.version}"

    @property
    def distributed(self) -> bool:
        """The rows stay on the cluster where the question can be asked there."""
        return True

    def _check(self) -> None:
        """Refuse a session in which SQL means something else."""
        if int(self._session.version.partition(".")[0]) < _OLDEST:
            raise InvalidArgument(f"{self.name} is too old; version {_OLDEST} or later is needed")
        for name, good in _SETTINGS.items():
            value = str(self._session.conf.get(name))
            if value not in good:
                raise InvalidArgument(f"{name} must be {good[0]}, got {value}; spark.conf.set({name!r}, {good[0]!r})")

    def _kept(self, plan: GroupAgg) -> Kept | None:
        """The bounded rows, for plans whose parts would each read and bound the rows again; this engine's lock is held."""
        if not any(isinstance(aggregate, Distinct | Histogram) for _, aggregate in plan.aggregates):
            return None
        kept, rows = Groups(plan, self._relations(), self._profile, self._key).bounded(self._bounded)
        self._bounding = self._text(rows)
        return kept

    def _fetch_all(self, texts: Sequence[str]) -> list[Fetched] | None:
        self._check()
        try:
            return self._together(texts)
        except Exception:  # py4j, Spark, Java, memory: whatever it is, its words may quote cells
            return None

    def _together(self, texts: Sequence[str]) -> list[Fetched]:
        views, cached = dict(self._views), None
        bounding, self._bounding = self._bounding, ""
        try:
            for name, frame in views.items():
                frame.createOrReplaceTempView(name)
            if bounding:
                cached = views[self._bounded] = self._session.sql(bounding).persist()
                cached.createOrReplaceTempView(self._bounded)
            return self._within_limit(texts)
        finally:
            for name in views:
                self._session.catalog.dropTempView(name)
            if cached is not None:
                cached.unpersist()

    def _within_limit(self, texts: Sequence[str]) -> list[Fetched]:
        """The rows of all queries, in one statement; at the limit, or when interrupted, its jobs are cancelled."""
        tag, context = f"deniable-{id(self)}-{next(_ASKED)}", self._session.sparkContext

        def work() -> list[Fetched]:
            context.addJobTag(tag)  # tags belong to the thread
            try:
                return _collected([self._frame(text) for text in texts])
            finally:
                context.removeJobTag(tag)

        return stoppable(work, lambda: context.cancelJobsWithTag(tag), seconds=self._seconds)

    def _frame(self, query: str) -> Any:
        frame = self._session.sql(query)
        # A timestamp would come back in the time zone of this process; without a zone it comes back as it is.
        moments = [name for name, kind in frame.dtypes if kind == "timestamp"]
        for name in moments:
            frame = frame.withColumn(name, frame[f"`{name.replace('`', '``')}`"].cast("timestamp_ntz"))
        return frame


def _collected(frames: Sequence[Any]) -> list[Fetched]:
    """The rows of each frame, collected at once: all of them in one table, with the number of the frame they belong to."""
    if len(frames) == 1:
        return [fetched_columns(frames[0].columns, [tuple(row) for row in frames[0].collect()])]
    numbered = [frame.selectExpr("*", f"{place} AS {_PLACE}") for place, frame in enumerate(frames)]
    rows = reduce(lambda above, below: above.unionByName(below, allowMissingColumns=True), numbered).collect()
    return [
        fetched_columns(frame.columns, [[row[name] for name in frame.columns] for row in rows if row[_PLACE] == place])
        for place, frame in enumerate(frames)
    ]


def _frames(source: Any, codebook: Codebook, tables: Sequence[str] | Mapping[str, str] | None) -> dict[str, Any]:
    names = [table.name for table in codebook.tables]
    if hasattr(source, "catalog"):
        return {name: _table(source, place) for name, place in table_places(codebook, tables).items()}
    if tables is not None:
        raise InvalidArgument("tables= goes with a Spark session; DataFrames are given by name already")
    frames = source if isinstance(source, Mapping) else dict.fromkeys(names[:1], source)
    if set(frames) != set(names):
        raise InvalidArgument(f"the codebook has tables {', '.join(names)}, got {', '.join(map(str, frames))}")
    return dict(frames)


def _table(session: Any, place: str) -> Any:
    try:
        return session.table(place)
    except Exception:  # Spark's own words are long and may quote more than the name
        raise InvalidArgument(f"Spark has no table {place!r}; spark.table({place!r}) must work") from None


def _source(view: str, frame: Any, table: Table) -> Source:
    types = dict(frame.dtypes)
    cells = {}
    for variable in table.variables:
        if variable.name not in types or sum(name.lower() == variable.name.lower() for name in frame.columns) > 1:
            raise InvalidArgument(f"table {table.name}: the data has no single column {variable.name!r}")
        cells[variable.name] = _cell(variable, types[variable.name], table)
    return Source(exp.to_table(view), cells)


def _cell(variable: Variable, kind: str, table: Table) -> tuple[Tree, Physical]:
    """The raw cell of a column, made one of the kinds the reading rules know."""
    cell = column(variable.name)
    if kind.startswith(("string", "varchar", "char")):
        return cast(cell, "TEXT"), Physical.TEXT  # the cast also drops a collation the column may have
    if kind.startswith("decimal"):
        width, scale = (int(part) for part in kind[8:-1].split(","))
        if scale and variable.type in (Type.NUMBER, Type.DECIMAL):
            return cast(cell, "DOUBLE"), Physical.REAL
        if scale:
            return cell, Physical.DECIMAL
        return (bigint(cell), Physical.INTEGER) if width <= 18 else (cell, Physical.WIDE)
    if kind == "timestamp_ntz":
        return cast(cell, "TIMESTAMP"), Physical.TIMESTAMP
    if kind not in _KINDS:
        raise InvalidArgument(
            f"table {table.name}: column {variable.name!r} has type {kind}, which deniable does not read; "
            "leave it out of the codebook or store it as another type"
        )
    return (cast(cell, "DOUBLE") if kind == "float" else cell), _KINDS[kind]
