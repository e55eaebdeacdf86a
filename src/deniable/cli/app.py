"""How every command of deniable is made: the same settings, and no traceback that could show a private value."""

from __future__ import annotations

import typer


def application(summary: str) -> typer.Typer:
    """A command, or a group of them: decorate its functions with `@app.command()`.

    Tracebacks are Python's own, without the values of local variables, because those may hold data.
    """
    return typer.Typer(
        help=summary,
        add_completion=False,
        pretty_exceptions_enable=False,
        pretty_exceptions_show_locals=False,
        no_args_is_help=False,
    )
