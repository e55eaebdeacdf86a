"""`deniable price`: what a query would cost and how wrong it would be; nothing is spent and no row is read."""

from __future__ import annotations

import json

from deniable.cli import asking
from deniable.cli.app import application
from deniable.query import Price

app = application("Say what a query would cost, for free.")


@app.command()
def price(
    data: asking.Data,
    codebook: asking.CodebookFile,
    ledger: asking.LedgerPlace,
    agg: asking.Agg,
    where: asking.Where = None,
    by: asking.By = None,
    table: asking.TableName = None,
    epsilon: asking.Epsilon = None,
    rho: asking.Rho = None,
    accuracy: asking.Wanted = None,
    confidence: asking.Confidence = 0.95,
    group_size: asking.GroupSize = 1000,
    account: asking.Account = "analyst",
    budget_epsilon: asking.TotalEpsilon = None,
    budget_delta: asking.TotalDelta = 0.0,
    budget_rho: asking.TotalRho = None,
    tables: asking.Tables = None,
    time_limit: asking.TimeLimit = None,
    as_json: asking.Json = False,
) -> None:
    """Price and errors, from public facts alone."""
    source = asking.dataset(data, codebook, tables, time_limit)
    session = asking.session_for(source, ledger, budget_epsilon, budget_delta, budget_rho, account)
    asked = asking.question(session, table, where, by or [], agg)
    stated = asked.price(**asking.payment(epsilon, rho, accuracy, confidence, group_size))
    print(json.dumps(_record(stated), indent=2) if as_json else stated)


def _record(stated: Price) -> dict[str, object]:
    return {
        stated.pair.unit: float(stated.pair.loss),
        "delta": float(stated.pair.delta),
        "errors": {name: {"within": error.within, "measure": error.measure} for name, error in stated.errors.items()},
        "confidence": float(stated.confidence),
        "group_size": stated.group_size,
        "noise": stated.reason,
        "keys": stated.keys,
        "threshold": stated.threshold,
    }
