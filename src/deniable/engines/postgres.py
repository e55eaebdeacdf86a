"""PostgreSQL: plans run where the data lives, read-only, each over one snapshot, and only integers come back.

Settings that change what SQL means (time zone, date style, search path) are set for every connection. Plain tables,
partitioned tables and materialized views are read; a plain view is refused, because what it computes may mix people
or fail on a cell. Columns are typed by the catalogue, never by their cells. Needs PostgreSQL 14 and UTF8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Any, TypeAlias

from sqlglot import exp

from deniable.engines.conformance import conform
from deniable.engines.limit import HOUR, limit_seconds
from deniable.engines.places import table_places
from deniable.engines.postgres_server import PostgresServer, failure, psycopg_module
from deniable.engines.results import Fetched
from deniable.engines.sql.relations import Source
from deniable.engines.sql.sql_statement import SqlStatement
from deniable.engines.sql.stored_cells import Physical
from deniable.engines.sql_engine import SqlEngine, fetched_columns
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real
from deniable.plan.codebook import Codebook
from deniable.plan.profile import Profile
from deniable.plan.sql_trees import Tree, bigint, binary, both, call, case, cast, column, number, paren, text
from deniable.plan.tables import Table
from deniable.plan.variable import Type, Variable

Ask: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""A question to the catalogue: a query and its values in, rows out."""

_OLDEST = 140_000
_SETTINGS = {
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "repeatable\\ read",
    "search_path": "pg_catalog",
    "TimeZone": "UTC",
    "DateStyle": "ISO,YMD",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "idle_in_transaction_session_timeout": "600s",
    "jit": "off",
    # Fences hide statistics, so joins are taken for tiny, and an inner side would be computed anew for each outer row.
    # Our joins are equalities between whole relations: hashing and sorting need both sides once, whatever the estimate.
    "enable_nestloop": "off",
}
_KINDS = {
    **dict.fromkeys(["int2", "int4", "int8"], Physical.INTEGER),
    **dict.fromkeys(["float4", "float8"], Physical.REAL),
    **dict.fromkeys(["text", "varchar", "bpchar", "name", "citext", "uuid", "enum"], Physical.TEXT),
    "numeric": Physical.DECIMAL,
    "bool": Physical.BOOLEAN,
    "date": Physical.DATE,
    "timestamp": Physical.TIMESTAMP,
    "timestamptz": Physical.TIMESTAMP,
}
_TINY = 1e-290
"""Smaller doubles are zero on every grid; PostgreSQL would raise when dividing them makes them vanish."""


class PostgresProfile(Profile):
    """PostgreSQL 14 and later."""

    dialect = "postgres"
    wide = "DECIMAL(38, 0)"

    def wide_sum(self, value: Tree) -> Tree:
        return exp.Sum(this=value)  # numeric by itself, of any size

    def quotient(self, numerator: Tree, denominator: Tree) -> Tree:
        return exp.Div(this=paren(numerator), expression=paren(denominator), typed=True)

    def wide_quotient(self, numerator: Tree, denominator: Tree) -> Tree:
        return bigint(call("DIV", numerator, denominator))  # of numerics; a plain `/` of them is not whole

    def sortable(self, value: Tree) -> Tree:
        return paren(exp.Collate(this=paren(value), expression=exp.to_identifier("C", quoted=True)))

    def xor(self, left: Tree, right: Tree) -> Tree:
        return paren(exp.BitwiseXor(this=paren(left), expression=paren(right)))

    def matches(self, value: Tree, pattern: str) -> Tree:
        return paren(exp.RegexpLike(this=value.copy(), expression=text(pattern)))

    def days(self, value: Tree) -> Tree:
        return bigint(exp.Sub(this=paren(value), expression=cast(text("1970-01-01"), "DATE")))

    def microseconds(self, value: Tree) -> Tree:
        seconds = exp.Extract(this=exp.var("EPOCH"), expression=value)  # numeric since version 14, so exact
        return bigint(exp.Mul(this=seconds, expression=number(1_000_000)))

    def text_number(self, value: Tree) -> Tree:
        digits = call("substr", call("md5", value), number(1), number(15))
        bits = exp.DataType.build("BIT(60)", dialect="postgres")
        return bigint(exp.Cast(this=exp.DPipe(this=text("x"), expression=digits), to=bits))


