"""`deniable score`: a private score of a stored model on private rows, paid from the same budget."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from deniable.cli import asking
from deniable.cli.app import application

app = application("Score a stored model on private rows and pay from the budget.")

Model = Annotated[str, typer.Option("--model", help="The request id of the model.", show_default=False)]
MetricName = Annotated[
    str,
    typer.Option(
        "--metric", help="accuracy, precision, recall, auc, calibration, mae, mape or r2.", show_default=False
    ),
]


@app.command()
def score(
    data: asking.Data,
    codebook: asking.CodebookFile,
    ledger: asking.LedgerPlace,
    model: Model,
    metric: MetricName,
    where: asking.Where = None,
    table: asking.TableName = None,
    epsilon: asking.Epsilon = None,
    rho: asking.Rho = None,
    tables: asking.Tables = None,
    time_limit: asking.TimeLimit = None,
    as_json: asking.Json = False,
) -> None:
    """Charge, score, store and print."""
    source = asking.dataset(data, codebook, tables, time_limit)
    session = asking.session_for(source, ledger, None, 0.0, None)
    found = session.score(session.fetch(model), metric=metric, where=where, table=table, epsilon=epsilon, rho=rho)
    if as_json:
        record = {"metric": metric, "value": found.value, "lower": found.lower, "upper": found.upper}
        print(json.dumps({**record, "guarantee": found.guarantee}, indent=2))
    else:
        print(f"{found}\nleft: {session.remaining}")
