"""QUAIL: a private classifier of one column, and a synthesizer of all others; rows of the one get labels by the other.

The classifier is a multinomial regression by noisy gradients of all rows, in whole numbers. `split` is its part of what both cost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.accounting import RuleKind
from deniable.core.compositor import Compositor, grouped
from deniable.core.mechanism import Mechanism
from deniable.cost import Cost, Neighbours
from deniable.exact import sqrt as exact_root
from deniable.exact.guards import Real, positive
from deniable.models.links import MULTINOMIAL
from deniable.models.network import GRADIENT_GRID, layers
from deniable.models.task import TotalNoise
from deniable.models.training import BatchStep, DensePath
from deniable.models.unit_totals import PrivateRows
from deniable.noise import Entropy
from deniable.synth.fitted.row_vectors import RowVectors, tables_record
from deniable.synth.fitted.stored import Marginal, TwinMeasurements, ungrouped
from deniable.synth.measured.allowance import Allowance
from deniable.synth.measured.coded import CellRows, Contribution
from deniable.synth.measured.ctgan_rounds import GanSettings, check_ctgan, step_costs, trained_gan
from deniable.synth.measured.network_rounds import NetworkData, check_widths, with_features
from deniable.synth.measured.pair_rounds import measure_pairs
from deniable.synth.measured.table_noise import Measurer

BASES = ("ctgan", "pairs", "tree")
CLASSIFIER_STEPS = 40
_SPEED, _MOMENTUM = 2.0, 0.5
TABLES = Fraction(1, 5)
"""The part of the one-way tables; classifier and base share the rest."""


@dataclass(frozen=True, slots=True)
class QuailSettings:
    """The public settings of a run: the column that is classified, what makes the others, and the classifier's part."""

    target: int
    base: str = "ctgan"
    split: Fraction = Fraction(1, 2)
    gan: GanSettings = field(default_factory=GanSettings)

    def noises(self, data: NetworkData, multiplier: Real) -> tuple[TotalNoise, BatchStep]:
        """The noise of the tables and of one gradient of the classifier, for a whole of this multiplier."""
        whole = positive(multiplier=multiplier)
        part = (1 - TABLES) * self.split / CLASSIFIER_STEPS
        step = TotalNoise.of(GRADIENT_GRID**2, whole * exact_root(1 / part, 40).upper)
        return data.tables_noise(whole * exact_root(1 / TABLES, 40).upper), BatchStep(Fraction(1), step)

    def base_step(self, multiplier: Real) -> BatchStep:
        """A step of the base where it is a network: all of them cost about what is left."""
        left = float((1 - TABLES) * (1 - self.split))
        factor = Fraction(max(round(self.gan.reach / left**0.5 * 1024), 1), 1024)
        noise = TotalNoise.of(GRADIENT_GRID**2, positive(multiplier=multiplier) * factor)
        return BatchStep(self.gan.rate, noise)

    def base_allowance(self, multiplier: Real) -> Allowance:
        """What the base may spend where it measures tables."""
        whole = positive(multiplier=multiplier)
        return Allowance(RuleKind.GAUSSIAN, (1 - TABLES) * (1 - self.split) / whole**2)


def check_quail(data: NetworkData, settings: QuailSettings) -> None:
    """Refuse what leaves the exact range."""
    rest = data.without(settings.target)
    check_widths(rest.attributes, 0, GRADIENT_GRID, data.moved.rows, data.attributes.sizes[settings.target])
    check_ctgan(rest, settings.gan)


