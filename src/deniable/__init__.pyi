"""Made by `python -m docs.stub` from the table in `__init__.py`."""

from deniable import accounting as accounting
from deniable import attacks as attacks
from deniable import audit as audit
from deniable import calculus as calculus
from deniable import core as core
from deniable import cost as costs
from deniable import ledger as ledger
from deniable import noise as noise
from deniable.accounting import Bracket as Bracket
from deniable.accounting import Budget as Budget
from deniable.accounting import Design as Design
from deniable.accounting import Secrecy as Secrecy
from deniable.accounting import budget as budget
from deniable.accounting import calibrate as calibrate
from deniable.accounting import delta as delta
from deniable.accounting import epsilon as epsilon
from deniable.accounting import explain as explain
from deniable.accounting import implied_guarantee as implied_guarantee
from deniable.accounting import loss_distribution as loss_distribution
from deniable.accounting import per_query as per_query
from deniable.accounting import population_cost as population_cost
from deniable.accounting import profile as profile
from deniable.accounting import strength as strength
from deniable.accounting import tradeoff as tradeoff
from deniable.cli.notebook import load_ipython_extension as load_ipython_extension
from deniable.core import Accuracy as Accuracy
from deniable.core import Compositor as Compositor
from deniable.core import Filter as Filter
from deniable.core import Mechanism as Mechanism
from deniable.core import MechanismFamily as MechanismFamily
from deniable.core import Odometer as Odometer
from deniable.core import Root as Root
from deniable.core import Space as Space
from deniable.core import Step as Step
from deniable.core import Transformation as Transformation
from deniable.core import Triple as Triple
from deniable.core import Utility as Utility
from deniable.core import adjacent as adjacent
from deniable.core import categories as categories
from deniable.core import compositor as compositor
from deniable.core import frame as frame
from deniable.core import frames as frames
from deniable.core import integers as integers
from deniable.core import interactive as interactive
from deniable.core import numbers as numbers
from deniable.core import odometer as odometer
from deniable.core import own_mechanism as own_mechanism
from deniable.core import own_transformation as own_transformation
from deniable.core import rows as rows
from deniable.core import step as step
from deniable.core import stream as stream
from deniable.engines.text.file import TextFile as TextFile
from deniable.errors import BudgetExceeded as BudgetExceeded
from deniable.errors import DeniableError as DeniableError
from deniable.errors import EngineFailed as EngineFailed
from deniable.errors import InvalidArgument as InvalidArgument
from deniable.errors import LedgerError as LedgerError
from deniable.errors import QueryRefused as QueryRefused
from deniable.errors import Retired as Retired
from deniable.errors import SpaceMismatch as SpaceMismatch
from deniable.errors import Unaccountable as Unaccountable
from deniable.errors import Unanswered as Unanswered
from deniable.ledger.receipt import Receipt as Receipt
from deniable.mechanisms import Belief as Belief
from deniable.mechanisms import Estimate as Estimate
from deniable.mechanisms import Hit as Hit
from deniable.mechanisms import Law as Law
from deniable.mechanisms import Leader as Leader
from deniable.mechanisms import Leaders as Leaders
from deniable.mechanisms import LearntBounds as LearntBounds
from deniable.mechanisms import LossAt as LossAt
from deniable.mechanisms import MaxNoise as MaxNoise
from deniable.mechanisms import Moments as Moments
from deniable.mechanisms import NoisySpine as NoisySpine
from deniable.mechanisms import NoisyTree as NoisyTree
from deniable.mechanisms import QueryStream as QueryStream
from deniable.mechanisms import Side as Side
from deniable.mechanisms import StreamMechanism as StreamMechanism
from deniable.mechanisms import Survey as Survey
from deniable.mechanisms import above_threshold as above_threshold
from deniable.mechanisms import above_threshold_with_gap as above_threshold_with_gap
from deniable.mechanisms import alerts as alerts
from deniable.mechanisms import all_above_threshold as all_above_threshold
from deniable.mechanisms import best_of as best_of
from deniable.mechanisms import bounded_geometric as bounded_geometric
from deniable.mechanisms import coin_flip as coin_flip
from deniable.mechanisms import combine as combine
from deniable.mechanisms import consistent as consistent
from deniable.mechanisms import consistent_marginals as consistent_marginals
from deniable.mechanisms import detection_power as detection_power
from deniable.mechanisms import discrete_gaussian as discrete_gaussian
from deniable.mechanisms import estimate_mean as estimate_mean
from deniable.mechanisms import estimate_share as estimate_share
from deniable.mechanisms import estimate_shares as estimate_shares
from deniable.mechanisms import exponential as exponential
from deniable.mechanisms import exponential_interval as exponential_interval
from deniable.mechanisms import first_above as first_above
from deniable.mechanisms import gaussian as gaussian
from deniable.mechanisms import in_batches as in_batches
from deniable.mechanisms import keep_probability as keep_probability
from deniable.mechanisms import laplace as laplace
from deniable.mechanisms import local_mean as local_mean
from deniable.mechanisms import loss_at as loss_at
from deniable.mechanisms import lower_estimate as lower_estimate
from deniable.mechanisms import margin_for as margin_for
from deniable.mechanisms import most_frequent as most_frequent
from deniable.mechanisms import new_key_delta as new_key_delta
from deniable.mechanisms import noisy_hierarchy as noisy_hierarchy
from deniable.mechanisms import noisy_max_with_gap as noisy_max_with_gap
from deniable.mechanisms import noisy_top_k as noisy_top_k
from deniable.mechanisms import noisy_tree as noisy_tree
from deniable.mechanisms import odds as odds
from deniable.mechanisms import one_shot_top_k as one_shot_top_k
from deniable.mechanisms import posterior as posterior
from deniable.mechanisms import private_bounds as private_bounds
from deniable.mechanisms import private_cdf as private_cdf
from deniable.mechanisms import private_covariance as private_covariance
from deniable.mechanisms import private_histogram as private_histogram
from deniable.mechanisms import private_iqr as private_iqr
from deniable.mechanisms import private_maximum as private_maximum
from deniable.mechanisms import private_median as private_median
from deniable.mechanisms import private_minimum as private_minimum
from deniable.mechanisms import private_mode as private_mode
from deniable.mechanisms import private_quantile as private_quantile
from deniable.mechanisms import private_quantiles as private_quantiles
from deniable.mechanisms import private_top_k as private_top_k
from deniable.mechanisms import private_upper_bound as private_upper_bound
from deniable.mechanisms import propose_test_release as propose_test_release
from deniable.mechanisms import query_stream as query_stream
from deniable.mechanisms import randomized_response as randomized_response
from deniable.mechanisms import report_noisy_max as report_noisy_max
from deniable.mechanisms import running_total as running_total
from deniable.mechanisms import sampled as sampled
from deniable.mechanisms import select_partitions as select_partitions
from deniable.mechanisms import set_union as set_union
from deniable.mechanisms import shuffled as shuffled
from deniable.mechanisms import stream_maximum as stream_maximum
from deniable.mechanisms import threshold_for as threshold_for
from deniable.mechanisms import threshold_histogram as threshold_histogram
from deniable.mechanisms import timed as timed
from deniable.mechanisms import together as together
from deniable.mechanisms import truncated_laplace as truncated_laplace
from deniable.mechanisms import truth_probability as truth_probability
from deniable.mechanisms import upper_estimate as upper_estimate
from deniable.mechanisms import whole_counts as whole_counts
from deniable.noise import Entropy as Entropy
from deniable.plan.codebook import Codebook as Codebook
from deniable.plan.smartnoise import from_smartnoise as from_smartnoise
from deniable.plan.unit import row_unit as row_unit
from deniable.plan.unit import unit as unit
from deniable.query.aggregates import count as count
from deniable.query.aggregates import count_distinct as count_distinct
from deniable.query.aggregates import covariance as covariance
from deniable.query.aggregates import histogram as histogram
from deniable.query.aggregates import maximum as maximum
from deniable.query.aggregates import mean as mean
from deniable.query.aggregates import median as median
from deniable.query.aggregates import minimum as minimum
from deniable.query.aggregates import mode as mode
from deniable.query.aggregates import quantile as quantile
from deniable.query.aggregates import std as std
from deniable.query.aggregates import sum as sum
from deniable.query.aggregates import top_k as top_k
from deniable.query.aggregates import variance as variance
from deniable.release.answer import Release as Release
from deniable.release.dataset import Dataset as Dataset
from deniable.release.facts import ReleaseFacts as ReleaseFacts
from deniable.release.rehearsal import Rehearsal as Rehearsal
from deniable.release.release_table import extended_release_table as extended_release_table
from deniable.release.release_table import release_table as release_table
from deniable.release.session import Session as Session
from deniable.release.value import ValueRelease as ValueRelease
from deniable.transformations import bin_counts as bin_counts
from deniable.transformations import bins as bins
from deniable.transformations import cast as cast
from deniable.transformations import categorize as categorize
from deniable.transformations import category_counts as category_counts
from deniable.transformations import clamp as clamp
from deniable.transformations import clamp_entries as clamp_entries
from deniable.transformations import clamp_norm as clamp_norm
from deniable.transformations import count_by_key as count_by_key
from deniable.transformations import cumulative_counts as cumulative_counts
from deniable.transformations import distance_to as distance_to
from deniable.transformations import drop_missing as drop_missing
from deniable.transformations import fill as fill
from deniable.transformations import filter_rows as filter_rows
from deniable.transformations import gram as gram
from deniable.transformations import impute as impute
from deniable.transformations import in_each as in_each
from deniable.transformations import in_random_parts as in_random_parts
from deniable.transformations import in_total as in_total
from deniable.transformations import join_frames as join_frames
from deniable.transformations import join_public as join_public
from deniable.transformations import largest_of as largest_of
from deniable.transformations import log_bands as log_bands
from deniable.transformations import map_rows as map_rows
from deniable.transformations import max_per_person as max_per_person
from deniable.transformations import mean_of_at_least as mean_of_at_least
from deniable.transformations import mean_per_person as mean_per_person
from deniable.transformations import median_per_person as median_per_person
from deniable.transformations import min_per_person as min_per_person
from deniable.transformations import mode_per_person as mode_per_person
from deniable.transformations import moments as moments
from deniable.transformations import moments_of as moments_of
from deniable.transformations import one_hot as one_hot
from deniable.transformations import pair_randomly as pair_randomly
from deniable.transformations import partition_by as partition_by
from deniable.transformations import partition_randomly as partition_randomly
from deniable.transformations import quantile_per_person as quantile_per_person
from deniable.transformations import quantile_scores as quantile_scores
from deniable.transformations import resize as resize
from deniable.transformations import sample_and_aggregate as sample_and_aggregate
from deniable.transformations import sample_per_person as sample_per_person
from deniable.transformations import sum_of_squares as sum_of_squares
from deniable.transformations import take_frame as take_frame
from deniable.transformations import total as total
from deniable.transformations import tree_counts as tree_counts
from deniable.transformations import truncate_rows as truncate_rows
from deniable.transformations import unbounded as unbounded
from deniable.transformations import unordered as unordered
from deniable.transformations import vector_mean as vector_mean
from deniable.transformations import vector_moments as vector_moments
from deniable.transformations import vector_moments_of as vector_moments_of
from deniable.transformations import vector_total as vector_total
from deniable.transformations import vector_variance as vector_variance
from deniable.version import __version__ as __version__

