"""`deniable query`: ask a file or a database under its ledger's budget, pay, and print the answer with its errors.

Exit codes: 0 answered, 1 refused, 2 the command was not understood, 4 over budget, 5 charged and not answered; one line says why.
"""

from __future__ import annotations

from deniable.cli import asking
from deniable.cli.app import application

app = application("Ask a private table and pay from its budget.")


@app.command()
def query(
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
    budget_epsilon: asking.TotalEpsilon = None,
    budget_delta: asking.TotalDelta = 0.0,
    budget_rho: asking.TotalRho = None,
    tables: asking.Tables = None,
    time_limit: asking.TimeLimit = None,
    as_json: asking.Json = False,
) -> None:
    """Charge, run, draw once, store and print. The same question again costs nothing and gives the same answer."""
    source = asking.dataset(data, codebook, tables, time_limit)
    session = asking.session_for(source, ledger, budget_epsilon, budget_delta, budget_rho)
    asked = asking.question(session, table, where, by or [], agg)
    answer = asked.release(**asking.terms(epsilon, rho, accuracy))
    print(answer.to_json() if as_json else f"{answer}\n\n{answer.receipt}\nleft: {session.remaining}")
