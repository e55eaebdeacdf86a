"""A second PostgreSQL role for the web process: it reads the ledger and appends requests, grants and the like, and cannot charge.

Rights alone cannot tell kinds of events apart, so a restrictive row policy does: whoever is bound to it may insert only the
kinds of `APPENDED`. Everybody else inserts and reads as before, so a ledger with the policy shows the same rows to all. The rule
is part of what `PostgresJournal.check` knows: any other policy is found.

Guarantee: a connection of the web role can write neither a reservation nor an answer, whatever runs in that process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from deniable.engines.postgres_server import PostgresServer, failure, psycopg_module
from deniable.errors import InvalidArgument, LedgerError
from deniable.ledger.chain import EventKind
from deniable.ledger.postgres_journal import SETTINGS, WEB_KINDS

APPENDED = tuple(EventKind(kind) for kind in WEB_KINDS)
"""What the web process writes: requests, grants, refusals, publications, who read what, proposals, and signatures."""


def web_role_statements(schema: str, role: str) -> Iterator[str]:
    """Every statement that makes `role` the web role of the ledger in `schema`; safe to run again."""
    for word, name in (("schema", schema), ("role", role)):
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name):
            raise InvalidArgument(f"a {word}'s name has small letters, digits and _ only, got {name!r}")
    kinds = ", ".join(f"'{kind.value}'" for kind in APPENDED)
    yield f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role}"
    yield f"GRANT USAGE ON SCHEMA {schema} TO {role}"
    yield f"GRANT SELECT ON {schema}.events, {schema}.answers TO {role}"
    yield f"GRANT INSERT ON {schema}.events TO {role}"
    for policy in ("ledger_read", "ledger_append", "ledger_web"):
        yield f"DROP POLICY IF EXISTS {policy} ON {schema}.events"
    yield f"CREATE POLICY ledger_read ON {schema}.events FOR SELECT TO PUBLIC USING (true)"
    yield f"CREATE POLICY ledger_append ON {schema}.events FOR INSERT TO PUBLIC WITH CHECK (true)"
    yield (
        f"CREATE POLICY ledger_web ON {schema}.events AS RESTRICTIVE FOR INSERT TO {role} "
        f"WITH CHECK (kind = ANY (ARRAY[{kinds}]))"
    )
    yield f"ALTER TABLE {schema}.events ENABLE ROW LEVEL SECURITY"


def grant_web_role(ledger: str, *, role: str) -> None:
    """Make `role` the web role of the ledger at this URL, whose own role owns it."""
    server = PostgresServer(ledger, own=("ledger",))
    schema = server.own.get("ledger", "deniable")
    statements = list(web_role_statements(schema, role))
    try:
        with server.connected(application="deniable ledger", settings=SETTINGS) as connection, connection.transaction():
            for statement in statements:
                connection.execute(statement.encode())
    except psycopg_module().Error as error:
        raise LedgerError(f"the web role cannot be set up at {server.place}: {failure(error)}") from None


def can_charge(web_ledger: str) -> bool:
    """Could this connection write a reservation or an answer? Asked of the server's own rules; nothing is written."""
    server = PostgresServer(web_ledger, own=("ledger",))
    schema = server.own.get("ledger", "deniable")
    query = (
        "SELECT pg_has_role(current_user, c.relowner, 'MEMBER') OR r.rolsuper OR r.rolbypassrls "
        "OR has_table_privilege(%(answers)s, 'INSERT') OR NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid "
        "AND p.polname = 'ledger_web' AND NOT p.polpermissive AND c.relrowsecurity AND EXISTS "
        "(SELECT FROM unnest(p.polroles) AS bound WHERE pg_has_role(current_user, bound, 'MEMBER'))) "
        "FROM pg_class c, pg_roles r WHERE c.oid = %(events)s::regclass AND r.rolname = current_user"
    )
    names = {"answers": f"{schema}.answers", "events": f"{schema}.events"}
    try:
        with server.connected(application="deniable ledger", settings=SETTINGS) as connection:
            row = connection.execute(query.encode(), names).fetchone()
    except psycopg_module().Error as error:
        raise LedgerError(f"the ledger {server.place} cannot be used: {failure(error)}") from None
    return row is None or bool(row[0])
