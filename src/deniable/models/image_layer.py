"""Layers that use one set of weights at many places of a row, in whole numbers before the dense layers: convolutions over an image
whose pixels are the features, one after another, and an embedding table that all features are looked up in.

The gradient of one example is the product of what the layer sees at each place, turned over, with the errors of all places; its
length is found without a copy for every place (docs/theory/ghost-norms.md). Errors are then shortened towards zero.

Guarantee: what is seen, activations and errors of a row are whole numbers of that row alone; one unit moves a total by at most the
clip.
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
"""Rows whose places are held together."""
_TERMS = 1 << 12
"""Up to so many pairs of places the length of a gradient may be added up from them."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedWeights:
    """One layer: which columns it sees at each of its places (places by entries), and how many numbers it gives at each.

    What comes in is at most `into` in size. With `positive` the last entry is the constant column, and what comes out is cut to its
    positive part.
    """

    places: Whole
    filters: int
    into: int
    positive: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Of its weights: entries by filters."""
        return int(self.places.shape[1]), self.filters

    @property
    def size(self) -> int:
        """How many weights it has."""
        return self.shape[0] * self.filters

    def active(self, seen: Floats, matrix: Floats) -> Floats:
        """What goes into the next layer: every filter at every place, and a constant."""
        found = (seen @ matrix).reshape(len(seen), -1)
        if self.positive:
            return activated(found)
        wide = np.full((len(found), found.shape[1] + 1), float(GRID))
        wide[:, :-1] = np.clip(np.trunc(found / WEIGHT_STEPS), -REACH, REACH)
        return wide

    def before(self, errors: Floats, matrix: Floats, columns: Floats) -> Floats:
        """The errors of the columns that came in, all but the constant one, where they were active, and up to REACH."""
        inner = self.places.shape[1] - 1
        back, total = errors @ matrix[:inner].T, np.zeros((len(errors), columns.shape[1] - 1))
        for entry in range(inner):  # no column is twice among the places of one entry
            total[:, self.places[:, entry]] += back[:, :, entry]
        return np.clip(np.trunc(total / WEIGHT_STEPS), -REACH, REACH) * (columns[:, :-1] > 0)

    def check(self) -> None:
        """Refuse, from public sizes, what could leave the whole numbers that floating point holds exactly."""
        places, entries = self.places.shape
        overlaps = int(np.bincount(self.places.ravel()).max())
        check_exact("a layer of shared weights", entries * self.into * LARGEST)
        check_exact("its errors", overlaps * self.filters * REACH * LARGEST)
        check_exact("its gradient", self.into * REACH * FINE * places * _ROWS)
        check_exact("the products of two places", max(self.into**2 * entries, REACH**2 * self.filters) * places)

    def slack(self) -> int:
        """About how much longer than the shortened gradient its rounded errors can make it, where columns are at most 1."""
        return ceil(len(self.places) * GRID * sqrt(self.size) * 1.001)

    def start(self, name: str) -> Floats:
        """Public starting weights: a hash of the name, spread evenly over the usual range."""
        stream = hashlib.shake_256(name.encode()).digest(4 * self.size)
        even = np.frombuffer(stream, dtype=np.uint32) / 2.0**31 - 1
        return np.rint(even * sqrt(3 / (self.shape[0] if self.positive else 1)) * WEIGHT_STEPS)


Chain = tuple[SharedWeights, ...]
"""Layers of shared weights, the first one first."""


@dataclass(frozen=True, slots=True)
class Convolution:
    """`filters` windows of `window` times `window` pixels, slid by `stride` over an image of this `shape`, then the positive part.

    The features are the pixels, all numbers, row after row of the image. `then` puts another convolution behind this one.
    """

    shape: tuple[int, int]
    filters: int = 8
    window: int = 3
    stride: int = 2
    earlier: Convolution | None = None
    """The convolution whose filters are the channels of this one's image."""

    said: ClassVar[str] = "convolutions and dense layers on whole numbers, by ghost norms"

    def __post_init__(self) -> None:
        given: object = self.shape
        if not (isinstance(given, tuple | list) and len(given) == 2):
            raise InvalidArgument(f"shape must be the height and width of the image, got {given!r}")
        object.__setattr__(self, "shape", tuple(integer(shape=size, least=1) for size in self.shape))
        integer(filters=self.filters, least=1)
        integer(stride=self.stride, least=1)
        if integer(window=self.window, least=1) > min(self.shape):
            raise InvalidArgument(f"window must fit into the image of {self.shape}, got {self.window}")
        if self.earlier is not None and self.earlier.result != self.shape:
            raise InvalidArgument(f"the convolution before gives an image of {self.earlier.result}, got {self.shape}")

    def then(self, filters: int = 8, window: int = 3, stride: int = 1) -> Convolution:
        """Another convolution over what this one gives; its filters see all filters of this one."""
        return Convolution(self.result, filters, window, stride, self)

    @property
    def result(self) -> tuple[int, int]:
        """How often the window is laid down, downwards and across."""
        down, across = ((size - self.window) // self.stride + 1 for size in self.shape)
        return down, across

    @property
    def outputs(self) -> int:
        """The columns the next layers get, a constant included."""
        return self.result[0] * self.result[1] * self.filters + 1

    def chain(self) -> Chain:
        """This convolution and all before it, the first one first."""
        if self.earlier is None:
            return (SharedWeights(self._places(1), self.filters, GRID, True),)
        return (*self.earlier.chain(), SharedWeights(self._places(self.earlier.filters), self.filters, REACH, True))

    def _places(self, channels: int) -> Whole:
        """The columns of every window, the constant one last: the first image's numbers have two columns each, after a constant."""
        height, width = self.shape
        tops = np.arange(0, height - self.window + 1, self.stride)
        lefts = np.arange(0, width - self.window + 1, self.stride)
        corners = (tops[:, None] * width + lefts[None, :]).reshape(-1, 1)
        inside = (np.arange(self.window)[:, None] * width + np.arange(self.window)[None, :]).reshape(1, -1)
        first = self.earlier is None
        pixels = (corners + inside)[:, :, None] * channels + np.arange(channels)
        columns = pixels.reshape(len(corners), -1)
        constant = np.full((len(corners), 1), 0 if first else height * width * channels)
        return np.concatenate([1 + 2 * columns if first else columns, constant], axis=1)

    def check(self, features: tuple[Feature, ...]) -> None:
        """Refuse features that are not the pixels of such an image."""
        height, width = self.shape
        if self.earlier is not None:
            self.earlier.check(features)
        elif len(features) != height * width or not all(each.is_number for each in features):
            needed = number_of(height * width, "feature")
            raise InvalidArgument(
                f"a convolution over {height} by {width} pixels needs {needed}, all numbers; got {len(features)}"
            )


@dataclass(frozen=True, slots=True)
class Embedding:
    """A table of `size` numbers for each of `values` categories, in which all of `columns` features are looked up.

    Every feature has so many categories; one that is not listed has no entry and counts as zeros.
    """

    columns: int
    values: int
    size: int = 4

    said: ClassVar[str] = "an embedding and dense layers on whole numbers, by ghost norms"

    def __post_init__(self) -> None:
        integer(columns=self.columns, least=1)
        integer(values=self.values, least=1)
        integer(size=self.size, least=1)

    @property
    def outputs(self) -> int:
        """The columns the dense layers get, a constant included."""
        return self.columns * self.size + 1

    def chain(self) -> Chain:
        """Each feature's columns are one place."""
        places = 1 + np.arange(self.columns)[:, None] * self.values + np.arange(self.values)[None, :]
        return (SharedWeights(places, self.size, GRID, False),)

    def check(self, features: tuple[Feature, ...]) -> None:
        """Refuse features that are no categories of this table."""
        if len(features) != self.columns or any(len(each.values) != self.values for each in features):
            needed = f"{number_of(self.columns, 'feature')} of {number_of(self.values, 'category', 'categories')} each"
            given = ", ".join(f"{each.name} with {len(each.values)}" for each in features)
            raise InvalidArgument(f"this embedding needs {needed}; got {given}")


Front = Convolution | Embedding
"""What can stand before the dense layers."""


def front_start(front: Front) -> Floats:
    """Public starting weights of all layers before the dense ones."""
    return np.concatenate([each.start(f"deniable {front} {place}") for place, each in enumerate(front.chain())])


def place_squares(seen: Floats, errors: Floats) -> Floats:
    """At least the squared length of each row's gradient, what is seen turned over times errors, by the smaller of two matrices.

    Entries of either are whole and exact. Squares of the gradient's own entries are rounded up by `lengths_up`; products of the
    two matrices of places may cancel, so what rounding can take off them is added. A row's numbers are added up in one order,
    whatever rows stand beside it.
    """
    count, pairs = len(seen), seen.shape[1] ** 2
    if pairs > _TERMS or pairs >= seen.shape[2] * errors.shape[2]:
        gradient = np.matmul(seen.transpose(0, 2, 1), errors).reshape(count, -1)
        return np.asarray((gradient * gradient).sum(axis=1) * (1 + 2.0**-30), dtype=np.float64)
    inside, back = (np.matmul(each, each.transpose(0, 2, 1)).reshape(count, -1) for each in (seen, errors))
    size = np.sqrt(inside[:, :: seen.shape[1] + 1] * back[:, :: seen.shape[1] + 1]).sum(axis=1)
    exact = np.maximum((inside * back).sum(axis=1), 0)
    return np.asarray(exact + size * size * 2.0**-36, dtype=np.float64)


def rounding(seen: Floats, errors: Floats) -> Floats:
    """At least how long what rounding takes from a row's errors can be, times what is seen: each error that is not zero loses less
    than one step."""
    lengths = np.sqrt(np.einsum("npe,npe->np", seen, seen))
    return np.asarray((lengths * np.sqrt((errors != 0).sum(axis=2))).sum(axis=1), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class SharedPath:
    """Layers of shared weights and dense layers on whole numbers."""

    image: Front
    sizes: tuple[int, ...]
    begin: Floats
    link: LossLink

    grid: ClassVar[int] = GRADIENT_GRID

    @property
    def said(self) -> str:
        """Which path this is, for the card."""
        return self.image.said

    def check(self, clip_steps: int, rows: int) -> None:
        """Refuse, from public sizes, what could leave the exact range or what rounding would swallow."""
        chain = self.image.chain()
        for each in chain:
            each.check()
            if rows > 1 and not each.into * REACH * len(each.places) * rows * (clip_steps // FINE) < 1 << 62:
                raise InvalidArgument("units have too many rows for these layers; use a larger stride or fewer rows")
        check_network((chain[-1].shape[0], *self.sizes), clip_steps, rows)
        slack = sum(each.slack() for each in chain)
        if not 16 * slack <= clip_steps:
            least, given = 16 * slack / GRADIENT_GRID, clip_steps / GRADIENT_GRID
            raise InvalidArgument(f"clip must be at least {least:.3g} for these layers, got {given:.3g}")

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
        total, chain = np.zeros(len(weights), dtype=np.int64), self.image.chain()
        for part, starts in rows.blocks(_ROWS if rows.starts is None else isqrt(_ROWS)):
            run = self.run(rows.kept["features"][part], rows.kept["truth"][part], np.rint(weights), chain)
            total += run.total(clip_steps) if starts is None else run.by_unit(starts, clip_steps)
        return total

    def run(self, features: Floats, truth: Floats, weights: Floats, chain: Chain) -> SharedRun:
        """Forward and back, row by row."""
        matrices, dense = front_layers(chain, self.sizes, weights)
        columns, seen = forward(features, chain, matrices)
        run = passed(columns[-1], truth, dense, self.link)
        length = REACH * sqrt(run.errors[0].shape[1]) if len(dense) > 1 else sqrt(self.link.square)
        active, errors = columns[-1][:, :-1] if chain[-1].positive else np.ones(1), list[Floats]()
        back = returned(run.errors[0], dense[0][:-1], active, length=length)
        for place in range(len(chain) - 1, -1, -1):
            errors.insert(0, back.reshape(len(back), len(chain[place].places), -1))
            if place:
                back = chain[place].before(errors[0], matrices[place], columns[place])
        return SharedRun(seen, errors, run)


def forward(features: Floats, chain: Chain, matrices: list[Floats]) -> tuple[list[Floats], list[Floats]]:
    """The columns before and after every layer of shared weights, and what each layer sees at its places."""
    columns, seen = [features], []
    for each, matrix in zip(chain, matrices, strict=True):
        seen.append(columns[-1][:, each.places])
        columns.append(each.active(seen[-1], matrix))
    return columns, seen


@dataclass(frozen=True, slots=True, eq=False)
class SharedRun:
    """What layers of shared weights saw and the errors that came back, and what passed the dense layers: all whole numbers."""

    seen: list[Floats]
    errors: list[Floats]
    dense: Passed

    def lengths(self) -> Whole:
        """A whole number at least the length of each row's whole gradient."""
        squares = ghost_squares(self.dense)
        for each, error in zip(self.seen, self.errors, strict=True):
            squares += place_squares(each, error)
        return lengths_up(squares)

    def factors(self, clip_steps: int) -> Floats:
        """What errors are multiplied by: where they are shortened, so much more that rounding cannot make them too long."""
        fine, slack = self.lengths() * FINE, np.zeros(len(self.dense.errors[0]))
        for each, error in zip(self.seen, self.errors, strict=True):
            slack += rounding(each, error)
        most = np.maximum(clip_steps - np.ceil(slack * (1 + 2.0**-30)), 0)
        return FINE * np.where(fine <= clip_steps, 1.0, shares(fine, most))

    def shortened(self, clip_steps: int) -> tuple[list[Floats], list[Floats]]:
        """The errors of shared and of dense layers, finer, towards zero."""
        factors = self.factors(clip_steps)
        shared = [np.trunc(each * factors[:, None, None]) for each in self.errors]
        return shared, [np.trunc(each * factors[:, None]) for each in self.dense.errors]

    def total(self, clip_steps: int) -> Whole:
        """The sum of shortened gradients."""
        shared, others = self.shortened(clip_steps)
        flat = [each.reshape(-1, each.shape[2]) for each in self.seen]
        back = [error.reshape(-1, error.shape[2]) for error in shared]
        parts = [each.T @ error for each, error in zip([*flat, *self.dense.inputs], [*back, *others], strict=True)]
        return np.concatenate([part.astype(np.int64).ravel() for part in parts])

    def by_unit(self, starts: Whole, clip_steps: int) -> Whole:
        """Units with several rows: their sums are written down and cut."""
        count = len(self.dense.errors[0])
        parts = [
            np.matmul(each.transpose(0, 2, 1), error).reshape(count, -1)
            for each, error in zip(self.seen, self.errors, strict=True)
        ]
        parts += [
            (each[:, :, None] * error[:, None, :]).reshape(count, -1)
            for each, error in zip(self.dense.inputs, self.dense.errors, strict=True)
        ]
        return cut_total(np.concatenate(parts, axis=1).astype(np.int64), starts, clip_steps // FINE) * FINE


def front_layers(chain: Chain, sizes: tuple[int, ...], flat: Floats) -> tuple[list[Floats], list[Floats]]:
    """Flat weights as one matrix for each layer of shared weights and one for each dense layer."""
    found, place = [], 0
    for each in chain:
        found.append(flat[place : place + each.size].reshape(each.shape))
        place += each.size
    return found, layers(sizes, flat[place:])


def front_scores(features: Floats, front: Front, sizes: tuple[int, ...], flat: Floats) -> Floats:
    """The outputs of the last layer, in steps of 1/(GRID * WEIGHT_STEPS)."""
    chain = front.chain()
    matrices, dense = front_layers(chain, sizes, flat)
    found = [
        scores(forward(features[first : first + _ROWS], chain, matrices)[0][-1], dense)[0]
        for first in range(0, len(features), _ROWS)
    ]
    return np.concatenate(found) if found else np.zeros((0, dense[-1].shape[1]))
