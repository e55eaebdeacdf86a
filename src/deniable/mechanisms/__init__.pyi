from deniable.core.stream import StreamMechanism
from deniable.kernels.laws import Law
from deniable.mechanisms.above_threshold import Hit, above_threshold, above_threshold_with_gap, all_above_threshold
from deniable.mechanisms.additive import discrete_gaussian, gaussian, laplace, staircase
from deniable.mechanisms.amplified import in_batches, sampled, shuffled
from deniable.mechanisms.best_of import best_of, first_above
from deniable.mechanisms.bounded_noise import lower_estimate, truncated_laplace, upper_estimate
from deniable.mechanisms.bounds import LearntBounds, private_bounds, private_upper_bound
from deniable.mechanisms.constant_time import bounded_geometric
from deniable.mechanisms.continual import running_total
from deniable.mechanisms.counted import private_cdf, private_histogram, private_mode
from deniable.mechanisms.covariance import Moments, private_covariance
from deniable.mechanisms.exponential_mechanism import exponential, exponential_interval, exponential_over_integers
from deniable.mechanisms.hierarchy import NoisySpine, consistent, noisy_hierarchy, whole_counts
from deniable.mechanisms.local_estimates import Estimate, estimate_mean, estimate_share, estimate_shares
from deniable.mechanisms.local_stability import (
    LocalStability,
    MedianStability,
    local_stability,
    median_stability,
    stability_plot,
)
from deniable.mechanisms.loss_at import LossAt, loss_at
from deniable.mechanisms.marginals import Combination, ConsistentMarginals, combine, consistent_marginals
from deniable.mechanisms.noisy_max import (
    Leader,
    Leaders,
    MaxNoise,
    noisy_max_with_gap,
    noisy_top_k,
    one_shot_top_k,
    report_noisy_max,
)
from deniable.mechanisms.private_keys import (
    keep_probability,
    new_key_delta,
    select_partitions,
    threshold_for,
    threshold_histogram,
)
from deniable.mechanisms.private_quantile import private_maximum, private_median, private_minimum, private_quantile
from deniable.mechanisms.private_quantiles import private_iqr, private_quantiles
from deniable.mechanisms.private_top_k import margin_for, private_top_k
from deniable.mechanisms.propose_test_release import most_frequent, propose_test_release, release_if_stable
from deniable.mechanisms.query_stream import QueryStream, query_stream
from deniable.mechanisms.randomized_response import Survey, coin_flip, local_mean, randomized_response
from deniable.mechanisms.set_union import set_union
from deniable.mechanisms.streams import Side, alerts, stream_maximum
from deniable.mechanisms.timed import timed
from deniable.mechanisms.together import together
from deniable.mechanisms.tree import NoisyTree, noisy_tree

__all__ = [
    "Combination",
    "ConsistentMarginals",
    "Estimate",
    "Hit",
    "Law",
    "Leader",
    "Leaders",
    "LearntBounds",
    "LocalStability",
    "LossAt",
    "MaxNoise",
    "MedianStability",
    "Moments",
    "NoisySpine",
    "NoisyTree",
    "QueryStream",
    "Side",
    "StreamMechanism",
    "Survey",
    "above_threshold",
    "above_threshold_with_gap",
    "alerts",
    "all_above_threshold",
    "best_of",
    "bounded_geometric",
    "coin_flip",
    "combine",
    "consistent",
    "consistent_marginals",
    "discrete_gaussian",
    "estimate_mean",
    "estimate_share",
    "estimate_shares",
    "exponential",
    "exponential_interval",
    "exponential_over_integers",
    "first_above",
    "gaussian",
    "in_batches",
    "keep_probability",
    "laplace",
    "local_mean",
    "local_stability",
    "loss_at",
    "lower_estimate",
    "margin_for",
    "median_stability",
    "most_frequent",
    "new_key_delta",
    "noisy_hierarchy",
    "noisy_max_with_gap",
    "noisy_top_k",
    "noisy_tree",
    "one_shot_top_k",
    "private_bounds",
    "private_cdf",
    "private_covariance",
    "private_histogram",
    "private_iqr",
    "private_maximum",
    "private_median",
    "private_minimum",
    "private_mode",
    "private_quantile",
    "private_quantiles",
    "private_top_k",
    "private_upper_bound",
    "propose_test_release",
    "query_stream",
    "randomized_response",
    "release_if_stable",
    "report_noisy_max",
    "running_total",
    "sampled",
    "select_partitions",
    "set_union",
    "shuffled",
    "stability_plot",
    "staircase",
    "stream_maximum",
    "threshold_for",
    "threshold_histogram",
    "timed",
    "together",
    "truncated_laplace",
    "upper_estimate",
    "whole_counts",
]
