"""deniable: differential privacy, sound to the last bit.

`import deniable as dp` is the whole public interface, and it is quick: nothing is loaded before it is used, no engine,
no SQL compiler and no command line come along. Every public name stands once in the table, with the place it lives.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from deniable.version import __version__

_PUBLIC = {
    # costs: what an answer cost, as records
    "costs": "deniable.cost",
    # noise: exact samplers, and the one source of randomness
    "noise": "deniable.noise",
    "Entropy": "deniable.noise:Entropy",
    # accounting: reading costs, budgets, calibration
    "accounting": "deniable.accounting",
    "Bracket": "deniable.accounting:Bracket",
    "Budget": "deniable.accounting:Budget",
    "budget": "deniable.accounting:budget",
    "calibrate": "deniable.accounting:calibrate",
    "delta": "deniable.accounting:delta",
    "epsilon": "deniable.accounting:epsilon",
    "explain": "deniable.accounting:explain",
    "profile": "deniable.accounting:profile",
    "tradeoff": "deniable.accounting:tradeoff",
    # spaces, transformations, mechanisms, compositors
    "core": "deniable.core",
    "Accuracy": "deniable.core:Accuracy",
    "Compositor": "deniable.core:Compositor",
    "Filter": "deniable.core:Filter",
    "Mechanism": "deniable.core:Mechanism",
    "Odometer": "deniable.core:Odometer",
    "Root": "deniable.core:Root",
    "Space": "deniable.core:Space",
    "Step": "deniable.core:Step",
    "Transformation": "deniable.core:Transformation",
    "Triple": "deniable.core:Triple",
    "Utility": "deniable.core:Utility",
    "adjacent": "deniable.core:adjacent",
    "categories": "deniable.core:categories",
    "compositor": "deniable.core:compositor",
    "frame": "deniable.core:frame",
    "integers": "deniable.core:integers",
    "numbers": "deniable.core:numbers",
    "odometer": "deniable.core:odometer",
    "own_mechanism": "deniable.core:own_mechanism",
    "own_transformation": "deniable.core:own_transformation",
    "rows": "deniable.core:rows",
    "step": "deniable.core:step",
    # stable transformations; those whose names belong to table aggregates are reached as dp.calculus.<name>
    "bin_counts": "deniable.transformations:bin_counts",
    "bins": "deniable.transformations:bins",
    "cast": "deniable.transformations:cast",
    "categorize": "deniable.transformations:categorize",
    "category_counts": "deniable.transformations:category_counts",
    "clamp": "deniable.transformations:clamp",
    "clamp_entries": "deniable.transformations:clamp_entries",
    "clamp_norm": "deniable.transformations:clamp_norm",
    "cumulative_counts": "deniable.transformations:cumulative_counts",
    "drop_missing": "deniable.transformations:drop_missing",
    "fill": "deniable.transformations:fill",
    "filter_rows": "deniable.transformations:filter_rows",
    "gram": "deniable.transformations:gram",
    "impute": "deniable.transformations:impute",
    "in_each": "deniable.transformations:in_each",
    "join_public": "deniable.transformations:join_public",
    "log_bands": "deniable.transformations:log_bands",
    "map_rows": "deniable.transformations:map_rows",
    "mean_of_at_least": "deniable.transformations:mean_of_at_least",
    "moments": "deniable.transformations:moments",
    "moments_of": "deniable.transformations:moments_of",
    "one_hot": "deniable.transformations:one_hot",
    "pair_randomly": "deniable.transformations:pair_randomly",
    "partition_by": "deniable.transformations:partition_by",
    "partition_randomly": "deniable.transformations:partition_randomly",
    "quantile_scores": "deniable.transformations:quantile_scores",
    "resize": "deniable.transformations:resize",
    "sum_of_squares": "deniable.transformations:sum_of_squares",
    "total": "deniable.transformations:total",
    "tree_counts": "deniable.transformations:tree_counts",
    "truncate_rows": "deniable.transformations:truncate_rows",
    "unbounded": "deniable.transformations:unbounded",
    "unordered": "deniable.transformations:unordered",
    "vector_mean": "deniable.transformations:vector_mean",
    "vector_total": "deniable.transformations:vector_total",
    "calculus": "deniable.calculus",
    # mechanisms: random answers with a proved cost
    "Estimate": "deniable.mechanisms:Estimate",
    "Hit": "deniable.mechanisms:Hit",
    "Law": "deniable.mechanisms:Law",
    "Leader": "deniable.mechanisms:Leader",
    "Leaders": "deniable.mechanisms:Leaders",
    "LearntBounds": "deniable.mechanisms:LearntBounds",
    "MaxNoise": "deniable.mechanisms:MaxNoise",
    "Moments": "deniable.mechanisms:Moments",
    "NoisySpine": "deniable.mechanisms:NoisySpine",
    "NoisyTree": "deniable.mechanisms:NoisyTree",
    "QueryStream": "deniable.mechanisms:QueryStream",
    "Side": "deniable.mechanisms:Side",
    "StreamMechanism": "deniable.mechanisms:StreamMechanism",
    "above_threshold": "deniable.mechanisms:above_threshold",
    "above_threshold_with_gap": "deniable.mechanisms:above_threshold_with_gap",
    "alerts": "deniable.mechanisms:alerts",
    "all_above_threshold": "deniable.mechanisms:all_above_threshold",
    "bounded_geometric": "deniable.mechanisms:bounded_geometric",
    "coin_flip": "deniable.mechanisms:coin_flip",
    "consistent": "deniable.mechanisms:consistent",
    "discrete_gaussian": "deniable.mechanisms:discrete_gaussian",
    "estimate_mean": "deniable.mechanisms:estimate_mean",
    "estimate_share": "deniable.mechanisms:estimate_share",
    "estimate_shares": "deniable.mechanisms:estimate_shares",
    "exponential": "deniable.mechanisms:exponential",
    "exponential_interval": "deniable.mechanisms:exponential_interval",
    "gaussian": "deniable.mechanisms:gaussian",
    "keep_probability": "deniable.mechanisms:keep_probability",
    "laplace": "deniable.mechanisms:laplace",
    "local_mean": "deniable.mechanisms:local_mean",
    "lower_estimate": "deniable.mechanisms:lower_estimate",
    "most_frequent": "deniable.mechanisms:most_frequent",
    "new_key_delta": "deniable.mechanisms:new_key_delta",
    "noisy_hierarchy": "deniable.mechanisms:noisy_hierarchy",
    "noisy_max_with_gap": "deniable.mechanisms:noisy_max_with_gap",
    "noisy_top_k": "deniable.mechanisms:noisy_top_k",
    "noisy_tree": "deniable.mechanisms:noisy_tree",
    "one_shot_top_k": "deniable.mechanisms:one_shot_top_k",
    "private_bounds": "deniable.mechanisms:private_bounds",
    "private_cdf": "deniable.mechanisms:private_cdf",
    "private_covariance": "deniable.mechanisms:private_covariance",
    "private_histogram": "deniable.mechanisms:private_histogram",
    "private_iqr": "deniable.mechanisms:private_iqr",
    "private_maximum": "deniable.mechanisms:private_maximum",
    "private_median": "deniable.mechanisms:private_median",
    "private_minimum": "deniable.mechanisms:private_minimum",
    "private_mode": "deniable.mechanisms:private_mode",
    "private_quantile": "deniable.mechanisms:private_quantile",
    "private_quantiles": "deniable.mechanisms:private_quantiles",
    "private_upper_bound": "deniable.mechanisms:private_upper_bound",
    "propose_test_release": "deniable.mechanisms:propose_test_release",
    "query_stream": "deniable.mechanisms:query_stream",
    "randomized_response": "deniable.mechanisms:randomized_response",
    "report_noisy_max": "deniable.mechanisms:report_noisy_max",
    "running_total": "deniable.mechanisms:running_total",
    "select_partitions": "deniable.mechanisms:select_partitions",
    "set_union": "deniable.mechanisms:set_union",
    "threshold_for": "deniable.mechanisms:threshold_for",
    "threshold_histogram": "deniable.mechanisms:threshold_histogram",
    "truncated_laplace": "deniable.mechanisms:truncated_laplace",
    "upper_estimate": "deniable.mechanisms:upper_estimate",
    "whole_counts": "deniable.mechanisms:whole_counts",
    # private tables: data sets, units, aggregates
    "Codebook": "deniable.plan.codebook:Codebook",
    "Dataset": "deniable.release.dataset:Dataset",
    "Release": "deniable.release.answer:Release",
    "Session": "deniable.release.session:Session",
    "row_unit": "deniable.plan.unit:row_unit",
    "unit": "deniable.plan.unit:unit",
    "count": "deniable.query.aggregates:count",
    "count_distinct": "deniable.query.aggregates:count_distinct",
    "covariance": "deniable.query.aggregates:covariance",
    "histogram": "deniable.query.aggregates:histogram",
    "mean": "deniable.query.aggregates:mean",
    "median": "deniable.query.aggregates:median",
    "quantile": "deniable.query.aggregates:quantile",
    "std": "deniable.query.aggregates:std",
    "sum": "deniable.query.aggregates:sum",
    "top_k": "deniable.query.aggregates:top_k",
    "variance": "deniable.query.aggregates:variance",
    # ledger: the durable budget, its terms, caps and anchors; receipts and release tables
    "ledger": "deniable.release.ledger",
    "Receipt": "deniable.release.receipt:Receipt",
    "ReleaseFacts": "deniable.release.facts:ReleaseFacts",
    "extended_release_table": "deniable.release.release_table:extended_release_table",
    "release_table": "deniable.release.release_table:release_table",
    # errors
    "DeniableError": "deniable.errors:DeniableError",
    "InvalidArgument": "deniable.errors:InvalidArgument",
    "SpaceMismatch": "deniable.errors:SpaceMismatch",
    "Unaccountable": "deniable.errors:Unaccountable",
    "BudgetExceeded": "deniable.errors:BudgetExceeded",
    "QueryRefused": "deniable.errors:QueryRefused",
    "Retired": "deniable.errors:Retired",
    "LedgerError": "deniable.errors:LedgerError",
    "Unanswered": "deniable.errors:Unanswered",
    "EngineFailed": "deniable.errors:EngineFailed",
}
"""Public name -> "module:attribute", or "module" for a module under another name."""

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"deniable has no public name {name!r}; dir(deniable) lists them")
    module, _, attribute = _PUBLIC[name].partition(":")
    value = import_module(module)
    if attribute:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