class PostgresEngine(SqlEngine):
    """Runs plans in a PostgreSQL database.

    `tables` says where the codebook's tables are: names in order of the codebook or a mapping from its names, each
    `table` (in schema public) or `schema.table`; without it they have the codebook's names. `time_limit` is in seconds
    and public: every statement has as long.

    Guarantee: contributions are bounded after the last step that multiplies rows; nothing is written; no error
    depends on the data.
    """

    def __init__(
        self,
        url: str,
        codebook: Codebook,
        *,
        key: bytes | int,
        tables: Sequence[str] | Mapping[str, str] | None = None,
        time_limit: Real = HOUR,
    ) -> None:
        super().__init__(codebook, PostgresProfile(), key=key)
        self._settings = {**_SETTINGS, "statement_timeout": f"{ceil(limit_seconds(time_limit) * 1000)}ms"}
        self._server = PostgresServer(url)
        with self._catalogue() as ask:
            self._version = _checked_version(ask)
            places = table_places(codebook, tables)
            bound = {table.name: self._source(ask, table, places[table.name]) for table in codebook.tables}
        self._profile.lacking = conform(self.name, self._profile, self._execute)
        self._bound = bound

    @property
    def name(self) -> str:
        """The engine and its version, public."""
        return f"PostgreSQL {self._version}"

    def _text(self, statement: SqlStatement) -> str:
        return fenced(statement.tree).sql(dialect=self._profile.dialect, comments=False)

    def _fetch_all(self, texts: Sequence[str]) -> list[Fetched] | None:
        library = psycopg_module()
        try:
            with self._server.connected(application="deniable", settings=self._settings) as connection:
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                cursors = [connection.execute(text_.encode()) for text_ in texts]
                return [
                    fetched_columns([c.name for c in cursor.description or ()], cursor.fetchall()) for cursor in cursors
                ]
        except (library.Error, MemoryError, ValueError, OverflowError):
            return None

    @contextmanager
    def _catalogue(self) -> Iterator[Ask]:
        """Questions to the catalogue. They come before any data is touched, so a failure may be told, in our words."""
        library = psycopg_module()
        try:
            with self._server.connected(application="deniable", settings=self._settings) as connection:
                yield lambda query, *values: list(connection.execute(query.encode(), values).fetchall())
        except library.Error as error:
            told = f"the database {self._server.place} cannot be used: {failure(error)}"
        else:
            return
        raise InvalidArgument(told)

    def _source(self, ask: Ask, table: Table, place: str) -> Source:
        schema, name = place.rpartition(".")[0] or "public", place.rpartition(".")[2]
        found = ask(
            "SELECT c.relkind::text, has_table_privilege(c.oid, 'SELECT') FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s",
            schema,
            name,
        )
        shown = f"{schema}.{name}"
        if not found:
            raise InvalidArgument(f"table {table.name}: there is no {shown} in {self._server.place}")
        if found[0][0] not in ("r", "p", "m"):
            raise InvalidArgument(
                f"table {table.name}: {shown} is not stored data; use the tables behind it or a materialized view"
            )
        if not found[0][1]:
            raise InvalidArgument(f"table {table.name}: this role may not read it; GRANT SELECT ON {shown}")
        types: dict[str, str] = dict(ask(_COLUMNS, schema, name))
        cells = {}
        for variable in table.variables:
            if variable.name not in types:
                raise InvalidArgument(f"table {table.name}: {shown} has no column {variable.name!r}")
            cells[variable.name] = _cell(variable, types[variable.name], table)
        relation = exp.Table(this=exp.to_identifier(name, quoted=True), db=exp.to_identifier(schema, quoted=True))
        return Source(relation, cells)


