"""A convolution in whole numbers before the dense layers: one window of weights, slid over an image whose pixels are the features.

The gradient of one example is the product of its patches, turned over, with the errors of all positions; its length is found
without a copy for every position (docs/theory/ghost-norms.md). Errors are then shortened towards zero.

Guarantee: patches, activations and errors of a row are whole numbers of that row alone; one unit moves a total by at most the clip.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import ceil, isqrt, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.exact.guards import integer
from deniable.models.encoding import GRID, Feature, Whole
from deniable.models.links import LossLink
from deniable.models.network import (
    FINE,
    GRADIENT_GRID,
    LARGEST,
    REACH,
    WEIGHT_STEPS,
    Passed,
    activated,
    check_network,
    ghost_squares,
    layers,
    lengths_up,
    passed,
    returned,
    scores,
    shares,
)
from deniable.models.unit_totals import PrivateRows, check_exact, cut_total

Floats = NDArray[np.float64]

_ROWS = 1 << 10
"""Rows whose patches are held together."""


@dataclass(frozen=True, slots=True)
class Convolution:
    """`filters` windows of `window` times `window` pixels, slid by `stride` over an image of this `shape`, then the positive part.

    The features are the pixels, all numbers, row after row of the image.
    """

    shape: tuple[int, int]
    filters: int = 8
    window: int = 3
    stride: int = 2

    def __post_init__(self) -> None:
        given: object = self.shape
        if not (isinstance(given, tuple | list) and len(given) == 2):
            raise InvalidArgument(f"shape must be the height and width of the image, got {given!r}")
        object.__setattr__(self, "shape", tuple(integer(shape=size, least=1) for size in self.shape))
        integer(filters=self.filters, least=1)
        integer(stride=self.stride, least=1)
        if integer(window=self.window, least=1) > min(self.shape):
            raise InvalidArgument(f"window must fit into the image of {self.shape}, got {self.window}")

    @property
    def positions(self) -> int:
        """How often the window is laid down."""
        down, across = ((size - self.window) // self.stride + 1 for size in self.shape)
        return down * across

    @property
    def inputs(self) -> int:
        """The entries of a patch, a constant included."""
        return self.window**2 + 1

    @property
    def outputs(self) -> int:
        """The columns the dense layers get, a constant included."""
        return self.positions * self.filters + 1

    @property
    def size(self) -> int:
        """How many weights it has."""
        return self.inputs * self.filters

    def check(self, features: tuple[Feature, ...]) -> None:
        """Refuse features that are not the pixels of such an image."""
        pixels = self.shape[0] * self.shape[1]
        if len(features) != pixels or not all(each.is_number for each in features):
            raise InvalidArgument(
                f"a convolution over {self.shape[0]} by {self.shape[1]} pixels needs {number_of(pixels, 'feature')}, all numbers; "
                f"got {len(features)}"
            )

    def places(self) -> Whole:
        """The columns of every patch among the columns of a row, the constant first column last; numbers have two columns each."""
        height, width = self.shape
        tops = np.arange(0, height - self.window + 1, self.stride)
        lefts = np.arange(0, width - self.window + 1, self.stride)
        corners = (tops[:, None] * width + lefts[None, :]).reshape(-1, 1)
        inside = (np.arange(self.window)[:, None] * width + np.arange(self.window)[None, :]).reshape(1, -1)
        columns = 1 + 2 * (corners + inside)
        return np.concatenate([columns, np.zeros((len(columns), 1), dtype=np.int64)], axis=1)

    def patches(self, features: Floats) -> Floats:
        """Every row's patches: rows by positions by entries."""
        return features[:, self.places()]

    def start(self) -> Floats:
        """Public starting weights: a hash, spread evenly over the usual range."""
        stream = hashlib.shake_256(f"deniable convolution {self}".encode()).digest(4 * self.size)
        even = np.frombuffer(stream, dtype=np.uint32).reshape(self.inputs, self.filters) / 2.0**31 - 1
        return np.rint(even * sqrt(3 / self.inputs) * WEIGHT_STEPS)

    def active(self, patches: Floats, matrix: Floats) -> Floats:
        """What goes into the dense layers: every filter at every position, and a constant."""
        return activated((patches @ matrix).reshape(len(patches), -1))

    def slack(self) -> int:
        """How much longer than the shortened gradient its rounded errors can make it, in steps of a gradient.

        Each of the errors loses less than one step; what they lose, times the patches, is at most this long.
        """
        return ceil(self.positions * GRID * sqrt(self.inputs * self.filters) * 1.001)


