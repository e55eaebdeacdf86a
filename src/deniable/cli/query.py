"""`deniable query`: ask a file or a database under its ledger's budget, pay, and print the answer with its errors.

Exit codes: 0 answered, 1 refused, 2 the command was not understood, 4 over budget, 5 charged and not answered; one line says why.
"""

from __future__ import annotations

from deniable.cli import asking
from deniable.cli.app import application
from deniable.release.answer_rows import checked_ending

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
    confidence: asking.Confidence = 0.95,
    group_size: asking.GroupSize = 1000,
    account: asking.Account = "analyst",
    output: asking.Output = None,
    budget_epsilon: asking.TotalEpsilon = None,
    budget_delta: asking.TotalDelta = 0.0,
    budget_rho: asking.TotalRho = None,
    tables: asking.Tables = None,
    time_limit: asking.TimeLimit = None,
    as_json: asking.Json = False,
) -> None:
    """Ask a private table: pay from the ledger, then print the noisy answer with its errors. The same question again is free."""
    if output is not None:
        checked_ending(output)
    source = asking.dataset(data, codebook, tables, time_limit)
    session = asking.session_for(source, ledger, budget_epsilon, budget_delta, budget_rho, account)
    asked = asking.question(session, table, where, by or [], agg)
    answer = asked.release(**asking.payment(epsilon, rho, accuracy, confidence, group_size))
    if output is not None:
        answer.to_file(output)
    print(answer.to_json() if as_json else f"{answer}\n\n{answer.receipt}\nleft: {session.remaining}")
