"""`deniable release`: show what was released from a ledger, its release table, its stored bytes. Nothing here costs anything.

Exit codes: 0 all is well, 1 it could not be done, 2 the command was not understood.
"""

from __future__ import annotations

import json
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli.app import application
from deniable.cli.locations import place
from deniable.errors import InvalidArgument
from deniable.ledger import Charge, Ledger, StoredAnswer
from deniable.ledger.anchor import FolderAnchor
from deniable.ledger.costs_json import cost_record
from deniable.ledger.store import unpacked
from deniable.release.release_facts import ReleaseFacts
from deniable.release.release_table import extended_release_table, release_table
from deniable.release.report import report_page

app = application("Show releases, their release tables, their stored bytes.")

File = Annotated[str, typer.Argument(help="The ledger's file, its postgresql:// URL, or env:NAME.", show_default=False)]
Request = Annotated[str, typer.Argument(help="The request id of the release.", show_default=False)]
Account = Annotated[str, typer.Option(help="Who asked.")]
AnchorFolder = Annotated[Path | None, typer.Option("--anchor", help="The folder of its anchor, if not the usual one.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Format(Enum):
    """How a table is printed."""

    text = "text"
    markdown = "markdown"
    html = "html"
    json = "json"


@app.command()
def show(
    ledger: File,
    request: Annotated[str | None, typer.Argument(help="One release; all of them if not given.")] = None,
    account: Account = "analyst",
    anchor: AnchorFolder = None,
    as_json: Json = False,
) -> None:
    """One release with its receipt, or the list of all requests."""
    opened = Ledger.existing(place(ledger), anchor=FolderAnchor(anchor))
    if request is None:
        rows = [_row(charge) for charge in opened.charges()]
        print(json.dumps(rows, indent=2) if as_json else "\n".join(map(_line, rows)) or "nothing was asked yet")
        return
    released = opened.fetch(request, account=account)
    if as_json:
        print(json.dumps({"receipt": released.receipt.to_record(), "answer": _content(released)}, indent=2))
    else:
        print(f"{released.receipt}\n{json.dumps(_content(released), indent=2, ensure_ascii=False)}")


@app.command()
def table(
    ledger: File,
    request: Request,
    extended: Annotated[bool, typer.Option("--extended", help="All that is known, not only the eight rows.")] = False,
    format: Annotated[Format, typer.Option(help="How to print it.")] = Format.text,
    account: Account = "analyst",
    anchor: AnchorFolder = None,
    as_json: Json = False,
) -> None:
    """The release table: eight rows, or with --extended everything known."""
    released = Ledger.existing(place(ledger), anchor=FolderAnchor(anchor)).fetch(request, account=account)
    facts = ReleaseFacts.from_record(unpacked(released.payload).facts).with_receipt(released.receipt)
    made = extended_release_table(facts) if extended else release_table(facts)
    match Format.json if as_json else format:
        case Format.text:
            print(made)
        case Format.markdown:
            print(made.markdown(), end="")
        case Format.html:
            print(made.html(), end="")
        case Format.json:
            print(made.json(), end="")


@app.command()
def export(
    ledger: File,
    request: Request,
    output: Annotated[Path | None, typer.Option(help="A new file instead of the screen.")] = None,
    account: Account = "analyst",
    anchor: AnchorFolder = None,
    as_json: Json = False,
) -> None:
    """The stored bytes of a release, the same every time; with --json the answer and its receipt as one JSON object."""
    released = Ledger.existing(place(ledger), anchor=FolderAnchor(anchor)).fetch(request, account=account)
    content = released.payload
    if as_json:
        record = {"receipt": released.receipt.to_record(), "answer": _content(released)}
        content = json.dumps(record, sort_keys=True).encode() + b"\n"
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        return
    try:
        with output.open("xb") as file:
            file.write(content)
    except OSError as error:
        raise InvalidArgument(f"cannot write {output}: {error.strerror}; choose a new file name") from None


@app.command()
def report(
    ledger: File,
    output: Annotated[Path, typer.Option(help="A new file: an HTML page.", show_default=False)],
    account: Annotated[str | None, typer.Option(help="Only what this analyst was shown.")] = None,
    anchor: AnchorFolder = None,
) -> None:
    """Every release of a ledger as one page: questions, prices, answers with errors, pictures."""
    page = report_page(Ledger.existing(place(ledger), anchor=FolderAnchor(anchor)), account=account)
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(page)
    except OSError as error:
        raise InvalidArgument(f"cannot write {output}: {error.strerror}; choose a new file name") from None
    print(f"written: {output}")


def _content(released: StoredAnswer) -> Any:
    """The packed release; for bytes that are not packed, their number."""
    try:
        return unpacked(released.payload).release
    except InvalidArgument:
        return {"bytes": len(released.payload)}


def _row(charge: Charge) -> dict[str, Any]:
    account, request = charge.asked
    standing = "stored" if charge.sealed else "running or lost" if charge.waiting else "not kept here"
    standing = "released" if charge.releases else standing
    costs = {unit: cost_record(cost) for unit, cost in charge.costs.items()}
    at, version = charge.body["at"], charge.body["data_version"]
    return {
        "request": request,
        "account": account,
        "at": at,
        "data_version": version,
        "answer": standing,
        "costs": costs,
    }


def _line(row: dict[str, Any]) -> str:
    return f"{row['at']}  {row['account']}  {row['request']}  data version {row['data_version']}  {row['answer']}"
