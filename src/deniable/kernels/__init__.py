"""Kernels: what mechanisms and table queries share. Whole numbers in, whole numbers out, each with its cost and its error."""

from deniable.kernels.integer_noise import (
    ColumnNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    HalvesNoise,
    Noise,
    RoundedGaussianNoise,
    noise_of,
)
from deniable.kernels.laws import Law
from deniable.kernels.staircase import Staircase
from deniable.kernels.unit_sensitivity import Sensitivity

__all__ = [
    "ColumnNoise",
    "DiscreteGaussianNoise",
    "DiscreteLaplaceNoise",
    "HalvesNoise",
    "Law",
    "Noise",
    "RoundedGaussianNoise",
    "Sensitivity",
    "Staircase",
    "noise_of",
]
