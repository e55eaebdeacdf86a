"""`%%dpsql` in a notebook: a cell of SQL asked of a session, charged to its budget, the release shown as a table.

`%load_ext deniable` makes it known. IPython is not needed by anything else here, and nothing of it is imported before that.
"""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from deniable.errors import DeniableError, InvalidArgument
from deniable.query.sql import Explanation
from deniable.release.answer import Release
from deniable.release.session import Session


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidArgument(f"{message}; write %%dpsql session --epsilon 0.5, then the query")


def _arguments() -> _Arguments:
    parser = _Arguments(prog="%%dpsql", add_help=False)
    parser.add_argument("session", nargs="?", default="session")
    for name in ("--epsilon", "--rho", "--delta", "--dialect", "--request", "--into"):
        parser.add_argument(name)
    return parser


def load_ipython_extension(shell: Any) -> None:
    """Make `%%dpsql` known to a notebook; called by `%load_ext deniable`.

    Guarantee: a cell is charged exactly as `session.sql` charges its text; running the cell again shows the stored answer.
    """

    def dpsql(line: str, cell: str) -> Release | Explanation:
        """Ask a session: %%dpsql [session] [--epsilon E | --rho R] [--delta D] [--dialect D] [--request ID] [--into NAME]"""
        try:
            asked = _arguments().parse_args(shlex.split(line))
            answer = _session(shell.user_ns, asked.session).sql(cell, **_terms(asked))
        except (DeniableError, ValueError) as error:
            raise _said(error) from error
        if asked.into is not None:
            shell.user_ns[asked.into] = answer
        return answer

    shell.register_magic_function(dpsql, magic_kind="cell", magic_name="dpsql")


def _session(names: dict[str, Any], name: str) -> Session:
    found = names.get(name)
    if not isinstance(found, Session):
        raise InvalidArgument(
            f"there is no session named {name!r} in this notebook; make one with dp.Dataset(...).session(...)"
        )
    return found


def _terms(asked: argparse.Namespace) -> dict[str, Any]:
    given = {name: getattr(asked, name) for name in ("dialect", "request") if getattr(asked, name) is not None}
    numbers = {name: getattr(asked, name) for name in ("epsilon", "rho", "delta") if getattr(asked, name) is not None}
    try:
        return {**given, **{name: float(text) for name, text in numbers.items()}}
    except ValueError:
        raise InvalidArgument(f"epsilon, rho and delta are numbers, got {', '.join(numbers.values())}") from None


def _said(error: Exception) -> Exception:
    """The error as one line of the notebook, without a trace of our own frames."""
    from IPython.core.error import UsageError

    said: Exception = UsageError(str(error))
    return said