def _checked_version(ask: Ask) -> str:
    ((version, numbered, encoding),) = ask(
        "SELECT current_setting('server_version'), current_setting('server_version_num')::int, "
        "current_setting('server_encoding')"
    )
    if numbered < _OLDEST:
        raise InvalidArgument(f"PostgreSQL {version} is too old; version 14 or later is needed")
    if encoding != "UTF8":
        raise InvalidArgument(f"the database has encoding {encoding}; UTF8 is needed")
    return str(version).partition(" ")[0]


_COLUMNS = """WITH RECURSIVE base AS (
 SELECT a.attname, t.typname, t.typtype, t.typbasetype FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
 WHERE a.attrelid = (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = %s AND c.relname = %s) AND a.attnum > 0 AND NOT a.attisdropped
 UNION ALL SELECT b.attname, t.typname, t.typtype, t.typbasetype FROM base b JOIN pg_type t ON t.oid = b.typbasetype
 WHERE b.typtype = 'd')
SELECT attname::text, CASE WHEN typtype = 'e' THEN 'enum' ELSE typname::text END FROM base WHERE typtype <> 'd'"""


def _cell(variable: Variable, kind: str, table: Table) -> tuple[Tree, Physical]:
    """The raw cell of a column, made one of the kinds the reading rules know, and total."""
    cell = column(variable.name)
    match _KINDS.get(kind):
        case Physical.TEXT:
            # Whatever the column's own collation: texts are equal when their characters are, ordered by code point.
            return PostgresProfile().sortable(cast(cell, "TEXT")), Physical.TEXT
        case Physical.REAL:
            real = cast(cell, "DOUBLE")
            profile = PostgresProfile()
            tiny = both(binary(exp.GT, real, profile.real(-_TINY)), binary(exp.LT, real.copy(), profile.real(_TINY)))
            return case([(tiny, profile.real(0.0))], real.copy()), Physical.REAL
        case Physical.DECIMAL:
            return _decimal(cell, variable)
        case Physical.BOOLEAN if variable.type.numeric:
            return bigint(cast(cell, "INT")), Physical.INTEGER
        case Physical.TIMESTAMP if kind == "timestamptz":
            return paren(exp.AtTimeZone(this=cell, zone=text("UTC"))), Physical.TIMESTAMP
        case None:
            raise InvalidArgument(
                f"table {table.name}: column {variable.name!r} has type {kind}, which deniable does not read; "
                "leave it out of the codebook or store it as another type"
            )
        case physical:
            return cell, physical


def _decimal(cell: Tree, variable: Variable) -> tuple[Tree, Physical]:
    """A numeric of any size; as a double where a grid is declared, missing where no double is near."""
    if variable.type not in (Type.NUMBER, Type.DECIMAL):
        return cell, Physical.DECIMAL
    beyond = 2**1024 - 2**970  # from here on the nearest double is infinite
    size = exp.Abs(this=cell)
    tiny = binary(exp.LT, size, exp.Literal.number(f"{_TINY:.300f}"))
    near = binary(exp.LT, size.copy(), exp.Literal.number(str(beyond)))
    zero = PostgresProfile().real(0.0)
    return case([(tiny, zero), (near, cast(cell.copy(), "DOUBLE"))]), Physical.REAL


def fenced(tree: exp.Expression) -> exp.Expression:
    """The same query, with a fence around each stage that computes something.

    PostgreSQL would otherwise put the stages into one another and compute what a later stage uses twice twice, and what
    that uses twice four times. `OFFSET 0` changes no row and keeps a stage as it is.
    """
    tree = tree.copy()
    for subquery in tree.find_all(exp.Subquery):
        stage = subquery.this
        if isinstance(stage, exp.Select) and any(not _is_plain(entry) for entry in stage.expressions):
            stage.set("offset", exp.Offset(expression=exp.Literal.number("0")))
    return tree


def _is_plain(entry: exp.Expression) -> bool:
    return isinstance(entry.unalias(), exp.Column | exp.Literal | exp.Star)
