"""The command `deniable`: thin, it parses, calls and prints.

Each command (or group of commands) is one file of this package with an `app` made by `deniable.cli.app.application`.
To add one, write the file and its line in `COMMANDS`. A command's module is imported only when that command runs.

Exit codes, the same for every command: 0 done, 1 refused (nothing was spent), 2 the command was not understood, 3 checked and
found wrong, 4 the budget does not allow it (nothing was spent), 5 charged and not answered, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from deniable.errors import BudgetExceeded, DeniableError, EngineFailed, Unanswered
from deniable.version import __version__


class Command(NamedTuple):
    """Where a command lives and what it does, in one line."""

    module: str
    summary: str


COMMANDS: dict[str, Command] = {
    "query": Command("deniable.cli.query", "ask a private table and pay from its budget"),
    "sql": Command("deniable.cli.sql_command", "ask private tables in SQL, or have a query explained"),
    "synthesize": Command("deniable.cli.synthesize", "write synthetic rows of a private table"),
    "sql check": Command("deniable.cli.sql_check", "price a file of SQL questions against a limit, without data"),
    "price": Command("deniable.cli.price_command", "say what a query would cost, for free"),
    "fit": Command("deniable.cli.fit", "fit a model on a private table and pay from its budget"),
    "score": Command("deniable.cli.score", "score a stored model on private rows"),
    "model": Command("deniable.cli.model", "show a stored model, its card, its release table"),
    "budget": Command("deniable.cli.budget", "show what a budget has spent and left"),
    "codebook": Command("deniable.cli.codebook_command", "draft, check or import a codebook"),
    "data": Command("deniable.cli.data", "for curators: hold the data against its codebook, exactly and not privately"),
    "demo": Command("deniable.cli.demo", "make a first private release on made-up data"),
    "release": Command("deniable.cli.release", "show releases, their release tables, their stored bytes"),
    "serve": Command("deniable.cli.serve", "serve data sets to people who ask, grant, release and audit"),
    "remote": Command("deniable.cli.at_server", "price, ask, wait, grant, refuse and publish at a server"),
    "ledger": Command("deniable.cli.ledger_command", "check a ledger, amend it, show what was asked of it"),
    "audit": Command("deniable.cli.audit", "hold a mechanism, or deniable itself, against its claim"),
    "completion": Command("deniable.cli.completion", "print what makes a shell complete commands and options"),
    "attack": Command("deniable.cli.attack", "attack made-up data and see what privacy does to it"),
}


def overview() -> str:
    """What `deniable --help` prints."""
    width = max((len(name) for name in COMMANDS), default=0)
    lines = [f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "Usage: deniable COMMAND [OPTIONS]",
            "",
            "Private answers from tables under one durable budget.",
            "",
            *lines,
            "",
            "deniable COMMAND --help explains a command; deniable --version prints the version.",
            "Exit codes: 0 done, 1 refused, 2 not understood, 3 found wrong, 4 over budget, 5 charged and not answered.",
        ]
    )


def main(words: Sequence[str] | None = None) -> None:
    """Run one command; every failure is one line on standard error and an exit code."""
    words = sys.argv[1:] if words is None else words
    if not words or words[0] in {"--help", "-h", "help"}:
        print(overview())
    elif words[0] in {"--version", "-V"}:
        print(f"deniable {__version__}")
    elif " ".join(words[:2]) in COMMANDS:
        _run(" ".join(words[:2]), list(words[2:]))
    elif words[0] not in COMMANDS:
        _fail(f"{words[0]!r} is not a command{_hint(words[0])}; deniable --help lists them", code=2)
    else:
        _run(words[0], list(words[1:]))


def _run(name: str, words: list[str]) -> None:
    app = import_module(COMMANDS[name].module).app
    import typer

    from deniable.cli.elapsed import elapsed
    from deniable.cli.locations import without_logins

    misused: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
    try:
        with elapsed(f"deniable {name}"):
            code = app(args=words, prog_name=f"deniable {name}", standalone_mode=False)
    except DeniableError as error:
        _fail(without_logins(str(error), words), code=_code(error))
    except misused as error:
        said = " ".join(without_logins(error.format_message(), words).split()).rstrip(".")
        _fail(
            f"{said}{_given(said, words)}{_side_by_side(said, words)}; {_path(error, name)} --help explains it", code=2
        )
    except (KeyboardInterrupt, typer.Abort) as stopped:
        _fail(str(stopped) or "interrupted", code=130)
    if code == 130:  # typer has caught the interrupt, and its words with it
        _fail("interrupted; what was charged stays charged", code=130)
    if isinstance(code, int) and code:
        raise SystemExit(code)


def _path(error: Any, name: str) -> str:
    """The command whose help says more: `deniable release report`, where its part was reached."""
    context = getattr(error, "ctx", None)
    return f"deniable {name}" if context is None else str(context.command_path)


def _given(said: str, words: list[str]) -> str:
    """What was given for the option a message is about, if the message does not say it."""
    option = next((word for word in words[:-1] if word.startswith("--") and f"'{word}'" in said), None)
    value = words[words.index(option) + 1] if option is not None else None
    return f", got {value!r}" if value is not None and repr(value) not in said else ""


def _side_by_side(said: str, words: list[str]) -> str:
    """What to write where files, or words of one option, were given one after the other."""
    files = [word for word in words if Path(word).is_file() and not word.endswith((".yaml", ".yml", ".ledger"))]
    if not said.startswith("Got unexpected extra argument"):
        return ""
    if len(files) > 1:
        return f"; several files are one word: {','.join(files)}"
    again = next((option for option in ("--agg", "--by", "--accuracy") if _followed_by_two(words, option)), None)
    return f"; {again} stands before each one: {again} ... {again} ..." if again else ""


def _followed_by_two(words: list[str], option: str) -> bool:
    """Does an option that takes one word stand before two?"""
    place = words.index(option) if option in words else len(words)
    after = words[place + 1 : place + 3]
    return len(after) == 2 and not any(word.startswith("--") for word in after)


def _code(error: DeniableError) -> int:
    match error:
        case BudgetExceeded():
            return 4
        case EngineFailed() | Unanswered():
            return 5
        case _:
            return 1


def _hint(word: str) -> str:
    near = get_close_matches(word, COMMANDS, n=1)
    return f", did you mean {near[0]!r}?" if near else ""


def _fail(message: str, *, code: int) -> NoReturn:
    print(f"deniable: {message}", file=sys.stderr)
    raise SystemExit(code)