def quail_task(data: NetworkData, settings: QuailSettings, multiplier: Real, recipe: str) -> Mechanism:
    """The whole run as one mechanism: tables, the classifier's gradients, then the base."""
    tables, step = settings.noises(data, multiplier)
    gan_step, allowance = settings.base_step(multiplier), settings.base_allowance(multiplier)
    rest = data.without(settings.target)

    def run(compositor: Compositor) -> TwinMeasurements:
        ones = data.release_tables(compositor, tables)
        kept = [one for one in ones if one.places != (settings.target,)]
        renumbered = [Marginal((place,), one.counts, one.scale) for place, one in enumerate(kept)]
        vectors = RowVectors.of(rest.attributes, renumbered)
        classifier = _classified(compositor, rest, step, vectors, ones, data.attributes.sizes[settings.target])
        if settings.base == "ctgan":
            base = trained_gan(compositor, rest, renumbered, settings.gan, gan_step, recipe)
        else:
            base = compositor.release(measured_base(rest, settings, allowance))
        options = {
            "base": base.to_record(),
            "vectors": tables_record(vectors),
            "classifier": classifier.tolist(),
            "target": settings.target,
        }
        return TwinMeasurements(
            "quail", data.attributes, tuple(ones), ungrouped(data.attributes), options=options, notes=base.notes
        )

    def costs(neighbours: Neighbours) -> list[Cost]:
        first = [tables.cost, *step_costs(step, CLASSIFIER_STEPS, neighbours)]
        first[0] = tables.cost.group(2) if neighbours is Neighbours.REPLACE else tables.cost
        if settings.base == "ctgan":
            return [*first, *step_costs(gan_step, settings.gan.steps, neighbours)]
        return [*first, allowance.cost.group(2) if neighbours is Neighbours.REPLACE else allowance.cost]

    replaced = costs(Neighbours.REPLACE) if data.moved.moves == 2 else None
    return data.task(costs(Neighbours.ADD_REMOVE), run, recipe, replaced)


def measured_base(rest: NetworkData, settings: QuailSettings, allowance: Allowance) -> Mechanism:
    """The base where it measures tables of the other columns, as one mechanism on rows."""
    moved = Contribution(rest.moved.rows)

    def function(rows: PrivateRows, entropy: Entropy) -> TwinMeasurements:
        measurer = Measurer(CellRows(rest.cells(rows)), rest.space, rest.attributes, allowance, moved, entropy)
        return measure_pairs(measurer, method=settings.base, focus=())

    return Mechanism(rest.space, function, lambda d_in: grouped(allowance.cost, d_in))


def _classified(
    compositor: Compositor,
    rest: NetworkData,
    step: BatchStep,
    vectors: RowVectors,
    ones: list[Marginal],
    classes: int,
) -> Any:
    """The classifier's weights, in whole steps, averaged over the last half of its steps."""
    path = DensePath((1 + vectors.width, classes), (np.zeros((1 + vectors.width, classes)),), MULTINOMIAL)
    weights, velocity, kept = path.start(), np.zeros((1 + vectors.width) * classes), []
    rows = max(float(np.mean([one.counts.sum() for one in ones])), 1.0)
    for turn in range(CLASSIFIER_STEPS):
        asked = step.release(rest.space, class_gradient(path, rest, vectors, weights, classes))
        push = compositor.release(asked).astype(np.float64) / path.grid / rows
        velocity = _MOMENTUM * velocity + push
        weights = path.moved(weights, _SPEED * velocity)
        if 2 * turn >= CLASSIFIER_STEPS:
            kept.append(weights)
    return np.rint(layers(path.sizes, np.mean(kept, axis=0))[0])


def class_gradient(path: DensePath, rest: NetworkData, vectors: RowVectors, weights: Any, classes: int) -> Any:
    """The sum over units of their clipped gradients towards the classes they have.

    Guarantee: one unit more or less moves it by at most the clip, which is one.
    """

    def total(rows: PrivateRows) -> Any:
        if "features" not in rows.kept:
            target = rows.codes[sorted(rows.codes)[rest.apart or 0]]
            rows.kept["features"] = vectors.vectors(rest.cells(rows))
            rows.kept["truth"] = (target[:, None] == np.arange(classes)).astype(np.float64)
        return path.total(with_features(rows, rows.kept["features"], rows.kept["truth"]), weights, path.grid)

    return total
