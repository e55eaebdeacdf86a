"""What can be asked of each group of a private table: one file for each aggregate, and the closed registry of all of them.

A column is a name or an expression such as `"price * quantity"`. Every aggregate is answered from integers whose
sensitivity the plan knows; nothing here touches data.
"""

from __future__ import annotations

from sqlglot import exp

from deniable.query.aggregates.aggregate import Aggregate, CommandForm, Error, Of, Output, SqlReader
from deniable.query.aggregates.correlation import REGISTRATION as _CORRELATION
from deniable.query.aggregates.correlation import Correlation, correlation
from deniable.query.aggregates.count import REGISTRATION as _COUNT
from deniable.query.aggregates.count import Count, CountDistinct, CountUnits, Plain, count, count_distinct
from deniable.query.aggregates.histogram import REGISTRATION as _HISTOGRAM
from deniable.query.aggregates.histogram import BinnedCounts, HistogramOf, histogram
from deniable.query.aggregates.mean import REGISTRATION as _MEAN
from deniable.query.aggregates.mean import Mean, MeanOf, mean
from deniable.query.aggregates.percentile import REGISTRATION as _PERCENTILE
from deniable.query.aggregates.percentile import Quantile, QuantileList, QuantileOf, median, quantile
from deniable.query.aggregates.spread import REGISTRATION as _SPREAD
from deniable.query.aggregates.spread import (
    Covariance,
    MomentOf,
    StandardDeviation,
    Variance,
    covariance,
    std,
    variance,
)
from deniable.query.aggregates.top_values import REGISTRATION as _TOP_VALUES
from deniable.query.aggregates.top_values import TopK, TopKOf, top_k
from deniable.query.aggregates.total import REGISTRATION as _TOTAL
from deniable.query.aggregates.total import Sum, sum  # noqa: A004
from deniable.query.aggregates.unit_summary import OfUnit, maximum, minimum, mode

REGISTRY = (_COUNT, _TOTAL, _MEAN, _PERCENTILE, _SPREAD, _CORRELATION, _HISTOGRAM, _TOP_VALUES)
"""The aggregates we answer, file by file; all others are refused."""

SQL_FUNCTIONS: dict[type[exp.Expression], SqlReader] = {
    kind: read for each in REGISTRY for kind, read in each.sql.items()
}
SQL_NAMES = tuple(name for each in REGISTRY for name in each.sql_names)
COMMANDS: dict[str, CommandForm] = {name: form for each in REGISTRY for name, form in each.command.items()}

__all__ = [
    "COMMANDS",
    "REGISTRY",
    "SQL_FUNCTIONS",
    "SQL_NAMES",
    "Aggregate",
    "BinnedCounts",
    "CommandForm",
    "Correlation",
    "Count",
    "CountDistinct",
    "CountUnits",
    "Covariance",
    "Error",
    "HistogramOf",
    "Mean",
    "MeanOf",
    "MomentOf",
    "Of",
    "OfUnit",
    "Output",
    "Plain",
    "Quantile",
    "QuantileList",
    "QuantileOf",
    "SqlReader",
    "StandardDeviation",
    "Sum",
    "TopK",
    "TopKOf",
    "Variance",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "histogram",
    "maximum",
    "mean",
    "median",
    "minimum",
    "mode",
    "quantile",
    "std",
    "sum",
    "top_k",
    "variance",
]
