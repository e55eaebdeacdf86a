"""Attacks on models: membership by loss and by reference models, inversion, a planted canary, training data extracted.

The models are small ones of this module (logistic regression by gradient descent, a character model), so that the attacks stand by
themselves; any model with `loss(rows, labels)` can be attacked the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.attacks.anonymity import made_up
from deniable.exact.guards import open_probability, positive
from deniable.noise import Entropy, system_entropy

Floats = NDArray[np.float64]
_GRID = 1 << 20


@dataclass(frozen=True, slots=True)
class LogisticModel:
    """Weights of a logistic regression without an intercept."""

    weights: Floats

    def loss(self, rows: Floats, labels: Floats) -> Floats:
        """The logistic loss of each row; labels are -1 and 1."""
        return np.asarray(np.logaddexp(0.0, -labels * (rows @ self.weights)))


def fit_logistic(rows: Floats, labels: Floats, *, ridge: float = 1e-3, steps: int = 1000) -> LogisticModel:
    """The minimiser of the mean logistic loss plus ridge / 2 |w|^2, by gradient descent; rows have norm at most one."""
    weights, rate = np.zeros(rows.shape[1]), 1.0 / (0.25 + ridge)
    for _ in range(steps):
        pull = labels / (1 + np.exp(labels * (rows @ weights)))
        weights = weights - rate * (ridge * weights - (rows * pull[:, None]).mean(axis=0))
    return LogisticModel(weights)


def fit_private_logistic(
    rows: Floats, labels: Floats, *, epsilon: Any, ridge: float = 1e-3, entropy: Entropy | None = None
) -> LogisticModel:
    """The same with noise on its weights (output perturbation), to show what noise does to an attack.

    Replacing one row of norm at most one moves the exact minimiser by at most 2 / (n ridge) in L2, so by sqrt(d) times that in L1;
    the descent is stopped early, so this is a model to attack, not one to publish. No guarantee is claimed.
    """
    model, source = fit_logistic(rows, labels, ridge=ridge), entropy or system_entropy()
    moved = 2 / (len(rows) * ridge) * np.sqrt(rows.shape[1])
    scale = Fraction(moved).limit_denominator(10**6) / positive(epsilon=epsilon) * 1000
    drawn = noise.discrete_laplaces(scale, rows.shape[1], source) / 1000
    return LogisticModel(model.weights + drawn)


@dataclass(frozen=True, slots=True)
class Membership:
    """Scores of people inside and outside the training data; a higher score says inside."""

    inside: tuple[float, ...]
    outside: tuple[float, ...]

    def power_at(self, false_positives: Any) -> float:
        """The share of members found at this rate of false alarms, measured on the outsiders."""
        rate = float(open_probability(false_positives=false_positives))
        threshold = np.quantile(self.outside, 1 - rate)
        return float(np.mean(np.array(self.inside) > threshold))


def membership(
    fit: Callable[[Floats, Floats], LogisticModel],
    inside: tuple[Floats, Floats],
    outside: tuple[Floats, Floats],
    *,
    references: Sequence[LogisticModel] = (),
) -> Membership:
    """Train on the people inside, then score everybody by their loss, less the mean loss under models trained on others."""
    for people in (inside, outside):
        made_up(people, tuple, "rows and labels")
    model = fit(*inside)

    def scores(people: tuple[Floats, Floats]) -> Floats:
        plain: Floats = -model.loss(*people)
        if not references:
            return plain
        return np.asarray(plain + np.mean([reference.loss(*people) for reference in references], axis=0))

    return Membership(tuple(scores(inside).tolist()), tuple(scores(outside).tolist()))


def classification_world(size: int, features: int, *, entropy: Entropy | None = None) -> tuple[Floats, Floats]:
    """Made-up rows of norm one, labels that hardly depend on them: what a model gets right it has learnt by heart."""
    source = entropy or system_entropy()
    drawn = noise.uniforms_below(_GRID, size * features, source).reshape(size, features) / _GRID - 0.5
    rows = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    labels = np.where(noise.bernoullis(Fraction(1, 2), size, source), 1.0, -1.0)
    return rows, labels


def inversion(
    models: tuple[LogisticModel, LogisticModel], row: Floats, column: int, *, label: float, values: Sequence[float]
) -> tuple[Any, Any]:
    """The value of one column that fits a person's label best, by the model with them and by the model without them.

    If both say the same, the model told something about the world, not about the person.
    """
    found = []
    for model in models:
        tries = np.repeat(np.asarray(row, dtype=float)[None, :], len(values), axis=0)
        tries[:, column] = values
        found.append(values[int(np.argmin(model.loss(tries, np.full(len(values), label))))])
    return found[0], found[1]


class CharacterModel:
    """How often each character follows each few characters; `noise_scale` adds noise to every count of a fixed alphabet."""

    def __init__(
        self,
        texts: Sequence[str],
        *,
        order: int = 5,
        alphabet: str,
        noise_scale: Any = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.order, self.alphabet = order, alphabet
        self.scale, self._entropy = noise_scale, entropy or system_entropy()
        self.counts: dict[str, Counter[str]] = {}
        self._noisy: dict[str, Counter[str]] = {}
        for text in texts:
            for at in range(order, len(text)):
                self.counts.setdefault(text[at - order : at], Counter())[text[at]] += 1

    def following(self, context: str) -> Counter[str]:
        """The counts after a context, each with its noise; the same every time they are looked at."""
        if self.scale is None:
            return self.counts.get(context, Counter())
        if context not in self._noisy:
            drawn = noise.discrete_laplaces(Fraction(self.scale), len(self.alphabet), self._entropy).tolist()
            true = self.counts.get(context, Counter())
            self._noisy[context] = Counter({c: true[c] + extra for c, extra in zip(self.alphabet, drawn, strict=True)})
        return self._noisy[context]

    def extract(self, start: str, length: int) -> str:
        """The likeliest continuation: training data, word for word, where the model has seen it once and nothing like it."""
        text = start
        for _ in range(length):
            counts = self.following(text[-self.order :])
            if not counts:
                break
            text += max(sorted(counts), key=lambda character: counts[character])
        return text[len(start) :]
