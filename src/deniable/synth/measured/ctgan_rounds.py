"""DP-CTGAN: a generator against a discriminator that learns of real rows by noisy, clipped gradients of secret batches alone.

First all one-way tables are released; shares and modes come from them. Then every step releases one noisy gradient of the
discriminator on a Poisson batch; the generator meets the discriminator and public random numbers, never a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from deniable.core.compositor import Compositor
from deniable.core.mechanism import Mechanism
from deniable.cost import Cost, Neighbours
from deniable.exact.guards import Real, positive
from deniable.models.links import LOGISTIC
from deniable.models.network import GRADIENT_GRID, layers
from deniable.models.task import TotalNoise
from deniable.models.training import BatchStep, DensePath
from deniable.models.unit_totals import PrivateRows
from deniable.synth.fitted.generator import Generator, realness
from deniable.synth.fitted.row_vectors import RowVectors, tables_record
from deniable.synth.fitted.stored import Marginal, TwinMeasurements, ungrouped
from deniable.synth.fitted.twin_evaluation import TrainingTrace
from deniable.synth.fitted.twin_randomness import ReleasedWords
from deniable.synth.measured.network_rounds import (
    NetworkData,
    check_widths,
    clip_steps_of,
    discriminator,
    public_rows,
    with_features,
)

FAKES = 256
"""Generated rows of a step."""
TABLES = Fraction(1, 4)
"""About this part of the whole, in squares of mu, is for the one-way tables."""
MOMENTUM = 0.5
_CHECKS = 8


@dataclass(frozen=True, slots=True)
class GanSettings:
    """The public settings of a run."""

    steps: int = 400
    batches: int = 64
    hidden: int = 64
    clip: float = 1.0
    speed: float = 1.0

    @property
    def rate(self) -> Fraction:
        """The chance of a unit to be in a batch."""
        return Fraction(1, self.batches)

    @property
    def reach(self) -> float:
        """How much all steps cost together, in mu, beside one answer with the same multiplier: nearly, for small losses."""
        return sqrt(self.steps) / self.batches

    def tables_factor(self) -> Fraction:
        """The multiplier of the tables beside that of a step, such that they cost about their part."""
        ratio = sqrt(float((1 - TABLES) / TABLES)) / self.reach
        return Fraction(max(round(ratio * 1024), 1), 1024)

    def noises(self, data: NetworkData, multiplier: Real) -> tuple[TotalNoise, BatchStep]:
        """The noise of the tables and of a step."""
        whole = positive(multiplier=multiplier)
        clip = clip_steps_of(Fraction(self.clip), GRADIENT_GRID)
        return data.tables_noise(whole * self.tables_factor()), BatchStep(self.rate, TotalNoise.of(clip**2, whole))


def check_ctgan(data: NetworkData, settings: GanSettings) -> None:
    """Refuse what leaves the exact range."""
    clip = clip_steps_of(Fraction(settings.clip), GRADIENT_GRID)
    check_widths(data.attributes, settings.hidden, clip, data.moved.rows)


def ctgan_task(data: NetworkData, settings: GanSettings, multiplier: Real, recipe: str) -> Mechanism:
    """The whole run as one mechanism: tables, then steps."""
    tables, step = settings.noises(data, multiplier)
    costs = [tables.cost, *step_costs(step, settings.steps)]
    replaced = [tables.cost.group(2), *step_costs(step, settings.steps, Neighbours.REPLACE)]

    def run(compositor: Compositor) -> TwinMeasurements:
        ones = data.release_tables(compositor, tables)
        return trained_gan(compositor, data, ones, settings, step, recipe)

    return data.task(costs, run, recipe, replaced if data.moved.moves == 2 else None)


def step_costs(step: BatchStep, steps: int, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> list[Cost]:
    """The costs of all steps; of a step that sees everybody a replaced unit is two."""
    if step.rate == 1 and neighbours is Neighbours.REPLACE:
        return [step.cost().group(2)] * steps
    return [step.cost(neighbours)] * steps


def trained_gan(
    compositor: Compositor,
    data: NetworkData,
    ones: list[Marginal],
    settings: GanSettings,
    step: BatchStep,
    recipe: str,
) -> TwinMeasurements:
    """All steps, and what is stored: the tables and the generator, with the signs of its training."""
    vectors, source = RowVectors.of(data.attributes, ones), ReleasedWords(recipe)
    generator, trace = Generator.of(vectors, settings.hidden, source), TrainingTrace()
    path = discriminator(vectors, settings.hidden, LOGISTIC)
    weights, velocity = path.start(), np.zeros(sum(each.size for each in path.begin))
    clip = clip_steps_of(Fraction(settings.clip), path.grid)
    batch = max(float(np.mean([one.counts.sum() for one in ones])) / settings.batches, 1.0)
    every = max(settings.steps // _CHECKS, 1)
    for turn in range(settings.steps):
        asked = step.release(data.space, real_gradient(path, data, vectors, weights, clip))
        real = compositor.release(asked).astype(np.float64) / path.grid / batch
        fakes = public_rows(generator.draw(FAKES, source).vectors(), 0.0)
        fake = path.total(fakes, weights, clip).astype(np.float64) / path.grid / FAKES
        velocity = MOMENTUM * velocity + real + fake
        weights = path.moved(weights, settings.speed * velocity)
        draft = generator.draw(FAKES, source)
        said = realness(draft.vectors(), layers(path.sizes, weights))
        trace.pushes.append(generator.learn(draft, said))
        if (turn + 1) % every == 0:
            trace.gaps.append(generator.gap(2048, source))
    return stored_generator("ctgan", data, ones, generator, trace)


def real_gradient(path: DensePath, data: NetworkData, vectors: RowVectors, weights: Any, clip: int) -> Any:
    """The sum over a batch's units of their clipped gradients towards "real".

    Guarantee: one unit more or less moves it by at most `clip`.
    """

    def total(batch: PrivateRows) -> Any:
        rows = with_features(batch, vectors.vectors(data.cells(batch)), np.ones((batch.count, 1)))
        return path.total(rows, weights, clip)

    return total


def stored_generator(
    method: str, data: NetworkData, ones: list[Marginal], generator: Generator, trace: TrainingTrace
) -> TwinMeasurements:
    """What is stored of a run."""
    options = {"vectors": tables_record(generator.vectors), "generator": generator.to_record()}
    return TwinMeasurements(
        method, data.attributes, tuple(ones), ungrouped(data.attributes), options=options, notes=trace.signs()
    )
