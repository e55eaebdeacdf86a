"""`deniable ledger`: check a ledger, amend it, show what was asked of it, write out its events, copy it.

Exit codes: 0 all is well, 1 it could not be done, 2 the command was not understood, 3 the ledger is not sound,
or a file has more than one budget.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from deniable.accounting import Budget, budget
from deniable.cli import asking
from deniable.cli.app import application
from deniable.cli.locations import place
from deniable.errors import DeniableError, InvalidArgument
from deniable.exact import number_of
from deniable.ledger import Cap, Each, Ledger, Period, Verification, history, journal_at, verify
from deniable.ledger.anchor import FolderAnchor
from deniable.ledger.receipt import Receipt
from deniable.ledger.verify import ABSENT
from deniable.plan.codebook import Codebook
from deniable.release.dataset import amend
from deniable.release.registry import Copy, Registry, Replacement

app = application("Check a ledger, amend it, show what was asked of it, write out its events, copy it.")

UNSOUND = 3

File = Annotated[str, typer.Argument(help="The ledger's file, its postgresql:// URL, or env:NAME.", show_default=False)]
AnchorFolder = Annotated[Path | None, typer.Option("--anchor", help="The folder of its anchor, if not the usual one.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("verify")
def verify_command(
    ledger: File,
    receipt: Annotated[list[Path] | None, typer.Option(help="A receipt (JSON) that must be in the chain.")] = None,
    anchor: AnchorFolder = None,
    as_json: Json = False,
) -> None:
    """Check the file, the chain, the anchor, every stored answer and these receipts; exit code 3 if anything is wrong."""
    receipts = [_receipt(path) for path in receipt or ()]
    found = verify(journal_at(place(ledger)), anchor=FolderAnchor(anchor), receipts=receipts)
    print(json.dumps(found.to_record(), indent=2) if as_json else _report(found))
    if not found.sound:
        raise typer.Exit(UNSOUND)


@app.command()
def export(
    ledger: File,
    output: Annotated[Path | None, typer.Option(help="A new file instead of the screen.")] = None,
    anchor: AnchorFolder = None,
    as_json: Json = False,
) -> None:
    """Every event as one line of JSON (with --json: as one JSON list). Stored answers are not part of it."""
    lines = list(Ledger.existing(place(ledger), anchor=FolderAnchor(anchor)).export())
    text = "[\n" + ",\n".join(lines) + "\n]" if as_json else "\n".join(lines)
    if output is None:
        print(text)
    else:
        _write_new(output, text + "\n")


@app.command()
def backup(ledger: File, target: Path, anchor: AnchorFolder = None, as_json: Json = False) -> None:
    """A consistent copy in a new file, taken while the ledger is in use or not. It holds the stored answers too."""
    opened = Ledger.existing(place(ledger), anchor=FolderAnchor(anchor))
    opened.backup(target)
    mark = opened.mark
    if as_json:
        print(json.dumps({"target": str(target), "count": mark.count, "head": mark.head}))
    else:
        print(f"{number_of(mark.count, 'event')} copied to {target}")


@app.command("amend")
def amend_command(
    ledger: File,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the record.")],
    codebook: Annotated[
        Path | None, typer.Option("--codebook", help="The codebook (YAML) it counts under from now on, if it changed.")
    ] = None,
    by: Annotated[str, typer.Option("--by", help="Who decided, for the record.")] = "curator",
    budget_epsilon: asking.TotalEpsilon = None,
    budget_delta: Annotated[
        float | None, typer.Option("--budget-delta", help="Its delta; where not given, the one in force stays.")
    ] = None,
    budget_rho: asking.TotalRho = None,
    cap: Annotated[
        list[str] | None,
        typer.Option(
            help="A limit: each=0.5 for every analyst, ann=2 for one, everyone/month=1; all there are, or none=."
        ),
    ] = None,
    anchor: AnchorFolder = None,
    as_json: Json = False,
) -> None:
    """For the curator: record a changed codebook, another budget or caps, what is given; what was charged is carried over."""
    given = [each for each in (budget_epsilon, budget_delta, budget_rho) if each is not None]
    if codebook is None and not given and not cap:
        raise InvalidArgument("say what changes: --codebook, --budget-epsilon or --cap")
    at = place(ledger)
    old = Ledger.existing(at, anchor=FolderAnchor(anchor)).terms.budget
    whole = None
    if given:
        stays = budget_epsilon is None and budget_rho is None
        epsilon, rho = (old.epsilon, old.rho) if stays else (budget_epsilon, budget_rho)
        whole = budget(epsilon=epsilon, rho=rho, delta=old.delta if budget_delta is None else budget_delta)
    caps = None
    if cap:
        limits = whole or old
        caps = () if cap == ["none="] else tuple(_cap(words, limits) for words in cap)
    book = None if codebook is None else Codebook.load(codebook)
    amend(at, book, reason=reason, by=by, budget=whole, caps=caps, anchor=FolderAnchor(anchor))
    left = Ledger.existing(at, anchor=FolderAnchor(anchor)).balances()[0]
    if as_json:
        print(json.dumps({"budget": str(left.cap.budget), "amended": True}))
    else:
        print(f"amended: {left.cap.budget}; sessions that are open must be opened again")


@app.command("new-version")
def new_version_command(
    ledger: File,
    reason: Annotated[str, typer.Option("--reason", help="What is new, for the record.")],
    by: Annotated[str, typer.Option("--by", help="Who decided, for the record.")] = "curator",
    anchor: AnchorFolder = None,
    as_json: Json = False,
) -> None:
    """For the curator: the data is another from now on, such as the next year's; budgets go on, old answers are not shown anew."""
    version = Ledger.existing(place(ledger), anchor=FolderAnchor(anchor)).new_version(reason=reason, by=by)
    print(
        json.dumps({"data_version": version}) if as_json else f"data version {version}; what was charged stays charged"
    )


