"""The generator of a network synthesizer: from noise and a wished value to a row, and how it learns from a discriminator.

Post-processing: it meets released tables, released discriminators and public random numbers, never a row. Categories are drawn by
the Gumbel trick: a hard mark goes forward, the gradient of the soft one comes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deniable.synth.fitted.record_model import Codes, Floats
from deniable.synth.fitted.row_vectors import GRID, WEIGHT_STEPS, RowVectors
from deniable.synth.fitted.twin_randomness import WordSource, normals, uniforms

NOISE = 32
_HEAT = 0.5
_RATE, _FIRST, _SECOND = 2e-3, 0.5, 0.99
_AVERAGE = 0.98
_ANCHOR = 4.0
"""How strongly marks are drawn to their released shares, beside what a discriminator says."""
_WIDE = 2.0
"""First weights of places are so much larger, so that places are spread over their whole range."""


@dataclass(slots=True, eq=False)
class Generator:
    """A network with one hidden layer; its last constants start at the released shares, so that it begins with them.

    `average` is the slowly moving mean of its weights, which is what samples are drawn with in the end.
    """

    vectors: RowVectors
    weights: list[Floats]
    average: list[Floats]
    moments: list[tuple[Floats, Floats]] = field(default_factory=list)
    steps: int = 0

    @classmethod
    def of(cls, vectors: RowVectors, hidden: int, source: WordSource) -> Generator:
        """The first weights: small random ones, and the log of the released shares."""
        inputs = NOISE + vectors.width
        first = normals((inputs + 1) * hidden, source).reshape(inputs + 1, hidden) / np.sqrt(inputs / 4)
        last = normals((hidden + 1) * vectors.width, source).reshape(hidden + 1, -1) / np.sqrt(hidden * 4)
        last[-1] = 0.0
        for start, block in zip(vectors.starts, vectors.blocks, strict=True):
            last[-1, start : start + block.marks] = np.log(np.maximum(block.mark_shares(), 1e-6))
            last[:-1, start + block.marks : start + block.width] *= _WIDE
        return cls(vectors, [first, last], [first.copy(), last.copy()])

    def draw(self, rows: int, source: WordSource, *, averaged: bool = False) -> Draft:
        """So many rows, each wished to have one value of one column: a column at random, a value by its released share."""
        first, last = self.average if averaged else self.weights
        wish, column, mark = self._wishes(rows, source)
        noise = normals(rows * NOISE, source).reshape(rows, NOISE)
        given = np.concatenate([noise, wish, np.ones((rows, 1))], axis=1)
        hidden = np.concatenate([np.maximum(given @ first, 0.0), np.ones((rows, 1))], axis=1)
        raw = hidden @ last
        soft, hard = np.zeros_like(raw), np.zeros_like(raw)
        for start, block in zip(self.vectors.starts, self.vectors.blocks, strict=True):
            marks = slice(start, start + block.marks)
            chance = -np.log(-np.log(np.clip(uniforms(rows * block.marks, source), 1e-12, 1 - 1e-12)))
            soft[:, marks] = softmax((raw[:, marks] + chance.reshape(rows, -1)) / _HEAT)
            hard[np.arange(rows), start + soft[:, marks].argmax(axis=1)] = 1.0
            if block.means is not None:
                soft[:, start + block.marks] = hard[:, start + block.marks] = np.tanh(raw[:, start + block.marks])
        return Draft(given, hidden, raw, soft, hard, column, mark)

    def _wishes(self, rows: int, source: WordSource) -> tuple[Floats, Codes, Codes]:
        column = np.minimum(
            (uniforms(rows, source) * len(self.vectors.blocks)).astype(int), len(self.vectors.blocks) - 1
        )
        at = uniforms(rows, source)
        wish, mark = np.zeros((rows, self.vectors.width)), np.zeros(rows, dtype=np.int64)
        for place, (start, block) in enumerate(zip(self.vectors.starts, self.vectors.blocks, strict=True)):
            chosen = column == place
            mark[chosen] = np.searchsorted(np.cumsum(block.mark_shares())[:-1], at[chosen], side="right")
            wish[np.flatnonzero(chosen), start + mark[chosen]] = 1.0
        return wish, column, mark

    def learn(self, draft: Draft, upward: Floats) -> float:
        """One step: `upward` is, for every entry of the drawn rows, which way the discriminator would call them more real.

        Rows should also have what was wished of them, and marks their released shares. Returns the mean length of what the
        discriminator said.
        """
        back = np.zeros_like(draft.raw)
        for place, (start, block) in enumerate(zip(self.vectors.starts, self.vectors.blocks, strict=True)):
            marks = slice(start, start + block.marks)
            short = block.mark_shares() - draft.hard[:, marks].mean(axis=0)
            soft, said = draft.soft[:, marks], upward[:, marks] + _ANCHOR * short
            back[:, marks] = soft * (said - (said * soft).sum(axis=1, keepdims=True)) / _HEAT
            if block.means is not None:
                last = start + block.marks
                back[:, last] = upward[:, last] * (1 - draft.soft[:, last] ** 2)
            wished = np.flatnonzero(draft.column == place)
            lacking = -softmax(draft.raw[wished, marks])
            lacking[np.arange(wished.size), draft.mark[wished]] += 1.0
            back[wished, marks] += lacking
        inner = np.where(draft.hidden[:, :-1] > 0, back @ self.weights[1][:-1].T, 0.0)
        self._move([draft.given.T @ inner / len(back), draft.hidden.T @ back / len(back)])
        return float(np.sqrt((upward * upward).sum(axis=1)).mean())

    def _move(self, gradients: Sequence[Floats]) -> None:
        """Adam, upwards."""
        if not self.moments:
            self.moments = [(np.zeros_like(each), np.zeros_like(each)) for each in gradients]
        self.steps += 1
        for place, gradient in enumerate(gradients):
            mean, square = self.moments[place]
            mean += (1 - _FIRST) * (gradient - mean)
            square += (1 - _SECOND) * (gradient * gradient - square)
            size = np.sqrt(square / (1 - _SECOND**self.steps)) + 1e-8
            self.weights[place] = self.weights[place] + _RATE * mean / (1 - _FIRST**self.steps) / size
            self.average[place] = _AVERAGE * self.average[place] + (1 - _AVERAGE) * self.weights[place]

    def gap(self, rows: int, source: WordSource) -> float:
        """The mean distance (TVD) of the columns of drawn rows from the released shares of their marks."""
        drawn = self.draw(rows, source, averaged=True).hard
        found = []
        for start, block in zip(self.vectors.starts, self.vectors.blocks, strict=True):
            found.append(np.abs(drawn[:, start : start + block.marks].mean(axis=0) - block.mark_shares()).sum() / 2)
        return float(np.mean(found))

    def to_record(self) -> list[Any]:
        """The averaged weights as JSON, short."""
        return [np.round(each, 5).tolist() for each in self.average]


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """Drawn rows and everything on the way to them, for the way back."""

    given: Floats
    hidden: Floats
    raw: Floats
    soft: Floats
    hard: Floats
    column: Codes
    mark: Codes

    def vectors(self) -> Floats:
        """The rows as a discriminator reads them: whole numbers, an entry of GRID first."""
        return np.concatenate([np.full((len(self.hard), 1), float(GRID)), np.rint(self.hard * GRID)], axis=1)


def realness(vectors: Floats, weights: Sequence[Floats]) -> Floats:
    """Which way each entry of these rows should move to be called more real by a discriminator of one hidden layer."""
    first, last = (each / WEIGHT_STEPS for each in weights)
    hidden = np.maximum(vectors / GRID @ first, 0.0)
    score = np.concatenate([hidden, np.ones((len(hidden), 1))], axis=1) @ last
    unsure = 1 / (1 + np.exp(np.clip(score, -30, 30)))
    back = np.where(hidden > 0, unsure @ last[:-1].T, 0.0)
    return np.asarray((back @ first.T)[:, 1:], dtype=np.float64)


def softmax(raw: Floats) -> Floats:
    """Positive numbers that add up to one, row by row."""
    weights = np.exp(raw - raw.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
