"""Estimators that are charged once, exact to the last bit, and stored with their release: `dp.models`."""

from deniable.models.linear import FittedLinear, LinearRegression
from deniable.models.logistic import FittedLogistic, LogisticRegression

__all__ = ["FittedLinear", "FittedLogistic", "LinearRegression", "LogisticRegression"]