def _cap(words: str, limits: Budget) -> Cap:
    """A cap as it is written, WHOSE[/PERIOD]=AMOUNT, in the unit of the budget and with its delta."""
    whose, sign, amount = words.partition("=")
    name, _, period = whose.strip().partition("/")
    periods = {each.value: each for each in Period}
    unit = "rho" if limits.rho is not None else "epsilon"
    try:
        whole = budget(**{unit: float(amount)}, delta=limits.delta)
        if not (sign and name and period in {"", *periods}):
            raise ValueError
    except (ValueError, DeniableError):
        raise InvalidArgument(
            f"a cap is written each=0.5, ann=2 or everyone/month=1 (a {', '.join(periods)}), in {unit}; got {words!r}"
        ) from None
    analyst = {"everyone": None, "each": Each.ANALYST}.get(name, name)
    return Cap(budget=whole, analyst=analyst, period=periods.get(period))


@app.command("history")
def history_command(ledger: File, anchor: AnchorFolder = None, as_json: Json = False) -> None:
    """Every charge so far: when, who, at what price, what was asked, and the request that fetches its answer."""
    found = history(Ledger.existing(place(ledger), anchor=FolderAnchor(anchor)))
    print(json.dumps([asdict(entry) for entry in found], indent=2) if as_json else str(found))


@app.command()
def touching(
    ledger: File,
    table: Annotated[list[str] | None, typer.Option(help="A table that could hold the unit's rows.")] = None,
    version: Annotated[list[int] | None, typer.Option(help="A version of the data the unit could be in.")] = None,
    anchor: AnchorFolder = None,
    as_json: Json = False,
) -> None:
    """The charges whose answers a unit could have been in, from public facts alone; no data is looked at."""
    found = Ledger.existing(place(ledger), anchor=FolderAnchor(anchor)).touching(tables=table, versions=version)
    facts = ("request", "account", "at", "data_version")
    rows = [{**{name: c.body[name] for name in facts}, "tables": c.body.get("tables", [])} for c in found]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        lines = [
            f"{r['at']}  version {r['data_version']}  {', '.join(r['tables']) or 'any table'}  {r['request']}"
            for r in rows
        ]
        print("\n".join(lines) or "no release could have had it in")


@app.command()
def requests(ledger: File, anchor: AnchorFolder = None, as_json: Json = False) -> None:
    """Every request at the desk: who asked for what, at which price, and how far it has come."""
    found = Ledger.existing(place(ledger), anchor=FolderAnchor(anchor)).desk.all()
    rows = [
        {
            "request": e.request,
            "account": e.account,
            "price": str(e.asked),
            "state": e.progress.value,
            "text": e.body["text"],
        }
        for e in found
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        lines = [f"{r['request']}  {r['account']}  {r['price']}  {r['state']}" for r in rows]
        print("\n".join(lines) or "nobody has asked yet")


@app.command()
def readers(ledger: File, anchor: AnchorFolder = None, as_json: Json = False) -> None:
    """Who has been given which answer: every release with its readers, in order."""
    opened = Ledger.existing(place(ledger), anchor=FolderAnchor(anchor))
    charges, asked = opened.charges(), {(each.account, each.request): each for each in opened.desk.all()}
    others = {key: each.readers for key, each in asked.items()}
    rows = [
        {
            "event": charge.count,
            "request": charge.body["request"],
            "readers": list(dict.fromkeys((*charge.readers, *others.get(charge.asked, ())))),
        }
        for charge in charges
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        lines = [f"event {row['event']}  {row['request']}: {', '.join(row['readers']) or 'nobody'}" for row in rows]
        print("\n".join(lines) or "nothing was released yet")


@app.command()
def copies(
    registry: Annotated[Path | None, typer.Option(help="The curator's folder, if not the usual one.")] = None,
    as_json: Json = False,
) -> None:
    """For the curator: files under more than one budget, and files replaced under one ledger; exit code 3 if there are any."""
    notes = Registry(registry)
    found: list[Copy | Replacement] = [*notes.copies(), *notes.replacements()]
    if as_json:
        print(json.dumps([asdict(each) for each in found], indent=2))
    else:
        print("\n".join(map(str, found)) or "no file has more than one budget, and none was replaced")
    if found:
        raise typer.Exit(UNSOUND)


def _receipt(path: Path) -> Receipt:
    try:
        return Receipt.from_record(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidArgument(f"{path} holds no receipt; give a file with the JSON of one") from None


def _report(found: Verification) -> str:
    if found.problems == (ABSENT,):
        return f"{found.place}: {ABSENT}"
    if not found.sound:
        return "\n".join([f"{found.place} is not sound:", *(f"  {problem}" for problem in found.problems)])
    lines = [
        f"{found.place} is sound: {number_of(found.count, 'event')}, data version {found.data_version}, head {found.head}"
    ]
    if found.unanswered:
        lines.append(f"charged, but without a stored answer (running or lost): {', '.join(found.unanswered)}")
    return "\n".join(lines)


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InvalidArgument(f"cannot write {path}: {error.strerror}; choose a new file name") from None
