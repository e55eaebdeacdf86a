"""Kernels: what mechanisms and table queries share. Whole numbers in, whole numbers out, each with its cost and its error."""

from deniable.kernels.integer_noise import Apart, Noise
from deniable.kernels.laws import Law

__all__ = ["Apart", "Law", "Noise"]