__all__ = [
    "Accuracy",
    "Belief",
    "Bracket",
    "Budget",
    "BudgetExceeded",
    "Codebook",
    "Compositor",
    "Dataset",
    "DeniableError",
    "Design",
    "EngineFailed",
    "Entropy",
    "Estimate",
    "Filter",
    "Hit",
    "InvalidArgument",
    "Law",
    "Leader",
    "Leaders",
    "LearntBounds",
    "LedgerError",
    "LossAt",
    "MaxNoise",
    "Mechanism",
    "MechanismFamily",
    "Moments",
    "NoisySpine",
    "NoisyTree",
    "Odometer",
    "QueryRefused",
    "QueryStream",
    "Receipt",
    "Rehearsal",
    "Release",
    "ReleaseFacts",
    "Retired",
    "Root",
    "Secrecy",
    "Session",
    "Side",
    "Space",
    "SpaceMismatch",
    "Step",
    "StreamMechanism",
    "Survey",
    "TextFile",
    "Transformation",
    "Triple",
    "Unaccountable",
    "Unanswered",
    "Utility",
    "ValueRelease",
    "__version__",
    "above_threshold",
    "above_threshold_with_gap",
    "accounting",
    "adjacent",
    "alerts",
    "all_above_threshold",
    "attacks",
    "audit",
    "best_of",
    "bin_counts",
    "bins",
    "bounded_geometric",
    "budget",
    "calculus",
    "calibrate",
    "cast",
    "categories",
    "categorize",
    "category_counts",
    "clamp",
    "clamp_entries",
    "clamp_norm",
    "coin_flip",
    "combine",
    "compositor",
    "consistent",
    "consistent_marginals",
    "core",
    "costs",
    "count",
    "count_by_key",
    "count_distinct",
    "covariance",
    "cumulative_counts",
    "delta",
    "detection_power",
    "discrete_gaussian",
    "distance_to",
    "drop_missing",
    "epsilon",
    "estimate_mean",
    "estimate_share",
    "estimate_shares",
    "explain",
    "exponential",
    "exponential_interval",
    "extended_release_table",
    "fill",
    "filter_rows",
    "first_above",
    "frame",
    "frames",
    "from_smartnoise",
    "gaussian",
    "gram",
    "histogram",
    "implied_guarantee",
    "impute",
    "in_batches",
    "in_each",
    "in_random_parts",
    "in_total",
    "integers",
    "interactive",
    "join_frames",
    "join_public",
    "keep_probability",
    "laplace",
    "largest_of",
    "ledger",
    "load_ipython_extension",
    "local_mean",
    "log_bands",
    "loss_at",
    "loss_distribution",
    "lower_estimate",
    "map_rows",
    "margin_for",
    "max_per_person",
    "maximum",
    "mean",
    "mean_of_at_least",
    "mean_per_person",
    "median",
    "median_per_person",
    "min_per_person",
    "minimum",
    "mode",
    "mode_per_person",
    "moments",
    "moments_of",
    "most_frequent",
    "new_key_delta",
    "noise",
    "noisy_hierarchy",
    "noisy_max_with_gap",
    "noisy_top_k",
    "noisy_tree",
    "numbers",
    "odds",
    "odometer",
    "one_hot",
    "one_shot_top_k",
    "own_mechanism",
    "own_transformation",
    "pair_randomly",
    "partition_by",
    "partition_randomly",
    "per_query",
    "population_cost",
    "posterior",
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
    "profile",
    "propose_test_release",
    "quantile",
    "quantile_per_person",
    "quantile_scores",
    "query_stream",
    "randomized_response",
    "release_table",
    "report_noisy_max",
    "resize",
    "row_unit",
    "rows",
    "running_total",
    "sample_and_aggregate",
    "sample_per_person",
    "sampled",
    "select_partitions",
    "set_union",
    "shuffled",
    "std",
    "step",
    "stream",
    "stream_maximum",
    "strength",
    "sum",
    "sum_of_squares",
    "take_frame",
    "threshold_for",
    "threshold_histogram",
    "timed",
    "together",
    "top_k",
    "total",
    "tradeoff",
    "tree_counts",
    "truncate_rows",
    "truncated_laplace",
    "truth_probability",
    "unbounded",
    "unit",
    "unordered",
    "upper_estimate",
    "variance",
    "vector_mean",
    "vector_moments",
    "vector_moments_of",
    "vector_total",
    "vector_variance",
    "whole_counts",
]
