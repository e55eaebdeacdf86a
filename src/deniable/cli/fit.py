"""`deniable fit`: fit a model on a private table and pay from its budget; the model is stored under its request id."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from deniable.cli import asking
from deniable.cli.app import application
from deniable.errors import InvalidArgument

app = application("Fit a model and pay from the budget.")

KINDS = {
    "linear": "LinearRegression",
    "logistic": "LogisticRegression",
    "naive-bayes": "NaiveBayes",
    "tree": "DecisionTree",
    "forest": "RandomForest",
    "additive": "AdditiveModel",
    "network": "Training",
    "k-means": "KMeans",
    "components": "PCA",
}
Kind = Annotated[str, typer.Option("--model", help=f"One of {', '.join(KINDS)}.", show_default=False)]
Target = Annotated[str | None, typer.Option("--target", help="The column to predict.")]
Features = Annotated[str | None, typer.Option("--features", help="Columns to use, a,b,c; all others if not given.")]
Setting = Annotated[list[str] | None, typer.Option("--set", help="A setting, name=value, such as depth=3.")]
Delta = Annotated[float | None, typer.Option("--delta", help="The delta of this fit.")]
Request = Annotated[str | None, typer.Option("--request", help="The id to find the model under.")]
PriceOnly = Annotated[bool, typer.Option("--price", help="Only say what it would cost.")]


@app.command()
def fit(
    data: asking.Data,
    codebook: asking.CodebookFile,
    ledger: asking.LedgerPlace,
    model: Kind,
    target: Target = None,
    features: Features = None,
    setting: Setting = None,
    where: asking.Where = None,
    table: asking.TableName = None,
    epsilon: asking.Epsilon = None,
    rho: asking.Rho = None,
    delta: Delta = None,
    request: Request = None,
    budget_epsilon: asking.TotalEpsilon = None,
    budget_delta: asking.TotalDelta = 0.0,
    budget_rho: asking.TotalRho = None,
    tables: asking.Tables = None,
    time_limit: asking.TimeLimit = None,
    price: PriceOnly = False,
    as_json: asking.Json = False,
) -> None:
    """Charge, fit, store and print; with --price nothing is spent. The same fit again costs nothing."""
    estimator = estimator_of(model, target, features, setting or [], where, table)
    source = asking.dataset(data, codebook, tables, time_limit)
    session = asking.session_for(source, ledger, budget_epsilon, budget_delta, budget_rho)
    terms = {"epsilon": epsilon, "rho": rho, "delta": delta}
    if price:
        print(estimator.price(session, **terms))
        return
    name = request or (f"{model}-{target}" if target else model)
    fitted = estimator.fit(session, **terms, request=name)
    if as_json:
        print(json.dumps({"request": name, "results": dict(fitted.results()), "guarantee": fitted.guarantee}, indent=2))
    else:
        print(f"{fitted}\n{fitted.receipt}\nrequest: {name}\nleft: {session.remaining}")


def estimator_of(
    model: str, target: str | None, features: str | None, settings: list[str], where: str | None, table: str | None
) -> Any:
    """The estimator these words describe."""
    from deniable import models

    if model not in KINDS:
        raise InvalidArgument(f"--model must be one of {', '.join(KINDS)}, got {model!r}")
    terms: dict[str, Any] = {"where": where, "table": table, **dict(_setting(word) for word in settings)}
    if features is not None:
        terms["features"] = [name.strip() for name in features.split(",")]
    if target is not None:
        terms["target"] = target
    try:
        return getattr(models, KINDS[model])(**terms)
    except TypeError as error:
        unknown = str(error).rpartition(" ")[2]
        raise InvalidArgument(f"a {model} model has no setting {unknown}") from None


def _setting(word: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    if not (name and equals and value):
        raise InvalidArgument(f"a setting is written name=value, such as depth=3; got {word!r}")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value
