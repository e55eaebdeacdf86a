"""What a server serves, to whom and how: one YAML file, checked whole before anything starts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from deniable.accounting import Budget, budget
from deniable.deciding.yaml_records import yaml_record
from deniable.engines.places import is_postgres
from deniable.errors import InvalidArgument
from deniable.exact.guards import integer, nonnegative, positive, probability
from deniable.plan.codebook import Codebook
from deniable.server.letters import MailServer
from deniable.server.single_sign_on import Provider


class Role(Enum):
    """What a person may do."""

    OWNER = "owner"
    CURATOR = "curator"
    ALLOCATOR = "allocator"
    ANALYST = "analyst"
    AUDITOR = "auditor"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedData:
    """One data set by reference: where its rows, its codebook and its budget are. Rows are opened by the worker alone.

    `source` is a file or a URL, or a file for each table. `web_ledger` is the same ledger through a database role that
    cannot charge; without it the web part uses `ledger`.
    """

    name: str
    source: str | Mapping[str, str]
    codebook: Codebook
    ledger: str
    budget: Budget
    web_ledger: str = ""

    @property
    def counter_ledger(self) -> str:
        """Where the web part finds the ledger."""
        return self.web_ledger or self.ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody the server knows, with roles that hold for the named data sets (all of them unless some are named)."""

    name: str
    roles: frozenset[Role]
    datasets: frozenset[str] | None = None
    mail: str = ""

    def may(self, dataset: str, *roles: Role) -> bool:
        """Has one of these roles for this data set?"""
        return (self.datasets is None or dataset in self.datasets) and not self.roles.isdisjoint(roles)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Everything a server needs to know. Paths are absolute."""

    folder: Path
    bind: str
    port: int
    public_url: str
    tick: Fraction
    pad: int
    rate: int
    longest_grant: int
    data: Mapping[str, ServedData]
    people: Mapping[str, Person]
    provider: Provider | None = None
    webhooks: tuple[tuple[str, bytes], ...] = ()
    """Addresses that are told when a request moves on, each with the secret that signs its messages."""
    mail: MailServer | None = None
    """The server that sends e-mail, if any is sent."""
    schedules: tuple[Mapping[str, Any], ...] = ()
    """Questions that are filed again in every period, as arguments of a `Schedule`."""

    @property
    def host(self) -> str:
        """The host name of the public URL."""
        return urlsplit(self.public_url).hostname or ""

    @property
    def secure(self) -> bool:
        """Do browsers reach it by https?"""
        return urlsplit(self.public_url).scheme == "https"

    @property
    def tokens(self) -> Path:
        """Where the hashes of tokens are kept."""
        return self.folder / "tokens.json"

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, behind_tls: bool = False, web_only: bool = False) -> ServerSettings:
        """The settings in a YAML file; one line says what is wrong.

        `web_only`: as a process sees them that has neither the data nor the ledger's own role; both stay unread.
        """
        base = Path(path).resolve().parent
        return _settings(yaml_record(path, "server configuration"), base, behind_tls, web_only)


_KNOWN = {
    "format",
    "bind",
    "port",
    "public_url",
    "state",
    "tick_seconds",
    "pad_bytes",
    "requests_per_minute",
    "longest_grant_days",
}


def _settings(record: Mapping[str, Any], base: Path, behind_tls: bool, web_only: bool) -> ServerSettings:
    unknown = sorted(set(map(str, record)) - _KNOWN - {"data", "people", "oidc", "webhooks", "schedules", "mail"})
    if unknown:
        raise InvalidArgument(
            f"the server configuration has no {unknown[0]!r}; it has {', '.join(sorted(_KNOWN))}, data, people"
        )
    bind, port = str(record.get("bind", "127.0.0.1")), integer(port=record.get("port", 8000), least=1, greatest=65535)
    url = str(record.get("public_url", f"http://127.0.0.1:{port}"))
    _checked_places(bind, url, behind_tls)
    data = _mapping(record, "data")
    people = _mapping(record, "people")
    served = {name: _data(str(name), entry, base, web_only) for name, entry in data.items()}
    known = {name: _person(str(name), entry, served) for name, entry in people.items()}
    return ServerSettings(
        folder=base / str(record.get("state", "state")),
        bind=bind,
        port=port,
        public_url=url,
        tick=nonnegative(tick_seconds=record.get("tick_seconds", 1)),
        pad=integer(pad_bytes=record.get("pad_bytes", 4096), least=1),
        rate=integer(requests_per_minute=record.get("requests_per_minute", 120), least=1),
        longest_grant=integer(longest_grant_days=record.get("longest_grant_days", 90), least=1),
        data=served,
        people=known,
        provider=None if "oidc" not in record else _provider(record["oidc"]),
        webhooks=_webhooks(record.get("webhooks", [])),
        mail=None if "mail" not in record else _mail(record["mail"]),
        schedules=_schedules(record.get("schedules", {}), served, known),
    )


def _checked_places(bind: str, url: str, behind_tls: bool) -> None:
    """A public address is https, and only a proxy that speaks TLS may stand before an address beyond loopback."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.username:
        raise InvalidArgument(f"public_url is written https://host or http://127.0.0.1:8000, got {url!r}")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise InvalidArgument(f"public_url must be https unless it is on this machine, got {url!r}")
    if re.fullmatch(r"[^:]+:\d+", bind):
        address, port = bind.split(":")
        raise InvalidArgument(
            f"bind is an address without a port, got {bind!r}; write bind: {address} and port: {port}"
        )
    if not _is_loopback(bind) and not behind_tls:
        raise InvalidArgument(f"bind {bind!r} is beyond this machine: put a TLS proxy before it and say --behind-tls")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _provider(stated: Any) -> Provider:
    """The identity provider; its secret is in an environment variable, never in the file."""
    if not isinstance(stated, Mapping) or not {"issuer", "client_id", "client_secret"} <= set(stated) <= {
        "issuer",
        "client_id",
        "client_secret",
        "claim",
    }:
        raise InvalidArgument("oidc needs issuer, client_id and client_secret (env:NAME), and may have claim")
    issuer, word = str(stated["issuer"]), str(stated["client_secret"])
    parts = urlsplit(issuer)
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(parts.hostname or "")):
        raise InvalidArgument(f"oidc.issuer must be https unless it is on this machine, got {issuer!r}")
    found = os.environ.get(word[4:]) if word.startswith("env:") else None
    if not found:
        raise InvalidArgument("oidc.client_secret is written env:NAME, and that variable holds the secret")
    claim = str(stated.get("claim", "sub"))
    return Provider(issuer=issuer, client_id=str(stated["client_id"]), client_secret=found, claim=claim)


