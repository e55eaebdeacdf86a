"""Stable transformations: every constructor states how far apart close inputs can drift."""

from deniable.transformations.binning import bins, log_bands, one_hot
from deniable.transformations.clamp import clamp
from deniable.transformations.clean import (
    cast,
    categorize,
    drop_missing,
    fill,
    filter_rows,
    impute,
    map_rows,
    unbounded,
    unordered,
)
from deniable.transformations.counting import (
    bin_counts,
    category_counts,
    count,
    count_distinct,
    cumulative_counts,
    histogram,
    tree_counts,
)
from deniable.transformations.frames import column, group_by, join_public, truncate_rows
from deniable.transformations.joins import join_frames, take_frame
from deniable.transformations.moments import Summary, moments, moments_of
from deniable.transformations.pairing import pair_randomly
from deniable.transformations.partition import in_each, in_total, partition_by, partition_randomly, union
from deniable.transformations.ranks import quantile_scores
from deniable.transformations.resize import resize
from deniable.transformations.sample_and_aggregate import in_random_parts, sample_and_aggregate
from deniable.transformations.sums import mean, mean_of_at_least, std, sum_of_squares, total, variance
from deniable.transformations.vectors import clamp_entries, clamp_norm, gram, vector_mean, vector_total

__all__ = [
    "Summary",
    "bin_counts",
    "bins",
    "cast",
    "categorize",
    "category_counts",
    "clamp",
    "clamp_entries",
    "clamp_norm",
    "column",
    "count",
    "count_distinct",
    "cumulative_counts",
    "drop_missing",
    "fill",
    "filter_rows",
    "gram",
    "group_by",
    "histogram",
    "impute",
    "in_each",
    "in_random_parts",
    "in_total",
    "join_frames",
    "join_public",
    "log_bands",
    "map_rows",
    "mean",
    "mean_of_at_least",
    "moments",
    "moments_of",
    "one_hot",
    "pair_randomly",
    "partition_by",
    "partition_randomly",
    "quantile_scores",
    "resize",
    "sample_and_aggregate",
    "std",
    "sum_of_squares",
    "take_frame",
    "total",
    "tree_counts",
    "truncate_rows",
    "unbounded",
    "union",
    "unordered",
    "variance",
    "vector_mean",
    "vector_total",
]
