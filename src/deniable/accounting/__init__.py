"""Reading costs: measures, conversions, composition, filters and calibration.

A privacy map returns a cost, a record of what happened; here it becomes a loss. Exact numbers only round up, and a float comes
as a `Bracket` that encloses the truth. Nothing is loaded before it is used: building a mechanism needs no theorem, reading its
loss does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable.accounting import classic as classic
    from deniable.accounting import composition as composition
    from deniable.accounting import designs as designs
    from deniable.accounting.bracket import Bracket as Bracket
    from deniable.accounting.budgets import Budget as Budget
    from deniable.accounting.budgets import budget as budget
    from deniable.accounting.calibration import calibrate as calibrate
    from deniable.accounting.designs import Design as Design
    from deniable.accounting.designs import Secrecy as Secrecy
    from deniable.accounting.designs import population_cost as population_cost
    from deniable.accounting.dominance import no_larger as no_larger
    from deniable.accounting.explanation import CostExplanation as CostExplanation
    from deniable.accounting.explanation import explain as explain
    from deniable.accounting.filters import Rule as Rule
    from deniable.accounting.filters import RuleKind as RuleKind
    from deniable.accounting.filters import rule_from_record as rule_from_record
    from deniable.accounting.implied import Implications as Implications
    from deniable.accounting.implied import Implied as Implied
    from deniable.accounting.implied import implications as implications
    from deniable.accounting.implied import implied_guarantee as implied_guarantee
    from deniable.accounting.loss_distributions import LossDistribution as LossDistribution
    from deniable.accounting.loss_distributions import loss_distribution as loss_distribution
    from deniable.accounting.measures import probabilistic_privacy as probabilistic  # noqa: F401
    from deniable.accounting.measures.approximate import Approximate as Approximate
    from deniable.accounting.measures.concentrated import ZeroConcentrated as ZeroConcentrated
    from deniable.accounting.measures.measure import Adaptivity as Adaptivity
    from deniable.accounting.measures.measure import Measure as Measure
    from deniable.accounting.measures.pure import Pure as Pure
    from deniable.accounting.per_query_epsilon import PerQuery as PerQuery
    from deniable.accounting.per_query_epsilon import per_query as per_query
    from deniable.accounting.privacy_profile import PrivacyProfile as PrivacyProfile
    from deniable.accounting.privacy_profile import profile as profile
    from deniable.accounting.side_by_side import Filters as Filters
    from deniable.accounting.side_by_side import Tally as Tally
    from deniable.accounting.side_by_side import filters_from_record as filters_from_record
    from deniable.accounting.side_by_side import lost_by as lost_by
    from deniable.accounting.spend import NOTHING as NOTHING
    from deniable.accounting.spend import Spend as Spend
    from deniable.accounting.theorems import delta as delta
    from deniable.accounting.theorems import epsilon as epsilon
    from deniable.accounting.theorems import pure as pure
    from deniable.accounting.theorems import rho as rho
    from deniable.accounting.tradeoffs import TradeOff as TradeOff
    from deniable.accounting.tradeoffs import tradeoff as tradeoff

_HOMES: dict[str, tuple[str, ...]] = {
    "bracket": ("Bracket",),
    "budgets": ("Budget", "budget"),
    "calibration": ("calibrate",),
    "designs": ("Design", "Secrecy", "population_cost"),
    "dominance": ("no_larger",),
    "explanation": ("CostExplanation", "explain"),
    "filters": ("RuleKind", "Rule", "rule_from_record"),
    "implied": ("Implications", "Implied", "implications", "implied_guarantee"),
    "loss_distributions": ("LossDistribution", "loss_distribution"),
    "measures.approximate": ("Approximate",),
    "measures.concentrated": ("ZeroConcentrated",),
    "measures.measure": ("Adaptivity", "Measure"),
    "measures.pure": ("Pure",),
    "per_query_epsilon": ("PerQuery", "per_query"),
    "privacy_profile": ("PrivacyProfile", "profile"),
    "side_by_side": ("Filters", "Tally", "filters_from_record", "lost_by"),
    "spend": ("NOTHING", "Spend"),
    "theorems": ("delta", "epsilon", "pure", "rho"),
    "tradeoffs": ("TradeOff", "tradeoff"),
}
_MODULES = {
    "classic": "classic",
    "composition": "composition",
    "designs": "designs",
    "probabilistic": "measures.probabilistic_privacy",
}
_PLACES = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_PLACES, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = import_module(f"deniable.accounting.{_MODULES[name]}")
    elif name in _PLACES:
        value = getattr(import_module(f"deniable.accounting.{_PLACES[name]}"), name)
    else:
        raise AttributeError(f"deniable.accounting has no public name {name!r}; dir(deniable.accounting) lists them")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
