"""`deniable model`: show a stored model, its card, its release table, or all of its numbers. Nothing here costs anything."""

from __future__ import annotations

import json
from math import isfinite
from typing import Annotated, Any

import typer

from deniable.cli.app import application
from deniable.cli.locations import place
from deniable.errors import InvalidArgument
from deniable.ledger import Ledger
from deniable.ledger.anchor import FolderAnchor
from deniable.ledger.store import unpacked
from deniable.models.fitted import FittedModel
from deniable.release.value import VALUE_KINDS, ValueRelease, value_record

app = application("Show a stored model, its release table, its numbers.")

File = Annotated[str, typer.Argument(help="The ledger's file, its postgresql:// URL, or env:NAME.", show_default=False)]
Request = Annotated[str, typer.Argument(help="The request id of the model.", show_default=False)]
Account = Annotated[str, typer.Option(help="Who asked.")]
AnchorFolder = Annotated[str | None, typer.Option("--anchor", help="The folder of its anchor, if not the usual one.")]


@app.command()
def show(ledger: File, request: Request, account: Account = "analyst", anchor: AnchorFolder = None) -> None:
    """The model and its card."""
    fitted = stored_model(ledger, request, account, anchor)
    print(f"{fitted}\n\n{fitted.card()}")


@app.command()
def table(ledger: File, request: Request, account: Account = "analyst", anchor: AnchorFolder = None) -> None:
    """The release table of the model."""
    print(stored_model(ledger, request, account, anchor).release_table())


@app.command()
def export(ledger: File, request: Request, account: Account = "analyst", anchor: AnchorFolder = None) -> None:
    """The numbers of the model with their intervals, its card, and the whole model as it is stored, as JSON."""
    fitted = stored_model(ledger, request, account, anchor)
    record = {
        "estimator": fitted.estimator,
        "results": dict(fitted.results()),
        "intervals": {
            name: [end if isfinite(end) else None for end in ends] for name, ends in fitted.interval().items()
        },
        "card": dict(fitted.card().rows),
        "model": value_record(fitted),
    }
    print(json.dumps(record, indent=2))


def stored_model(ledger: str, request: str, account: str, anchor: str | None) -> FittedModel:
    """The model stored under a request id."""
    released = Ledger.existing(place(ledger), anchor=FolderAnchor(anchor)).fetch(request, account=account)
    packed = unpacked(released.payload)
    found: Any = None
    if packed.release.get("kind") in VALUE_KINDS:
        found = ValueRelease.from_packed(packed, released.receipt).shown()
    if not isinstance(found, FittedModel):
        raise InvalidArgument(f"{request!r} is no model; deniable release show {ledger} lists what is stored")
    return found
