"""A dense network in whole numbers: every example's own gradient is cut to a length without ever being written down.

Activations, weights and errors live on public grids. The squared length of one example's gradient is the sum over layers of
(squared length of what goes in) times (squared length of the error that comes back): a ghost norm, rounded up. The error is
then shortened towards zero, so that the whole gradient is at most the norm (docs/theory/ghost-norms.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.exact.guards import integer
from deniable.models.encoding import GRID, Whole
from deniable.models.links import LINK_GRID, LossLink
from deniable.models.unit_totals import PrivateRows, check_exact, cut_total

Floats = NDArray[np.float64]

WEIGHT_STEPS = 1 << 12
"""Steps of a weight to 1."""
LARGEST = 1 << 18
"""Weights are kept below this many steps, 64."""
REACH = 1 << 13
"""Activations and errors inside the network are cut to this many steps, 8."""
FINE = 1 << 6
"""Errors are written this many times finer before they are shortened."""
GRADIENT_GRID = GRID * LINK_GRID * FINE
"""Steps of a gradient to 1."""


@dataclass(frozen=True, slots=True)
class Network:
    """A dense network with the positive part after every hidden layer; `hidden` are their sizes, none for a linear model."""

    hidden: tuple[int, ...] = (32,)
    image: Any = None
    """Before the hidden layers: a `Convolution` where the features are the pixels of an image, or an `Embedding` of categories."""

    def __post_init__(self) -> None:
        given: object = self.hidden
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise InvalidArgument(f"hidden must be a list of layer sizes, got {given!r}")
        object.__setattr__(self, "hidden", tuple(integer(hidden=size, least=1) for size in self.hidden))

    def sizes(self, inputs: int, outputs: int) -> tuple[int, ...]:
        """The number of columns before, between and after the layers; inner ones have one constant column more."""
        return (inputs, *self.hidden, outputs)

    def start(self, inputs: int, outputs: int) -> list[Floats]:
        """Public starting weights: a hash, spread evenly over the usual range of each layer."""
        sizes = self.sizes(inputs, outputs)
        weights = []
        for layer, (before, after) in enumerate(pairwise(sizes)):
            rows = before + (layer > 0)
            stream = hashlib.shake_256(f"deniable network {layer} {sizes}".encode()).digest(4 * rows * after)
            even = np.frombuffer(stream, dtype=np.uint32).reshape(rows, after) / 2.0**31 - 1
            weights.append(np.rint(even * sqrt(3 / rows) * WEIGHT_STEPS))
        return weights


def check_network(sizes: Sequence[int], clip_steps: int, rows: int) -> None:
    """Refuse, from public sizes, a network whose products or lengths could leave the exact range."""
    for layer, (before, after) in enumerate(pairwise(sizes)):
        into = GRID if layer == 0 else REACH
        check_exact(f"layer {layer + 1}", (before + 1) * into * LARGEST)
        check_exact(f"the gradient of layer {layer + 1}", into * REACH * FINE << 16)
        check_exact(f"the squared length of layer {layer + 1}", (max(before, after) + 1) * REACH**2)
    if not (clip_steps < 1 << 40 and clip_steps * REACH * FINE < 1 << 62 and rows < 1 << 12):
        raise InvalidArgument("clip is too large for exact arithmetic; use a smaller one")
    if rows > 1 and not (clip_steps >= FINE and REACH**2 * rows * (clip_steps // FINE) < 1 << 62):
        raise InvalidArgument(
            f"clip must lie between {FINE / GRADIENT_GRID:.3g} and {(1 << 62) / REACH**2 / rows * FINE / GRADIENT_GRID:.3g} "
            f"where a unit has {number_of(rows, 'row')}, got {clip_steps / GRADIENT_GRID:.6g}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """What goes into every layer, and the error that comes back to it, of some rows: all whole numbers."""

    inputs: list[Floats]
    errors: list[Floats]


def scores(features: Floats, weights: Sequence[Floats]) -> tuple[Floats, list[Floats]]:
    """The outputs of the last layer, in steps of 1/(GRID * WEIGHT_STEPS), and what went into every layer."""
    inputs, here = [features], features
    for matrix in weights[:-1]:
        here = activated(here @ matrix)
        inputs.append(here)
    return here @ weights[-1], inputs


def activated(found: Floats) -> Floats:
    """The positive part of what a layer gives, on its grid and up to REACH, with a constant column; `found` is used up."""
    found *= 1 / WEIGHT_STEPS
    np.floor(found, out=found)
    np.clip(found, 0, REACH, out=found)
    wide = np.empty((len(found), found.shape[1] + 1))
    wide[:, :-1], wide[:, -1] = found, GRID
    return wide


def passed(features: Floats, truth: Floats, weights: Sequence[Floats], link: LossLink) -> Passed:
    """Forward and back, row by row."""
    found, inputs = scores(features, weights)
    error, length = link.residuals(found, truth), sqrt(link.square)
    errors = [error]
    for layer in range(len(weights) - 1, 0, -1):
        error = returned(error, weights[layer][:-1], inputs[layer][:, :-1], length=length)
        length = REACH * sqrt(error.shape[1])
        errors.insert(0, error)
    return Passed(inputs, errors)


def returned(error: Floats, matrix: Floats, active: Floats, *, length: float) -> Floats:
    """The error before a layer, where it was active and up to REACH; `length` is the most that `error` can be long."""
    back = error * matrix[:, 0] if matrix.shape[1] == 1 else error @ matrix.T
    back *= 1 / WEIGHT_STEPS
    np.trunc(back, out=back)
    if not _within(matrix, length=length):
        np.clip(back, -REACH, REACH, out=back)
    back *= active > 0
    return np.asarray(back, dtype=np.float64)


def _within(matrix: Floats, *, length: float) -> bool:
    """Whether no error up to this length can come back through these public weights above REACH, so that none need be cut."""
    return bool(np.abs(matrix).max(initial=0.0) * sqrt(matrix.shape[1]) * length * 1.001 <= REACH * WEIGHT_STEPS)


def ghost_lengths(run: Passed) -> Whole:
    """A whole number at least the length of each row's whole gradient, in steps of 1/(GRID * LINK_GRID).

    Squared lengths of inputs and errors are whole and exact; their products and sum may be rounded, by less than one part in
    2**48, so a root of slightly more, rounded up, is certainly not below the true length.
    """
    return lengths_up(ghost_squares(run))


def ghost_squares(run: Passed) -> Floats:
    """The squared lengths, before rounding up."""
    squares = np.zeros(len(run.errors[0]))
    for each, error in zip(run.inputs, run.errors, strict=True):
        squares += np.einsum("ij,ij->i", each, each) * np.einsum("ij,ij->i", error, error)
    return squares


def lengths_up(squares: Floats) -> Whole:
    """Whole numbers at least the roots of what these were before they were rounded."""
    return np.ceil(np.sqrt(squares * (1 + 2.0**-40))).astype(np.int64) + (squares > 0)


def shortened(run: Passed, clip_steps: int) -> list[Floats]:
    """The errors, finer, each row's shortened towards zero until its gradient is at most `clip_steps` long."""
    factors = FINE * shares(ghost_lengths(run) * FINE, clip_steps)[:, None]
    return [np.trunc(shorter, out=shorter) for shorter in (error * factors for error in run.errors)]


