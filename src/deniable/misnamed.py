"""A name that `deniable`, a query, a session, a data set or an answer does not have is answered with the right one."""

from __future__ import annotations

import dis
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec

from deniable.errors import NoSuchName

_ELSEWHERE = {
    "avg": "mean",
    "average": "mean",
    "stddev": "std",
    "stdev": "std",
    "var": "variance",
    "nunique": "count_distinct",
    "distinct": "count_distinct",
    "min": "minimum",
    "max": "maximum",
    "len": "count",
    "size": "count",
    "percentile": "quantile",
    "hist": "histogram",
    "corr": "correlation",
    "cov": "covariance",
    "Table": "Dataset",
    "open": "Dataset",
}
"""What other libraries and SQL call what is here."""

_RENAMED = {"Filter": "deniable.calculus.PrivacyFilter"}
"""Names of earlier versions that are nearest to something else by now."""

_ROOMS = ("calculus", "models", "errors", "accounting", "attacks", "noise")
"""Where a name that is not at the front door may live, the likeliest first."""


_ROWS = "its rows are private; an answer has {shown}"
_SHOWN = "top(10, by='n') and order_by('n')"
_AGGREGATE = {
    "mean": "mean('x')",
    "avg": "mean('x')",
    "sum": "sum('x')",
    "count": "count()",
    "size": "count()",
    "median": "median('x')",
    "quantile": "quantile('x', 0.9)",
    "std": "std('x')",
    "stddev": "std('x')",
    "var": "variance('x')",
    "variance": "variance('x')",
    "cov": "covariance('x', 'y')",
    "corr": "correlation('x', 'y')",
    "min": "quantile('x', 0.01)",
    "max": "quantile('x', 0.99)",
    "mode": "top_k('x', k=1)",
    "nunique": "count_distinct('x')",
    "unique": "count_distinct('x')",
    "distinct": "count_distinct('x')",
    "hist": "histogram('x')",
    "histogram": "histogram('x')",
}
_COLUMN = {
    "astype": "derive(y='cast(x as text)')",
    "fillna": "derive(x='coalesce(x, 0)')",
    "dropna": "where('x is not null')",
    "isin": "where(\"x in ('a', 'b')\")",
    "between": "where('x between 1 and 5')",
    "apply": "derive(y='2 * x'), or per_unit(...) for each unit's own rows",
    "map": "derive(y=\"case when x = 'a' then 1 else 0 end\")",
    "resample": "group_by(month=\"date_trunc('month', day)\")",
    "cut": "group_by(k='width_bucket(x, 0, 100, 10)')",
    "qcut": "group_by_quantiles(4, quarter='x')",
    "ntile": "group_by_quantiles(4, quarter='x')",
    "value_counts": "group_by('x').agg(n=dp.count()).order_by('n', descending=True)",
}
_VERBS = {
    "where": ("filter", "query", "loc", "iloc", "mask", "filter_by"),
    "derive": ("assign", "with_columns", "with_column", "withColumn", "mutate", "transform", "eval"),
    "select": ("rename", "drop", "project", "reindex", "columns", "with_columns_renamed"),
    "join": ("merge", "join_on", "left_join", "inner_join", "lookup"),
    "union": ("append", "concat", "union_all", "unionAll", "vstack"),
    "group_by": ("groupby", "groupBy", "pivot", "pivot_table", "crosstab", "by"),
    "agg": ("aggregate", "summarize", "summarise"),
    "order_by": ("sort_values", "sort", "orderBy", "sort_index", "arrange"),
    "top": ("nlargest", "limit"),
    "release(epsilon=0.5)": ("collect", "compute", "execute", "run", "show", "result", "fetchall", "ask", "answer"),
    "release(epsilon=0.5).to_pandas()": ("to_pandas", "toPandas", "to_df", "df", "to_frame"),
    "release(epsilon=0.5).to_csv('a.csv')": ("to_csv",),
    "release(epsilon=0.5).plot()": ("plot",),
    "price(epsilon=0.5)": ("explain", "cost", "epsilon"),
}


def _called(verb: str) -> str:
    return verb if verb.endswith(")") else f"{verb}(...)"


