from deniable.accounting import classic, composition, designs, strength
from deniable.accounting.bracket import Bracket
from deniable.accounting.budgets import Budget, budget
from deniable.accounting.calibration import calibrate
from deniable.accounting.designs import Design, Secrecy, population_cost
from deniable.accounting.dominance import no_larger
from deniable.accounting.explanation import CostExplanation, explain
from deniable.accounting.filters import Rule, RuleKind, rule_from_record
from deniable.accounting.implied import Implications, Implied, implications, implied_guarantee
from deniable.accounting.interpretation import Belief, detection_power, odds, posterior, truth_probability
from deniable.accounting.loss_distributions import LossDistribution, loss_distribution
from deniable.accounting.measures import probabilistic_privacy as probabilistic
from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.measures.concentrated import ZeroConcentrated
from deniable.accounting.measures.measure import Adaptivity, Measure
from deniable.accounting.measures.pure import Pure
from deniable.accounting.per_query_epsilon import PerQuery, per_query
from deniable.accounting.privacy_profile import PrivacyProfile, profile
from deniable.accounting.side_by_side import Filters, Tally, filters_from_record, lost_by
from deniable.accounting.spend import NOTHING, Spend
from deniable.accounting.theorems import delta, epsilon, pure, rho
from deniable.accounting.tradeoffs import TradeOff, tradeoff

__all__ = [
    "NOTHING",
    "Adaptivity",
    "Approximate",
    "Belief",
    "Bracket",
    "Budget",
    "CostExplanation",
    "Design",
    "Filters",
    "Implications",
    "Implied",
    "LossDistribution",
    "Measure",
    "PerQuery",
    "PrivacyProfile",
    "Pure",
    "Rule",
    "RuleKind",
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
    "lost_by",
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