def patch_squares(patches: Floats, errors: Floats) -> Floats:
    """At least the squared length of each row's gradient, patches turned over times errors, by the smaller of two matrices.

    Entries of either are whole and exact. Squares of the gradient's own entries are rounded up by `lengths_up`; products of the
    two matrices of positions may cancel, so what rounding can take off them is added.
    """
    if patches.shape[1] ** 2 >= patches.shape[2] * errors.shape[2]:
        gradient = np.matmul(patches.transpose(0, 2, 1), errors)
        return np.asarray(np.einsum("nij,nij->n", gradient, gradient) * (1 + 2.0**-30), dtype=np.float64)
    inside, back = (np.matmul(each, each.transpose(0, 2, 1)) for each in (patches, errors))
    size = np.sqrt(np.einsum("nii->ni", inside) * np.einsum("nii->ni", back)).sum(axis=1)
    exact = np.maximum(np.einsum("nij,nij->n", inside, back), 0)
    return np.asarray(exact + size * size * 2.0**-36, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ConvolutionPath:
    """A convolution and dense layers on whole numbers."""

    image: Convolution
    sizes: tuple[int, ...]
    begin: Floats
    link: LossLink

    grid: ClassVar[int] = GRADIENT_GRID
    said: ClassVar[str] = "a convolution and dense layers on whole numbers, by ghost norms"

    def check(self, clip_steps: int, rows: int) -> None:
        """Refuse, from public sizes, what could leave the exact range or what rounding would swallow."""
        image = self.image
        check_network((image.inputs, *self.sizes), clip_steps, rows)
        check_exact("the gradient of the convolution", GRID * REACH * FINE * image.positions * _ROWS)
        check_exact(
            "the products of two patches", max(GRID**2 * image.inputs, REACH**2 * image.filters) * image.positions
        )
        if image.positions**2 > 1 << 12 and image.positions**2 < image.size:
            raise InvalidArgument("this convolution has too many positions for its filters; use a larger stride")
        if not 16 * image.slack() <= clip_steps:
            least = 16 * image.slack() / GRADIENT_GRID
            raise InvalidArgument(
                f"clip must be at least {least:.3g} for this convolution, got {clip_steps / GRADIENT_GRID:.3g}"
            )
        if rows > 1 and not GRID * REACH * image.positions * rows * (clip_steps // FINE) < 1 << 62:
            raise InvalidArgument("units have too many rows for this convolution; use a larger stride or fewer rows")

    def start(self) -> Floats:
        """The starting weights, flat, in whole steps."""
        return self.begin

    def moved(self, weights: Floats, step: Floats) -> Floats:
        """The weights after a step, whole and below the largest."""
        return np.clip(np.rint(weights + step * WEIGHT_STEPS), -LARGEST, LARGEST)

    def total(self, rows: PrivateRows, weights: Floats, clip_steps: int) -> Whole:
        """The sum over units of gradients, each at most `clip_steps` long.

        Guarantee: one unit more or less moves it by at most `clip_steps`.
        """
        total = np.zeros(len(weights), dtype=np.int64)
        for part, starts in _parts(rows):
            run = self.run(rows.kept["features"][part], rows.kept["truth"][part], np.rint(weights))
            total += run.total(clip_steps) if starts is None else run.by_unit(starts, clip_steps)
        return total

    def run(self, features: Floats, truth: Floats, weights: Floats) -> ConvolutionRun:
        """Forward and back, row by row."""
        matrix, dense = image_layers(self.image, self.sizes, weights)
        patches = self.image.patches(features)
        active = self.image.active(patches, matrix)
        run = passed(active, truth, dense, self.link)
        inner = len(dense) > 1
        length = REACH * sqrt(run.errors[0].shape[1]) if inner else sqrt(self.link.square)
        back = returned(run.errors[0], dense[0][:-1], active[:, :-1], length=length)
        return ConvolutionRun(patches, back.reshape(len(back), self.image.positions, -1), run, self.image.slack())


@dataclass(frozen=True, slots=True, eq=False)
class ConvolutionRun:
    """Patches and errors of the convolution, and what passed the dense layers, of some rows: all whole numbers."""

    patches: Floats
    errors: Floats
    dense: Passed
    slack: int

    def lengths(self) -> Whole:
        """A whole number at least the length of each row's whole gradient."""
        return lengths_up(ghost_squares(self.dense) + patch_squares(self.patches, self.errors))

    def factors(self, clip_steps: int) -> Floats:
        """What errors are multiplied by: where they are shortened, so much more that rounding cannot make them too long."""
        fine = self.lengths() * FINE
        return FINE * np.where(fine <= clip_steps, 1.0, shares(fine, clip_steps - self.slack))

    def shortened(self, clip_steps: int) -> tuple[Floats, list[Floats]]:
        """The errors of the convolution and of the dense layers, finer, towards zero."""
        factors = self.factors(clip_steps)
        return np.trunc(self.errors * factors[:, None, None]), [
            np.trunc(each * factors[:, None]) for each in self.dense.errors
        ]

    def total(self, clip_steps: int) -> Whole:
        """The sum of shortened gradients."""
        first, others = self.shortened(clip_steps)
        wide, deep = self.patches.shape[2], first.shape[2]
        parts = [self.patches.reshape(-1, wide).T @ first.reshape(-1, deep)]
        parts += [each.T @ error for each, error in zip(self.dense.inputs, others, strict=True)]
        return np.concatenate([part.astype(np.int64).ravel() for part in parts])

    def by_unit(self, starts: Whole, clip_steps: int) -> Whole:
        """Units with several rows: their sums are written down and cut."""
        count = len(self.patches)
        parts = [np.matmul(self.patches.transpose(0, 2, 1), self.errors).reshape(count, -1)]
        parts += [
            (each[:, :, None] * error[:, None, :]).reshape(count, -1)
            for each, error in zip(self.dense.inputs, self.dense.errors, strict=True)
        ]
        return cut_total(np.concatenate(parts, axis=1).astype(np.int64), starts, clip_steps // FINE) * FINE


def image_layers(image: Convolution, sizes: tuple[int, ...], flat: Floats) -> tuple[Floats, list[Floats]]:
    """Flat weights as the convolution's matrix and one for each dense layer."""
    return flat[: image.size].reshape(image.inputs, image.filters), layers(sizes, flat[image.size :])


def image_scores(features: Floats, image: Convolution, sizes: tuple[int, ...], flat: Floats) -> Floats:
    """The outputs of the last layer, in steps of 1/(GRID * WEIGHT_STEPS)."""
    matrix, dense = image_layers(image, sizes, flat)
    found = [
        scores(image.active(image.patches(features[first : first + _ROWS]), matrix), dense)[0]
        for first in range(0, len(features), _ROWS)
    ]
    return np.concatenate(found) if found else np.zeros((0, dense[-1].shape[1]))


def _parts(rows: PrivateRows) -> list[tuple[slice, Whole | None]]:
    """A few rows at a time, whole units together."""
    if rows.starts is None:
        return [(slice(at, min(at + _ROWS, rows.count)), None) for at in range(0, rows.count, _ROWS)]
    ends, some = np.append(rows.starts, rows.count), max(1, isqrt(_ROWS))
    firsts = range(0, len(rows.starts), some)
    return [
        (slice(int(ends[at]), int(ends[min(at + some, len(rows.starts))])), rows.starts[at : at + some] - ends[at])
        for at in firsts
    ]
