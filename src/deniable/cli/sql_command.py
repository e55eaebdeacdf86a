"""`deniable sql`: ask a file or a database in SQL under its ledger's budget; `EXPLAIN DP SELECT ...` explains for free."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from deniable.cli import asking
from deniable.cli.app import application
from deniable.query.sql import Explanation
from deniable.release.answer_rows import checked_ending

app = application("Ask private tables in SQL and pay from their budget.")

Text = Annotated[str, typer.Argument(help="One SELECT, or EXPLAIN DP SELECT ...", show_default=False)]
Dialect = Annotated[str, typer.Option("--dialect", help="The SQL dialect of the text.")]


@app.command()
def sql(
    data: asking.Data,
    text: Text,
    codebook: asking.CodebookFile,
    ledger: asking.LedgerPlace,
    epsilon: asking.Epsilon = None,
    rho: asking.Rho = None,
    accuracy: asking.Wanted = None,
    confidence: asking.Confidence = 0.95,
    group_size: asking.GroupSize = 1000,
    account: asking.Account = "analyst",
    output: asking.Output = None,
    dialect: Dialect = "duckdb",
    budget_epsilon: asking.TotalEpsilon = None,
    budget_delta: asking.TotalDelta = 0.0,
    budget_rho: asking.TotalRho = None,
    tables: asking.Tables = None,
    time_limit: asking.TimeLimit = None,
    as_json: asking.Json = False,
) -> None:
    """Ask in SQL: pay from the ledger, then print the noisy answer with its errors. The same aggregates again are free."""
    if output is not None:
        checked_ending(output)
    source = asking.dataset(data, codebook, tables, time_limit)
    session = asking.session_for(source, ledger, budget_epsilon, budget_delta, budget_rho, account)
    answer = session.sql(text, dialect=dialect, **asking.terms(epsilon, rho, accuracy, confidence, group_size))
    if isinstance(answer, Explanation):
        print(json.dumps({"explanation": str(answer).splitlines()}, indent=2) if as_json else answer)
    else:
        paid = answer.receipt if answer.receipt is not None else "nothing was charged"
        if output is not None:
            answer.to_file(output)
        print(answer.to_json() if as_json else f"{answer}\n\n{paid}\nleft: {session.remaining}")
