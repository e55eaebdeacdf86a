"""A PostgreSQL server by its URL. Where it is may be shown; who logs in and how is never shown.

Guarantee: no user name, password or word of the server leaves through a repr or an error; a failure is a class of failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from deniable.engines.places import is_postgres
from deniable.errors import InvalidArgument

if TYPE_CHECKING:
    import psycopg

_WAIT = 20
"""Seconds to wait for a connection."""


class PostgresServer:
    """One database of a server; `own` are the parameters of the URL that are ours and not PostgreSQL's."""

    __slots__ = ("_conninfo", "_options", "own", "place")

    def __init__(self, url: str, *, own: tuple[str, ...] = ()) -> None:
        library = psycopg_module()
        plain, self.own = _split(url, own)
        try:
            parts = library.conninfo.conninfo_to_dict(plain)
        except library.Error:
            parts = None
        if parts is None or _misread(plain, parts):
            raise InvalidArgument(
                "the PostgreSQL URL cannot be read; expected postgresql://user@host:port/database, special characters "
                "in a password written as %XX"
            )
        self._conninfo, self._options = plain, str(parts.get("options") or "")
        self.place = _place(parts, library)

    @contextmanager
    def connected(self, *, application: str, settings: Mapping[str, str]) -> Iterator[psycopg.Connection[Any]]:
        """A connection with these settings, closed at the end; errors pass through for the caller to translate."""
        library = psycopg_module()
        options = " ".join([self._options, *(f"-c {name}={value}" for name, value in settings.items())])
        connection = library.connect(
            self._conninfo,
            autocommit=True,
            connect_timeout=_WAIT,
            application_name=application,
            options=options,
            client_encoding="UTF8",
            prepare_threshold=None,
        )
        try:
            yield connection
        finally:
            connection.close()

    def __repr__(self) -> str:
        return f"PostgresServer({self.place!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a PostgresServer holds credentials: it cannot be copied or pickled")


def psycopg_module() -> Any:
    """The driver, or what to install."""
    try:
        import psycopg
        import psycopg.conninfo
    except ModuleNotFoundError:
        raise InvalidArgument("PostgreSQL needs a driver; install it with: pip install 'deniable[postgres]'") from None
    return psycopg


def failure(error: Exception) -> str:
    """What kind of failure this is, in our words: the server's own may quote cells, names or credentials."""
    code = getattr(error, "sqlstate", None)
    if code is None:
        return "it cannot be reached or refused the login; check the URL, the password and the network"
    kinds = {
        "3F": "something is missing or not permitted; ask the curator for the rights this needs",
        "42": "something is missing or not permitted; ask the curator for the rights this needs",
        "25": "it only allows reading; use the primary server and a role that may write",
        "53": "it has run out of disk, memory or connections",
        "55": "it was busy for too long; nothing was changed, try again",
        "57": "it is shutting down or cancelled the statement; try again",
    }
    return kinds.get(str(code)[:2], f"it answered with error class {str(code)[:2]}")


def _split(url: str, own: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """The URL without our own parameters, and those."""
    if not is_postgres(url):
        raise InvalidArgument("a PostgreSQL URL starts with postgresql://")
    base, mark, query = url.partition("?")
    pairs = [part.partition("=") for part in query.split("&") if part]
    kept = "&".join("".join(pair) for pair in pairs if pair[0] not in own)
    found = {name: unquote(value) for name, _, value in pairs if name in own}
    return base + (mark + kept if kept else ""), found


def _misread(url: str, parts: Mapping[str, Any]) -> bool:
    """Whether a password with a plain `/` was taken for a host, a port and a database, which are shown."""
    path = url.partition("://")[2].partition("?")[0].partition("/")[2]
    return "@" in path or not re.fullmatch("[0-9,]*", str(parts.get("port") or ""))


def _place(parts: Mapping[str, Any], library: Any) -> str:
    """Host, port and database, as given or as the environment has them."""
    defaults = {
        entry.keyword.decode(): entry.val.decode()
        for entry in library.pq.Conninfo.get_defaults()
        if entry.val is not None
    }
    host = str(parts.get("host") or parts.get("hostaddr") or defaults.get("host", "localhost"))
    port = str(parts.get("port") or defaults.get("port", "5432"))
    database = str(parts.get("dbname") or defaults.get("dbname", ""))
    return f"postgresql://{quote(host, safe=',.:[]')}:{port}/{quote(database)}"
