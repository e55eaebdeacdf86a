"""Training by noisy gradients of secret batches: sampler, clip, noise and account are one object.

Every step draws its own batch inside the mechanism that is charged for it, so no other loader can be used by mistake. The divisor
is the expected batch, from the noisy number of units, never the batch's own size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.compositor import Compositor, grouped
from deniable.core.distance import Distance
from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.core.step import MechanismFamily
from deniable.cost import Cost, Neighbours, Sampled, Sampling
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, positive, probability
from deniable.models.encoding import GRID, Encoding, NumberScale, Whole
from deniable.models.estimator import MOST_STEPS, RowsReader, RowsReading
from deniable.models.fitted import NO_PREDICTIONS, FittedModel
from deniable.models.image_layer import Front, SharedPath, front_scores, front_start
from deniable.models.links import IDENTITY, LINK_GRID, LOGISTIC, MULTINOMIAL, LossLink, sigmoid, softmax
from deniable.models.network import (
    GRADIENT_GRID,
    LARGEST,
    WEIGHT_STEPS,
    Network,
    check_network,
    gradient_total,
    layers,
    scores,
)
from deniable.models.task import TotalNoise, planned_task
from deniable.models.torch_modules import ExamplePath, check_module, exact_start, loaded, module_digest
from deniable.models.trees import part_of_row
from deniable.models.unit_totals import PrivateRows
from deniable.noise import Entropy, bernoullis, rounded_gaussians
from deniable.plan.codebook import Codebook

Floats = NDArray[np.float64]

LOSSES: Mapping[str, LossLink] = {"logistic": LOGISTIC, "multinomial": MULTINOMIAL, "squared": IDENTITY}
COUNT_MULTIPLIER = 8
"""The number of units gets noise so many times that of the whole run: about a sixtieth of the budget."""


class Batches(Enum):
    """How batches are drawn."""

    POISSON = "poisson"
    DISJOINT = "disjoint"


@dataclass(frozen=True, slots=True)
class BatchStep:
    """One noisy gradient of one secret batch: it draws the batch and states its cost.

    Guarantee: the batch is drawn by the object that is charged for it; each unit enters it independently with chance `rate`.
    """

    rate: Fraction
    noise: TotalNoise

    def cost(self, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Cost:
        """What one step costs."""
        one = self.noise.cost
        return one if self.rate == 1 else Sampled(one, rate=self.rate, how=Sampling.POISSON, neighbours=neighbours)

    def draw(self, rows: PrivateRows, entropy: Entropy) -> PrivateRows:
        """A fresh batch of units."""
        return rows if self.rate == 1 else rows.taken(bernoullis(self.rate, rows.units, entropy).astype(bool))

    def release(self, space: Space, total: Any) -> Mechanism:
        """The noisy `total` of a fresh batch."""

        def function(rows: PrivateRows, entropy: Entropy) -> Whole:
            exact = total(self.draw(rows, entropy))
            return np.asarray(exact + rounded_gaussians(self.noise.scale, exact.size, entropy), dtype=np.int64)

        def privacy_map(d_in: Distance) -> Cost:
            return grouped(self.cost(), d_in)

        return Mechanism(space, function, privacy_map)


@dataclass(frozen=True, slots=True)
class Training(RowsReader):
    """A network trained by noisy gradient steps: `Network((64,))`, or a torch module.

    `loss` is "logistic" (two classes), "multinomial" or "squared". Each of `steps` steps sees a batch that every unit enters with
    chance `rate`; its gradient is cut to length `clip`. With batches="disjoint" units are dealt to 1/rate parts by their hash,
    and each run over all parts is one charge. A torch module of dense layers and ReLU, after convolutions or an embedding or
    neither, runs on whole numbers; any other one by gradients of one example at a time, cut to a grid; layers that mix rows are
    refused by name.

    Guarantee: one charge for the number of units and all steps, read as sampled normal noise; see `card` for which path was used.
    """

    module: Any = field(default_factory=Network)
    target: str = field(default="", kw_only=True)
    loss: str = field(default="logistic", kw_only=True)
    rate: Real = field(default=Fraction(1, 32), kw_only=True)
    steps: int = field(default=320, kw_only=True)
    clip: Real = field(default=1, kw_only=True)
    speed: Real = field(default=2, kw_only=True)
    momentum: Real = field(default=Fraction(1, 2), kw_only=True)
    batches: str = field(default="poisson", kw_only=True)

    title: ClassVar[str] = "network"
    scale: ClassVar[NumberScale] = NumberScale.BOTH

    def check(self) -> None:
        if not (isinstance(self.target, str) and self.target):
            raise InvalidArgument(f"target must name a column, got {self.target!r}")
        if self.features is not None and self.target in self.features:
            raise InvalidArgument(f"the target {self.target!r} cannot be a feature as well")
        if self.loss not in LOSSES:
            raise InvalidArgument(f"loss must be one of {', '.join(LOSSES)}, got {self.loss!r}")
        integer(steps=self.steps, least=1, greatest=MOST_STEPS)
        positive(rate=probability(rate=self.rate))
        positive(clip=self.clip)
        positive(speed=self.speed)
        if not 0 <= probability(momentum=self.momentum) < 1:
            raise InvalidArgument(f"momentum must be below 1, got {self.momentum!r}")
        if self.batches not in [each.value for each in Batches]:
            raise InvalidArgument(f"batches must be poisson or disjoint, got {self.batches!r}")
        if self.batches == "disjoint" and (1 / probability(rate=self.rate)).denominator != 1:
            raise InvalidArgument(f"disjoint batches need a rate of one over a whole number, got {self.rate!r}")
        if not isinstance(self.module, Network):
            check_module(self.module)
        elif not isinstance(self.module.image, Front | None):
            raise InvalidArgument(f"image must be a Convolution or an Embedding, got {self.module.image!r}")

    def family(self, codebook: Codebook) -> MechanismFamily:
        trainer = Trainer.of(self, self.reading(codebook))
        if isinstance(trainer.path, ExamplePath):  # once, and not for every noise that is tried
            trainer.path.check_repeats(trainer.reading.encoding.width, trainer.outputs)
        return RowsReader.family(self, codebook)

    def predicts(self, reading: RowsReading) -> bool:
        return bool(Trainer.of(self, reading).path.sizes)

    def step_count(self, reading: RowsReading) -> int:
        return self.steps + 1

    def settings(self) -> dict[str, Any]:
        plain = RowsReader.settings(self)
        return {**plain, "module": repr(self.module)}

    def recipe(self) -> str:
        known = "" if isinstance(self.module, Network) else module_digest(self.module)
        return RowsReader.recipe(self) + known

    def at(self, reading: RowsReading, multiplier: Real) -> Mechanism:
        trainer = Trainer.of(self, reading)
        rate = probability(rate=self.rate) if self.batches == "poisson" else Fraction(1)
        step = BatchStep(rate, TotalNoise.of(trainer.clip_steps**2, multiplier))
        count = TotalNoise.of(1, positive(multiplier=multiplier) * COUNT_MULTIPLIER)

        def run(compositor: Compositor) -> Any:
            units = compositor.release(count.total(reading.space, lambda rows: np.array([rows.units])))
            return trainer.trained(compositor, step, max(float(units[0]), 1.0))

        turns = self.turns()
        costs = [count.cost] + [step.cost()] * turns
        replaced = [count.cost.group(2)] + [_replaced(step)] * turns if reading.replaces else None
        return planned_task(
            reading.space, costs=costs, run=run, recipe=self.recipe(), prepare=trainer.prepare, replaced=replaced
        )

    def turns(self) -> int:
        """How many charges there are besides the count: steps, or runs over all parts."""
        if self.batches == "poisson":
            return self.steps
        return -(-self.steps // self.parts())

    def parts(self) -> int:
        """How many parts disjoint batches have."""
        return int(1 / probability(rate=self.rate))


def _replaced(step: BatchStep) -> Cost:
    """What a step costs where a unit is replaced: for a sample the theorem of its own, else twice the distance."""
    return step.cost().group(2) if step.rate == 1 else step.cost(Neighbours.REPLACE)


@dataclass(frozen=True, slots=True)
class Trainer:
    """One training run: what is prepared, how a gradient is taken, and what is made of the answers."""

    model: Training
    reading: RowsReading
    link: LossLink
    outputs: int
    path: Any
    clip_steps: int

    @classmethod
    def of(cls, model: Training, reading: RowsReading) -> Trainer:
        """The run that settings and public facts describe."""
        link, outputs = LOSSES[model.loss], 1
        if model.loss == "squared":
            reading.target_number()
        else:
            outputs = len(reading.target_classes())
            if model.loss == "logistic" and outputs != 2:
                raise InvalidArgument(
                    f"the logistic loss is for two classes, {model.target!r} has {outputs}; use multinomial"
                )
            outputs = 1 if model.loss == "logistic" else outputs
        path = gradient_path(model.module, reading, outputs, link)
        clip_steps = int(positive(clip=model.clip) * path.grid)
        path.check(clip_steps, reading.per_unit)
        return cls(model, reading, link, outputs, path, max(clip_steps, 1))

    def prepare(self, rows: PrivateRows) -> None:
        """Features and truth of every row, once."""
        target = self.reading.target
        assert target is not None
        codes = rows.codes[target.name]
        rows.kept["features"] = self.reading.encoding.floats(rows.codes, rows.count)
        if target.is_number:
            rows.kept["truth"] = target.columns(codes).astype(np.float64)
        else:
            wanted = np.arange(len(target.values) - self.outputs, len(target.values))
            rows.kept["truth"] = (codes[:, None] == wanted[None, :]).astype(np.float64)
        if self.model.batches == "poisson":
            rows.codes.clear()  # no step needs them again, and every batch would copy them

    def trained(self, compositor: Compositor, step: BatchStep, units: float) -> FittedNetwork:
        """All steps, and the weights averaged over the last half of them."""
        weights = self.path.start()
        velocity, kept = np.zeros(len(weights)), []
        batch = max(units * float(probability(rate=self.model.rate)), 1.0)
        pace, momentum = float(positive(speed=self.model.speed)), float(probability(momentum=self.model.momentum))
        for turn in range(self.model.turns()):
            for total in self._answers(compositor, step, weights):
                velocity = momentum * velocity + total / self.path.grid / batch
                weights = self.path.moved(weights, pace * velocity)
            if 2 * turn + 1 >= self.model.turns():
                kept.append(weights)
        noise = float(step.noise.scale) / self.path.grid
        return self._fitted(self.path.moved(np.mean(kept, axis=0), 0 * velocity), noise, batch)

    def _answers(self, compositor: Compositor, step: BatchStep, weights: Floats) -> list[Floats]:
        """The noisy gradient of a batch, as a list of one; of disjoint parts one for each, all at the same weights."""
        if self.model.batches == "poisson":
            asked = step.release(self.reading.space, lambda rows: self.path.total(rows, weights, self.clip_steps))
            return [compositor.release(asked).astype(np.float64)]
        parts = self.model.parts()

        def all_parts(rows: PrivateRows) -> Whole:
            return np.concatenate([self.path.total(part, weights, self.clip_steps) for part in dealt(rows, parts)])

        answered = compositor.release(step.release(self.reading.space, all_parts)).astype(np.float64)
        return list(answered.reshape(parts, -1))

    def _fitted(self, weights: Floats, noise: float, batch: float) -> FittedNetwork:
        said = (
            f"{self.model.batches} batches of about {batch:.4g} units, "
            f"gradients cut to {float(positive(clip=self.model.clip)):g}, "
            f"rounded normal noise of scale {noise:.4g}; {self.path.said}"
        )
        return FittedNetwork(
            estimator=self.model.title,
            features=self.reading.features,
            target=self.reading.target,
            settings=self.model.settings(),
            noise=said,
            sizes=self.path.sizes,
            weights=weights,
            loss=self.model.loss,
            image=getattr(self.path, "image", None),
        )


def dealt(rows: PrivateRows, parts: int) -> list[PrivateRows]:
    """Units in disjoint parts, by their keyed label or their own codes; nobody moves anybody else."""
    place = part_of_row(rows, parts)
    first = place if rows.starts is None else place[rows.starts]
    return [rows.taken(first == part) for part in range(parts)]


def gradient_path(module: Any, reading: RowsReading, outputs: int, link: LossLink) -> Any:
    """How gradients of this module are taken: on whole numbers where its layers are ours, else one example at a time."""
    width = reading.encoding.width
    if isinstance(module, Network):
        front, into = module.image, width if module.image is None else module.image.outputs
        if front is not None:
            front.check(reading.features)
        sizes = module.sizes(into, outputs)
        check_network(sizes, 1, 1)
        first = [] if front is None else [front_start(front)]
        flat = np.concatenate([matrix.ravel() for matrix in (*first, *module.start(into, outputs))])
    else:
        check_module(module)  # again: it may have been changed since
        found = exact_start(module, reading.features, width, outputs)
        if found is None:
            return ExamplePath.of(module, width, outputs, link)
        front, sizes, flat = found
    return DensePath(sizes, tuple(layers(sizes, flat)), link) if front is None else SharedPath(front, sizes, flat, link)


@dataclass(frozen=True, slots=True, eq=False)
class DensePath:
    """Dense layers on whole numbers."""

    sizes: tuple[int, ...]
    begin: tuple[Floats, ...]
    link: LossLink

    grid: ClassVar[int] = GRADIENT_GRID
    said: ClassVar[str] = "dense layers on whole numbers, by ghost norms"

    def check(self, clip_steps: int, rows: int) -> None:
        """Refuse sizes that leave the exact range."""
        check_network(self.sizes, clip_steps, rows)

    def start(self) -> Floats:
        """The starting weights, flat, in whole steps."""
        return np.concatenate([np.asarray(matrix, dtype=np.float64).ravel() for matrix in self.begin])

    def total(self, rows: PrivateRows, weights: Floats, clip_steps: int) -> Whole:
        """The sum of cut gradients."""
        return gradient_total(rows, layers(self.sizes, np.rint(weights)), self.link, clip_steps=clip_steps)

    def moved(self, weights: Floats, step: Floats) -> Floats:
        """The weights after a step, whole and below the largest."""
        return np.clip(np.rint(weights + step * WEIGHT_STEPS), -LARGEST, LARGEST)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedNetwork(FittedModel):
    """A trained network: the sizes of its dense layers (none for another torch module) and its weights, flat."""

    sizes: tuple[int, ...]
    weights: Floats
    loss: str
    image: Front | None = None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FittedNetwork)
            and np.array_equal(self.weights, other.weights)
            and (
                (self.features, self.target, self.sizes, self.loss, self.image)
                == (other.features, other.target, other.sizes, other.loss, other.image)
            )
        )

    @property
    def predicts(self) -> bool:
        return bool(self.sizes)

    def outputs(self, codes: Mapping[str, Whole], count: int) -> Whole:
        if not self.predicts:
            raise InvalidArgument(NO_PREDICTIONS)
        found = self._scores(Encoding(self.features).floats(codes, count))
        if self.loss == "squared":
            return np.clip(np.trunc(found / WEIGHT_STEPS), -GRID, GRID).astype(np.int64)
        if self.loss == "multinomial":
            return softmax(found).astype(np.int64) * GRID // LINK_GRID
        second = sigmoid(found[:, 0]).astype(np.int64) * GRID // LINK_GRID
        return np.stack([GRID - second, second], axis=1)

    def _scores(self, features: Floats) -> Floats:
        if self.image is not None:
            return front_scores(features, self.image, self.sizes, self.weights)
        return scores(features, layers(self.sizes, self.weights))[0]

    @property
    def sampler(self) -> str:
        rate = self.settings.get("rate")
        if self.settings.get("batches") == "disjoint":
            return f"disjoint parts, units dealt by keyed hash, each with a share of {rate}"
        return f"Poisson: every unit enters each batch independently with chance {rate}; drawn by what is charged"

    def load(self, module: Any) -> Any:
        """A torch module of the shape that was trained, with the trained weights in it."""
        return loaded(module, self.image, self.sizes, self.weights)

    def results(self) -> Mapping[str, float]:
        return {
            "number of weights": float(len(self.weights)),
            "length of the weights": float(sqrt(float((self.weights**2).sum()))),
        }