def _webhooks(stated: Any) -> tuple[tuple[str, bytes], ...]:
    """Addresses by https with a secret from the environment, of at least 16 characters."""
    if not isinstance(stated, list) or not all(
        isinstance(hook, Mapping) and set(hook) == {"url", "secret"} for hook in stated
    ):
        raise InvalidArgument("webhooks is a list of {url: https://..., secret: env:NAME}")
    found = []
    for hook in stated:
        url, word = str(hook["url"]), str(hook["secret"])
        parts = urlsplit(url)
        if parts.username or not (
            parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname or ""))
        ):
            raise InvalidArgument(f"a webhook's url must be https unless it is on this machine, got {url!r}")
        secret = os.environ.get(word[4:], "") if word.startswith("env:") else ""
        if len(secret) < 16:
            raise InvalidArgument(
                "a webhook's secret is written env:NAME, and that variable holds at least 16 characters"
            )
        found.append((url, secret.encode()))
    return tuple(found)


_ADDRESS = re.compile(r"[^\s@<>,;:\"]+@[^\s@<>,;:\"]+")


def _mail(stated: Any) -> MailServer:
    """An SMTP server; its password is in an environment variable, and leaves this machine under TLS only."""
    fields = {"server", "port", "sender", "tls", "user", "password"}
    if not isinstance(stated, Mapping) or not {"server", "sender"} <= set(stated) <= fields:
        raise InvalidArgument("mail needs server and sender, and may have port, tls, user and password (env:NAME)")
    host, tls, sender = str(stated["server"]), str(stated.get("tls", "starttls")), str(stated["sender"])
    if tls not in ("starttls", "tls") and not (tls == "none" and _is_loopback(host)):
        raise InvalidArgument(f"mail.tls is starttls or tls, and none only for a server on this machine; got {tls!r}")
    if not _ADDRESS.fullmatch(sender):
        raise InvalidArgument(f"mail.sender is one address, got {sender!r}")
    word, secret = str(stated.get("password", "")), ""
    if ("user" in stated) != bool(word):
        raise InvalidArgument("mail.user and mail.password go together")
    if word:
        secret = os.environ.get(word[4:], "") if word.startswith("env:") else ""
        if not secret:
            raise InvalidArgument("mail.password is written env:NAME, and that variable holds the password")
    port = integer(port=stated.get("port", 465 if tls == "tls" else 587), least=1, greatest=65535)
    return MailServer(host=host, port=port, sender=sender, tls=tls, user=str(stated.get("user", "")), password=secret)


def _schedules(
    stated: Any, data: Mapping[str, ServedData], people: Mapping[str, Person]
) -> tuple[Mapping[str, Any], ...]:
    """Questions by name, each of an analyst of its data set, with one amount and a period."""
    if not isinstance(stated, Mapping):
        raise InvalidArgument("schedules is written name: {data, account, sql, epsilon or rho, purpose, every}")
    found = []
    for name, entry in stated.items():
        fields = {"data", "account", "sql", "purpose", "every"}
        amounts = {"epsilon", "rho"} & set(entry) if isinstance(entry, Mapping) else set()
        if len(amounts) != 1 or set(entry) != fields | amounts or not str(name).replace("-", "").isalnum():
            raise InvalidArgument(f"schedules.{name} needs data, account, sql, epsilon or rho, purpose and every")
        if entry["every"] not in ("day", "week", "month"):
            raise InvalidArgument(f"schedules.{name}.every is day, week or month, got {entry['every']!r}")
        person = people.get(str(entry["account"]))
        if entry["data"] not in data or person is None or not person.may(entry["data"], Role.ANALYST):
            raise InvalidArgument(f"schedules.{name} needs a served data set and one of its analysts as account")
        amount = next(iter(amounts))
        payment = {amount: positive(**{amount: Fraction(str(entry[amount]))})}
        found.append({**{key: str(entry[key]) for key in fields}, "name": str(name), "payment": payment})
    return tuple(found)


