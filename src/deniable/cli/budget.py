"""`deniable budget`: where a ledger's budget stands."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from deniable.cli.app import application
from deniable.cli.locations import place
from deniable.ledger import Balance, Ledger

app = application("Show what a ledger's budget has spent and left.")


@app.command()
def budget(
    ledger: Annotated[
        str, typer.Argument(help="The ledger's file, its postgresql:// URL, or env:NAME.", show_default=False)
    ],
    account: Annotated[str, typer.Option(help="Whose caps to show.")] = "analyst",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Every cap that a query of this analyst falls under, the data-wide one first."""
    balances = Ledger.existing(place(ledger)).balances(account=account)
    if as_json:
        print(json.dumps([_record(balance) for balance in balances], indent=2))
    else:
        print("\n".join(str(balance) for balance in balances))


def _record(balance: Balance) -> dict[str, object]:
    return {
        "cap": balance.cap.name,
        "period": balance.period,
        "unit": balance.cap.filters.unit,
        "limit": balance.cap.filters.whole.to_record(),
        "spent": balance.spent.to_record(),
        "left": balance.left.to_record(),
        "lifetime": balance.lifetime.to_record(),
    }
