"""PATE-CTGAN: teachers on disjoint people vote on generated rows; a student discriminator learns from noisy votes alone.

Every unit is in the part of one teacher, by its keyed hash; a teacher meets its own rows and generated ones. So one unit changes
one teacher, and of every generated row one vote. The account does not depend on how far teachers agree.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.core.compositor import Compositor
from deniable.core.mechanism import Mechanism
from deniable.exact import sqrt as exact_root
from deniable.exact.guards import Real, positive
from deniable.models.links import LOGISTIC
from deniable.models.network import GRADIENT_GRID, layers, scores
from deniable.models.task import TotalNoise
from deniable.models.training import DensePath
from deniable.models.trees import part_of_row
from deniable.models.unit_totals import PrivateRows
from deniable.synth.fitted.generator import Generator, realness
from deniable.synth.fitted.row_vectors import RowVectors
from deniable.synth.fitted.stored import TwinMeasurements
from deniable.synth.fitted.twin_evaluation import TrainingTrace
from deniable.synth.fitted.twin_randomness import ReleasedWords
from deniable.synth.measured.ctgan_rounds import FAKES, TABLES, stored_generator
from deniable.synth.measured.network_rounds import (
    NetworkData,
    check_widths,
    discriminator,
    public_rows,
)

LESSONS = 4
"""Steps of the student, and of the generator, after each round of votes."""
MEMORY = 16
"""The student learns from so many of the last rounds."""
_CHECKS = 8


@dataclass(frozen=True, slots=True)
class TeacherSettings:
    """The public settings of a run."""

    parts: int = 100
    rounds: int = 60
    samples: int = 32
    hidden: int = 32
    speed: float = 1.0

    def noises(self, data: NetworkData, multiplier: Real) -> tuple[TotalNoise, TotalNoise]:
        """The noise of the tables and of one round of votes; all of it costs as one answer with this multiplier."""
        whole = positive(multiplier=multiplier)
        tables = data.tables_noise(whole * exact_root(1 / TABLES, 40).upper)
        return tables, TotalNoise.of(self.samples, whole * exact_root(self.rounds / (1 - TABLES), 40).upper)


def check_pate_ctgan(data: NetworkData, settings: TeacherSettings) -> None:
    """Refuse what leaves the exact range."""
    check_widths(data.attributes, settings.hidden, GRADIENT_GRID, data.moved.rows)


def pate_ctgan_task(data: NetworkData, settings: TeacherSettings, multiplier: Real, recipe: str) -> Mechanism:
    """The whole run as one mechanism: tables, then rounds of votes."""
    tables, votes = settings.noises(data, multiplier)

    def run(compositor: Compositor) -> TwinMeasurements:
        ones = data.release_tables(compositor, tables)
        vectors, source = RowVectors.of(data.attributes, ones), ReleasedWords(recipe)
        generator, trace = Generator.of(vectors, settings.hidden, source), TrainingTrace()
        path = discriminator(vectors, settings.hidden, LOGISTIC)
        student, labelled = path.start(), deque[tuple[Any, Any]](maxlen=MEMORY)
        for turn in range(settings.rounds):
            drawn = generator.draw(settings.samples, source).vectors()
            asked = votes.total(data.space, TeacherVotes(path, data, vectors, settings, drawn))
            labelled.append((drawn, likelier(compositor.release(asked))))
            for _ in range(LESSONS):
                student = _lesson(path, student, labelled, settings.speed)
                draft = generator.draw(FAKES, source)
                said = realness(draft.vectors(), layers(path.sizes, student))
                trace.pushes.append(generator.learn(draft, said))
            if (turn + 1) % max(settings.rounds // _CHECKS, 1) == 0:
                trace.gaps.append(generator.gap(2048, source))
        return stored_generator("pate-ctgan", data, ones, generator, trace)

    return data.task([tables.cost, *[votes.cost] * settings.rounds], run, recipe)


def likelier(votes: Any) -> Any:
    """1 for the half of a round's rows with more noisy votes, 0 for the other.

    Teachers that call nothing real still tell rows apart.
    """
    return (votes > np.median(votes)).astype(np.float64)


def _lesson(path: DensePath, student: Any, labelled: deque[tuple[Any, Any]], speed: float) -> Any:
    """One step of the student on generated rows with the labels that teachers gave them."""
    drawn, real = (np.concatenate(parts) for parts in zip(*labelled, strict=True))
    rows = PrivateRows({}, len(drawn), None, None, {"features": drawn, "truth": real[:, None]})
    return path.moved(student, speed * path.total(rows, student, path.grid).astype(np.float64) / path.grid / len(drawn))


@dataclass(frozen=True, slots=True, eq=False)
class TeacherVotes:
    """How many teachers call each generated row real, after one more lesson of each on its own part.

    Guarantee: one unit more or less changes one teacher, hence each of the numbers by at most one.
    """

    path: DensePath
    data: NetworkData
    vectors: RowVectors
    settings: TeacherSettings
    drawn: Any

    def __call__(self, rows: PrivateRows) -> Any:
        """The votes; what teachers have learned stays with the rows, and is as private as they are."""
        if "teachers" not in rows.kept:
            rows.kept["teachers"] = np.tile(self.path.start(), (self.settings.parts, 1))
            rows.kept["part"] = part_of_row(rows, self.settings.parts).astype(np.float64)
            rows.kept["features"] = self.vectors.vectors(self.data.cells(rows))
        total = np.zeros(len(self.drawn), dtype=np.int64)
        for part in range(self.settings.parts):
            weights = self._taught(rows, part)
            rows.kept["teachers"][part] = weights
            found, _ = scores(self.drawn, layers(self.path.sizes, weights))
            total += (found[:, 0] > 0).astype(np.int64)
        return total

    def _taught(self, rows: PrivateRows, part: int) -> Any:
        """One teacher after a lesson: its own rows are real, the generated ones are not. Whole numbers, so nobody else matters."""
        weights, own = rows.kept["teachers"][part], rows.kept["features"][rows.kept["part"] == part]
        real = public_rows(own, 1.0)
        push = self.path.total(real, weights, self.path.grid).astype(np.float64) / self.path.grid / max(len(own), 1)
        fake = self.path.total(public_rows(self.drawn, 0.0), weights, self.path.grid).astype(np.float64)
        return self.path.moved(weights, self.settings.speed * (push + fake / self.path.grid / len(self.drawn)))