def _mapping(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = record.get(name)
    if not isinstance(found, Mapping) or not found:
        raise InvalidArgument(f"the server configuration needs {name}: with at least one entry")
    return found


def _data(name: str, entry: Any, base: Path, web_only: bool) -> ServedData:
    needed = {"source", "codebook", "ledger", "budget"}
    if not isinstance(entry, Mapping) or not needed <= set(entry) <= {*needed, "web_ledger"}:
        raise InvalidArgument(f"data.{name} needs source, codebook, ledger and budget, and may have web_ledger")
    if not name.replace("_", "").replace("-", "").isalnum() or not name.isascii():
        raise InvalidArgument(f"a data set's name has letters, digits, - and _ only, got {name!r}")
    book = Codebook.load(base / str(entry["codebook"]))
    if book.unit is None:
        raise InvalidArgument(f"data.{name}: the codebook names no unit, so nobody would be protected")
    web = _web_ledger(name, entry.get("web_ledger"), base)
    if web_only and not web:
        raise InvalidArgument(f"data.{name} needs a web_ledger where the web part runs alone")
    return ServedData(
        name=name,
        source="" if web_only else _source(name, entry["source"], base, book),
        codebook=book,
        ledger=web if web_only else _place(str(entry["ledger"]), base),
        budget=_budget(name, entry["budget"]),
        web_ledger=web,
    )


def _source(name: str, stated: Any, base: Path, book: Codebook) -> str | dict[str, str]:
    """Where the rows are: one place, or a file for each table of the codebook."""
    tables = [table.name for table in book.tables]
    if isinstance(stated, Mapping) and set(map(str, stated)) == set(tables):
        return {str(table): str(base / str(path)) for table, path in stated.items()}
    place = "" if isinstance(stated, Mapping) else _place(str(stated), base)
    if isinstance(stated, Mapping) or (len(tables) > 1 and not is_postgres(place)):
        each = ", ".join(f"{table}: {table}.csv" for table in tables)
        raise InvalidArgument(f"data.{name}.source names a file for each table of its codebook: {{{each}}}")
    return place


def _web_ledger(name: str, word: Any, base: Path) -> str:
    if word is None:
        return ""
    place = _place(str(word), base)
    if not is_postgres(place):
        raise InvalidArgument(
            f"data.{name}.web_ledger is a postgresql:// URL: only there can a role be kept from charging"
        )
    return place


def _place(word: str, base: Path) -> str:
    """A file beside the configuration, a URL, or `env:NAME` for a URL in a variable."""
    if word.startswith("env:"):
        found = os.environ.get(word[4:])
        if found is None or not is_postgres(found):
            raise InvalidArgument(f"the environment variable {word[4:]!r} must hold a postgresql:// URL")
        return found
    return word if is_postgres(word) else str(base / word)


def _budget(name: str, stated: Any) -> Budget:
    if not isinstance(stated, Mapping) or not set(stated) <= {"epsilon", "delta", "rho"} or not stated:
        raise InvalidArgument(f"data.{name}.budget is written {{epsilon: 1, delta: 1e-7}} or {{rho: 0.1, delta: 1e-7}}")
    amounts = {
        key: Fraction(str(value)) if key != "delta" else probability(delta=float(value))
        for key, value in stated.items()
    }
    for key in ("epsilon", "rho"):
        if key in amounts:
            positive(**{key: amounts[key]})
    return budget(**amounts)


def _person(name: str, entry: Any, data: Mapping[str, ServedData]) -> Person:
    if not isinstance(entry, Mapping) or not {"roles"} <= set(entry) <= {"roles", "datasets", "mail"}:
        raise InvalidArgument(f"people.{name} needs roles: [...], and may have datasets: [...] and mail")
    if not (name.isprintable() and name.replace("-", "").replace("_", "").replace(".", "").isalnum()):
        raise InvalidArgument(f"a person's name has letters, digits, ., - and _ only, got {name!r}")
    try:
        roles = frozenset(Role(role) for role in entry["roles"])
    except ValueError:
        raise InvalidArgument(f"people.{name}.roles are among {', '.join(role.value for role in Role)}") from None
    named = entry.get("datasets")
    unknown = sorted(set(named or ()) - set(data))
    if unknown:
        raise InvalidArgument(f"people.{name} names the data set {unknown[0]!r}, which is not served")
    mail = str(entry.get("mail", ""))
    if mail and not _ADDRESS.fullmatch(mail):
        raise InvalidArgument(f"people.{name}.mail is one address, got {mail!r}")
    return Person(name=name, roles=roles, datasets=None if named is None else frozenset(named), mail=mail)
