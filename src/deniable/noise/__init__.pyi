from deniable.noise.choice import categorical, categoricals, exponential_choice, permute_and_flip
from deniable.noise.coin import bernoulli, bernoulli_exp, bernoullis
from deniable.noise.counts import poisson, truncated_negative_binomial
from deniable.noise.entropy import Entropy, system_entropy
from deniable.noise.gaussian import (
    discrete_gaussian,
    discrete_gaussians,
    rounded_gaussian,
    rounded_gaussians,
    truncated_gaussian,
    truncated_gaussians,
)
from deniable.noise.laplace import (
    discrete_laplace,
    discrete_laplaces,
    geometric,
    geometrics,
    truncated_laplace,
    truncated_laplaces,
)
from deniable.noise.race import Ranking, exponential_ranking, laplace_ranking
from deniable.noise.uniform import permutation, sample_without_replacement, uniform_below, uniforms_below

__all__ = [
    "Entropy",
    "Ranking",
    "bernoulli",
    "bernoulli_exp",
    "bernoullis",
    "categorical",
    "categoricals",
    "discrete_gaussian",
    "discrete_gaussians",
    "discrete_laplace",
    "discrete_laplaces",
    "exponential_choice",
    "exponential_ranking",
    "geometric",
    "geometrics",
    "laplace_ranking",
    "permutation",
    "permute_and_flip",
    "poisson",
    "rounded_gaussian",
    "rounded_gaussians",
    "sample_without_replacement",
    "system_entropy",
    "truncated_gaussian",
    "truncated_gaussians",
    "truncated_laplace",
    "truncated_laplaces",
    "truncated_negative_binomial",
    "uniform_below",
    "uniforms_below",
]
