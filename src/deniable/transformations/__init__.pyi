from deniable.transformations.binning import bins, log_bands, one_hot, quantile_scores
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
from deniable.transformations.each import in_each
from deniable.transformations.frames import column, group_by, join_public
from deniable.transformations.graph_counts import (
    degree_counts,
    degree_total,
    degrees,
    edge_count,
    node_count,
    triangle_count,
)
from deniable.transformations.joins import join_frames, take_frame
from deniable.transformations.keyed_counts import count_by_key
from deniable.transformations.moments import (
    Summary,
    moments,
    moments_of,
    vector_moments,
    vector_moments_of,
    vector_variance,
)
from deniable.transformations.norms import clamp_norm, vector_mean, vector_total
from deniable.transformations.pairing import pair_randomly
from deniable.transformations.partition import in_total, partition_by, partition_randomly, union
from deniable.transformations.per_person import (
    max_per_person,
    mean_per_person,
    median_per_person,
    min_per_person,
    mode_per_person,
    quantile_per_person,
    sample_per_person,
)
from deniable.transformations.public_network import neighbour_totals, total_over_edges
from deniable.transformations.queries import distance_to, largest_of
from deniable.transformations.resize import resize
from deniable.transformations.sample_and_aggregate import in_random_parts, sample_and_aggregate
from deniable.transformations.sums import mean, mean_of_at_least, std, sum_of_squares, total, variance
from deniable.transformations.truncation import truncate_rows
from deniable.transformations.vectors import clamp_entries, gram

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
    "count_by_key",
    "count_distinct",
    "cumulative_counts",
    "degree_counts",
    "degree_total",
    "degrees",
    "distance_to",
    "drop_missing",
    "edge_count",
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
    "largest_of",
    "log_bands",
    "map_rows",
    "max_per_person",
    "mean",
    "mean_of_at_least",
    "mean_per_person",
    "median_per_person",
    "min_per_person",
    "mode_per_person",
    "moments",
    "moments_of",
    "neighbour_totals",
    "node_count",
    "one_hot",
    "pair_randomly",
    "partition_by",
    "partition_randomly",
    "quantile_per_person",
    "quantile_scores",
    "resize",
    "sample_and_aggregate",
    "sample_per_person",
    "std",
    "sum_of_squares",
    "take_frame",
    "total",
    "total_over_edges",
    "tree_counts",
    "triangle_count",
    "truncate_rows",
    "unbounded",
    "union",
    "unordered",
    "variance",
    "vector_mean",
    "vector_moments",
    "vector_moments_of",
    "vector_total",
    "vector_variance",
]
