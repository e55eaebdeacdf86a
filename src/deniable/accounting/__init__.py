"""Reading costs: measures, conversions, composition, filters and calibration.

A privacy map returns a cost, a record of what happened; here it becomes a loss. Exact numbers only round up, and a float comes
as a `Bracket` that encloses the truth.
"""

from deniable.accounting.bracket import Bracket
from deniable.accounting.budget import Budget, budget
from deniable.accounting.calibrate import calibrate
from deniable.accounting.designs import Design, Secrecy, population_cost
from deniable.accounting.explain import Explanation, explain
from deniable.accounting.filters import (
    BasicRule,
    ConcentratedRule,
    GaussianRule,
    PureRule,
    RenyiRule,
    Rule,
    rule_from_record,
)
from deniable.accounting.loss_distribution import LossDistribution, loss_distribution
from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.measures.concentrated import ZeroConcentrated
from deniable.accounting.measures.measure import Adaptivity, Measure
from deniable.accounting.measures.pure import Pure
from deniable.accounting.per_query import PerQuery, per_query
from deniable.accounting.profile import PrivacyProfile, profile
from deniable.accounting.read import delta, epsilon, pure, rho
from deniable.accounting.spend import NOTHING, Spend
from deniable.accounting.tradeoff import TradeOff, tradeoff

__all__ = [
    "NOTHING",
    "Adaptivity",
    "Approximate",
    "BasicRule",
    "Bracket",
    "Budget",
    "ConcentratedRule",
    "Design",
    "Explanation",
    "GaussianRule",
    "LossDistribution",
    "Measure",
    "PerQuery",
    "PrivacyProfile",
    "Pure",
    "PureRule",
    "RenyiRule",
    "Rule",
    "Secrecy",
    "Spend",
    "TradeOff",
    "ZeroConcentrated",
    "budget",
    "calibrate",
    "delta",
    "epsilon",
    "explain",
    "loss_distribution",
    "per_query",
    "population_cost",
    "profile",
    "pure",
    "rho",
    "rule_from_record",
    "tradeoff",
]
