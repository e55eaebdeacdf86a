"""`deniable data`: what a curator does with the data itself. Its output is exact and not private.

Exit codes: 0 everything fits, 1 it could not be done, 2 the command was not understood, 3 something does not fit.
"""

from __future__ import annotations

import json
import sys

import typer

from deniable.cli import asking
from deniable.cli.app import application
from deniable.cli.data_words import sources
from deniable.plan.codebook import Codebook
from deniable.release.data_check import BANNER, data_check

app = application("What a curator does with the data itself; its output is not private.")


@app.callback()
def _group() -> None:
    """What a curator does with the data itself; its output is not private."""


@app.command()
def check(data: asking.Data, codebook: asking.CodebookFile, as_json: asking.Json = False) -> None:
    """Hold the data against its codebook, exactly: cells that cannot be read, clamped shares, units over their bounds.

    For the curator alone: the output is NOT private. It is free, charges nothing and no session can ask for it.
    """
    if as_json:
        print(BANNER, file=sys.stderr)
    book = Codebook.load(codebook)
    found = data_check(sources(data, book), book)
    print(json.dumps(found.to_record(), indent=2) if as_json else found)
    raise typer.Exit(3 if found.findings else 0)