def shares(lengths: Whole, most: int) -> Floats:
    """At most `most` over each length, by less than one part in 2**30, and 1 where the length is no more.

    A share has 32 binary digits, so its product with a whole number below 2**21 is exact in floating point.
    """
    digits, power = np.frexp(most * (1 - 2.0**-50) / np.maximum(lengths, 1))
    return np.where(lengths <= most, 1.0, np.ldexp(np.floor(digits * 2.0**32), power - 32))


def gradient_total(rows: PrivateRows, weights: Sequence[Floats], link: LossLink, *, clip_steps: int) -> Whole:
    """The sum over units of gradients, each at most `clip_steps` long, flattened layer by layer; upwards, towards a better fit.

    Guarantee: one unit more or less moves it by at most `clip_steps`.
    """
    sizes = [matrix.size for matrix in weights]
    total = np.zeros(sum(sizes), dtype=np.int64)
    for block, starts in rows.blocks():
        run = passed(rows.kept["features"][block], rows.kept["truth"][block], weights, link)
        if starts is None:
            parts = [each.T @ error for each, error in zip(run.inputs, shortened(run, clip_steps), strict=True)]
            total += np.concatenate([part.astype(np.int64).ravel() for part in parts])
        else:
            total += _by_unit(run, starts, clip_steps)
    return total


def _by_unit(run: Passed, starts: Whole, clip_steps: int) -> Whole:
    """Units with several rows: their sums are written down, a few units at a time, and cut."""
    ends = np.append(starts, len(run.errors[0]))
    width = sum(each.shape[1] * error.shape[1] for each, error in zip(run.inputs, run.errors, strict=True))
    some, total = max(1, (1 << 20) // width), np.zeros(width, dtype=np.int64)
    for first in range(0, len(starts), some):
        last = min(first + some, len(starts))
        part = slice(int(ends[first]), int(ends[last]))
        outer = [
            (each[part, :, None] * error[part, None, :]).reshape(part.stop - part.start, -1).astype(np.int64)
            for each, error in zip(run.inputs, run.errors, strict=True)
        ]
        vectors = np.concatenate(outer, axis=1)
        total += cut_total(vectors, starts[first:last] - starts[first], clip_steps // FINE) * FINE
    return total


def layers(sizes: tuple[int, ...], flat: Floats) -> list[Floats]:
    """Flat weights as one matrix for each layer."""
    found, place = [], 0
    for layer, (before, after) in enumerate(pairwise(sizes)):
        rows = before + (layer > 0)
        found.append(flat[place : place + rows * after].reshape(rows, after))
        place += rows * after
    return found
