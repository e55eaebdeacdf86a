"""Reading costs: measures, conversions, composition, filters and calibration.

A privacy map returns a cost, a record of what happened; here it becomes a loss. Exact numbers only round up, and a float comes
as a `Bracket` that encloses the truth.
"""

from deniable.accounting import classic, composition, designs, probabilistic, strength
from deniable.accounting.bracket import Bracket
from deniable.accounting.budget import Budget, budget
from deniable.accounting.calibrate import calibrate
from deniable.accounting.designs import Design, Secrecy, population_cost
from deniable.accounting.dominance import no_larger
from deniable.accounting.explain import Explanation, explain
from deniable.accounting.filters import Kind, Rule, rule_from_record
from deniable.accounting.implied import Implications, Implied, implications, implied_guarantee
from deniable.accounting.interpretation import Belief, detection_power, odds, posterior, truth_probability
from deniable.accounting.loss_distribution import LossDistribution, loss_distribution
from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.measures.concentrated import ZeroConcentrated
from deniable.accounting.measures.measure import Adaptivity, Measure
from deniable.accounting.measures.pure import Pure
from deniable.accounting.per_query import PerQuery, per_query
from deniable.accounting.profile import PrivacyProfile, profile
from deniable.accounting.read import delta, epsilon, pure, rho
from deniable.accounting.side_by_side import Filters, Tally, filters_from_record
from deniable.accounting.spend import NOTHING, Spend
from deniable.accounting.tradeoff import TradeOff, tradeoff

__all__ = [
    "NOTHING",
    "Adaptivity",
    "Approximate",
    "Belief",
    "Bracket",
    "Budget",
    "Design",
    "Explanation",
    "Filters",
    "Implications",
    "Implied",
    "Kind",
    "LossDistribution",
    "Measure",
    "PerQuery",
    "PrivacyProfile",
    "Pure",
    "Rule",
    "Secrecy",
    "Spend",
    "Tally",
    "TradeOff",
    "ZeroConcentrated",
    "budget",
    "calibrate",
    "classic",
    "composition",
    "delta",
    "designs",
    "detection_power",
    "epsilon",
    "explain",
    "filters_from_record",
    "implications",
    "implied_guarantee",
    "loss_distribution",
    "no_larger",
    "odds",
    "per_query",
    "population_cost",
    "posterior",
    "probabilistic",
    "profile",
    "pure",
    "rho",
    "rule_from_record",
    "strength",
    "tradeoff",
    "truth_probability",
]