_QUERY = {
    **{theirs: f"write {_called(ours)}" for ours, names in _VERBS.items() for theirs in names},
    **{name: f"name the number: agg(m=dp.{ours})" for name, ours in _AGGREGATE.items()},
    **{name: f"write {example}" for name, example in _COLUMN.items()},
    **dict.fromkeys(("head", "tail", "sample", "first", "last", "values", "iterrows"), _ROWS.format(shown=_SHOWN)),
    **dict.fromkeys(("describe", "info"), "a first look under one small price is session.describe(epsilon=0.5)"),
    **dict.fromkeys(("dtypes", "schema", "shape"), "what is public about the columns is session.codebook"),
}
_ASK = "ask a query: session.query().{verb}"
_SESSION = {
    **{name: _ASK.format(verb=f"agg(m=dp.{ours})") for name, ours in _AGGREGATE.items()},
    **{theirs: _ASK.format(verb=_called(ours)) for ours, names in _VERBS.items() for theirs in (*names, ours)},
    **dict.fromkeys(("head", "tail", "sample"), "the rows are private: session.describe(epsilon=0.5) is a first look"),
    **dict.fromkeys(("execute", "read_sql", "read_sql_query", "run"), "write session.sql('SELECT ...', epsilon=0.5)"),
    **dict.fromkeys(("budget", "left"), "what is left is session.remaining"),
    **dict.fromkeys(("epsilon", "delta"), "write session.remaining.epsilon, session.spent or session.remaining.delta"),
    **dict.fromkeys(("tables", "columns", "schema", "table"), "what is public about the tables is dataset.describe()"),
    "to_html": "write session.report('r.html')",
}
_OPEN = "open a session first: dataset.session(dp.budget(epsilon=1))"
_DATASET = {
    **dict.fromkeys(_SESSION, _OPEN),
    **dict.fromkeys(("query", "sql", "release", "remaining", "spent", "report", "synthesizer"), _OPEN),
    **dict.fromkeys(("columns", "tables", "schema", "dtypes", "info"), "what is public is dataset.describe()"),
    **dict.fromkeys(
        ("tail", "sample", "iloc", "loc", "values"), "the rows are private; dataset.dummy() is to rehearse"
    ),
    "shape": "the number of rows is private: ask for it with dp.count() in a session",
}
_ANSWER = {
    **dict.fromkeys(("df", "to_df", "to_frame", "toPandas", "to_dataframe"), "write answer.to_pandas()"),
    **dict.fromkeys(("columns_names", "values", "loc", "iloc", "head", "iterrows"), "rows are answer[0], answer.table"),
    **dict.fromkeys(
        ("sort_values", "sort", "nlargest"), "write answer.order_by('n', descending=True) or answer.top(10)"
    ),
    **dict.fromkeys(("filter", "query", "where"), "write answer.having('n', at_least=10)"),
    **dict.fromkeys(("epsilon", "delta", "price", "spent"), "what it cost is answer.receipt"),
    **dict.fromkeys(("interval", "intervals", "error", "errors", "ci"), "ends are in answer.table, beside each number"),
}
_SCORE = "write session.score(model, metric='accuracy', epsilon=0.1): a score on private rows has a price"
_FITTED = {
    **dict.fromkeys(("coef_", "params", "coef", "weights_"), "write model.coefficients"),
    "intercept_": "write model.coefficients['intercept']",
    **dict.fromkeys(("predict_proba", "predict_log_proba", "decision_function"), "write model.probabilities(frame)"),
    **dict.fromkeys(("score", "rsquared", "accuracy"), _SCORE),
    **dict.fromkeys(("summary", "describe", "get_params"), "write print(model), or model.card()"),
    **dict.fromkeys(("conf_int", "bse", "pvalues"), "write model.interval(0.95)"),
    **dict.fromkeys(("fit", "fit_transform"), "it is fitted already: fit the estimator it came from again"),
}
_UNFITTED = "it is not fitted yet: fitted = model.fit(session, epsilon=1) has predictions and coefficients"
_MODEL = dict.fromkeys(
    (*_FITTED, "predict", "transform", "plot", "card", "coefficients", "interval", "probabilities", "labels_"),
    _UNFITTED,
)
_FIGURE = dict.fromkeys(
    ("show", "savefig", "write", "display", "to_file"), "write figure.save('a.svg'); a notebook shows it by itself"
)
_METHODS = {
    "Query": ("query", _QUERY),
    "Session": ("session", _SESSION),
    "Dataset": ("data set", _DATASET),
    "Release": ("answer", _ANSWER),
    "RowsReader": ("model", _MODEL),
    "FittedModel": ("fitted model", _FITTED),
    "Figure": ("figure", _FIGURE),
}
"""What other libraries call what is here, for each class."""


def no_attribute(owner: object, name: str) -> AttributeError:
    """The error for an attribute that an object does not have: what to write instead, or the nearest name."""
    if name.startswith("_"):
        return AttributeError(f"{type(owner).__name__} has no {name}", name=name, obj=owner)
    kind = next(each.__name__ for each in type(owner).__mro__ if each.__name__ in _METHODS)
    called, instead = _METHODS[kind]
    article = "an" if called == "answer" else "a"
    near = get_close_matches(name, [each for each in dir(owner) if not each.startswith("_")], n=1)
    if called == "answer" and name in getattr(owner, "columns", ()):
        return NoSuchName(f"an answer's columns are no attributes; write answer.value({name!r}) or answer[0][{name!r}]")
    advice = instead.get(name) or (f"did you mean {near[0]}?" if near else f"dir({called.split()[-1]}) lists its names")
    return NoSuchName(f"{article} {called} has no {name!r}; {advice}")


def refusal(name: str, public: Sequence[str]) -> Exception:
    """The error for `deniable.<name>`: an `AttributeError`, or an `ImportError` with the same text in `from deniable import`."""
    if find_spec(f"deniable.{name}") is not None:  # Python asks for it here before it imports a package of ours
        return AttributeError(f"deniable.{name} is loaded by: import deniable.{name}", name=name)
    text = f"deniable has no public name {name!r}; {_advice(name, public)}"
    return ImportError(text, name="deniable") if _importing() else AttributeError(text, name=name)


def _importing() -> bool:
    """Whether the name was asked for by `from deniable import name`, where Python would replace an AttributeError's text."""
    frame = sys._getframe(3)
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == dis.opmap["IMPORT_FROM"]


def _advice(name: str, public: Sequence[str]) -> str:
    if name.startswith("_"):
        return "dir(deniable) lists them"
    if _ELSEWHERE.get(name) in public:
        return f"did you mean deniable.{_ELSEWHERE[name]}?"
    if name in _RENAMED:
        return f"it is {_RENAMED[name]}"
    rooms = {room: import_module(f"deniable.{room}").__all__ for room in _ROOMS}
    for room, names in rooms.items():
        if name in names:
            return f"it is deniable.{room}.{name}"
    everywhere = {plain: f"deniable.{room}.{plain}" for room in reversed(_ROOMS) for plain in rooms[room]}
    everywhere |= {plain: f"deniable.{plain}" for plain in public}
    near = get_close_matches(name, everywhere, n=1)
    return f"did you mean {everywhere[near[0]]}?" if near else "dir(deniable) lists them"
