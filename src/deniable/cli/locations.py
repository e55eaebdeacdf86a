"""Where data and ledgers are, in words of the shell: a file, a `postgresql://` URL, or `env:NAME` for a URL kept in a variable.

Guarantee: what a URL says about who logs in is in no error of a command.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from deniable.engines.places import is_postgres
from deniable.errors import InvalidArgument

_VARIABLE = "env:"
_HIDDEN = "…"
_URL = re.compile(r"(?:\bpostgres\w*:|[A-Za-z][\w+.-]+://).*", re.IGNORECASE | re.DOTALL)
_LOGIN = re.compile(r":/*(.*)@|[?&](?:user|password)=([^&]*)", re.DOTALL)


def place(word: str) -> str:
    """The file or URL a word stands for."""
    if not word.startswith(_VARIABLE):
        return word
    name = word.removeprefix(_VARIABLE)
    found = os.environ.get(name)
    if found is None:
        raise InvalidArgument(f"there is no environment variable {name!r}; set it to a postgresql:// URL")
    if not is_postgres(found):
        raise InvalidArgument(f"the environment variable {name!r} must hold a postgresql:// URL")
    return found


def table_places(words: str | None) -> list[str] | dict[str, str] | None:
    """`orders,sales.customers` as a list; `orders=sales.orders_2024,customers=sales.customers` by the codebook's names."""
    if words is None:
        return None
    parts = [part.strip() for part in words.split(",")]
    named = [part.partition("=") for part in parts if "=" in part]
    if not all(parts) or (named and len(named) < len(parts)) or not all(name and at for name, _, at in named):
        raise InvalidArgument(
            f"--tables is written sales.orders,sales.people or orders=sales.orders,people=sales.people; got {words!r}"
        )
    return {name.strip(): at.strip() for name, _, at in named} if named else parts


def without_logins(message: str, words: Iterable[str]) -> str:
    """A message without the logins of the URLs among these words."""
    logins = {login for word in words for login in _logins(word) if login}
    for login in sorted(logins, key=len, reverse=True):
        message = message.replace(login, _HIDDEN)
    return message


def _logins(word: str) -> Iterator[str]:
    """What the URL in a word says about who logs in: `user:password` and the password, as written and as meant."""
    url = _URL.search(word)
    for whole, parameter in _LOGIN.findall(url.group() if url else ""):
        for written in (whole, whole.partition(":")[2], parameter):
            yield from (written, unquote(written))
