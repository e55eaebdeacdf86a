"""Attacks on our own estimators: who was in the training rows, what a model tells about a person, a planted record learnt by heart.

Every model is fitted through a session on made-up rows, under the charge anybody would pay. The attacker sees the fitted model and
its predictions on public rows, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.accounting import budget
from deniable.attacks.anonymity import made_up
from deniable.attacks.membership import Membership
from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.exact.guards import Real, integer
from deniable.models.estimator import Estimator
from deniable.models.fitted import FittedModel
from deniable.noise import Entropy, system_entropy
from deniable.release.dataset import Dataset

Floats = NDArray[np.float64]
MadeUpRows = Mapping[str, Sequence[Any]]
Fit = Callable[[MadeUpRows], FittedModel]
_DELTA = Fraction(1, 10**5)
_LEAST = 1e-12


@dataclass(frozen=True, slots=True)
class ModelWorld:
    """Made-up rows of coins and a label nobody can predict: what a model gets right of it, it has learnt by heart."""

    codebook: Mapping[str, Any]
    columns: tuple[str, ...]

    def rows(self, count: int, *, entropy: Entropy | None = None) -> dict[str, list[bool]]:
        """That many people, each with fair coins for features and for a label."""
        source, size = entropy or system_entropy(), integer(count=count, least=1)
        return {
            name: [bool(coin) for coin in noise.bernoullis(Fraction(1, 2), size, source)]
            for name in (*self.columns, "label")
        }

    def fit(self, estimator: Estimator, *, epsilon: Real, entropy: Entropy | None = None) -> Fit:
        """A function from rows to the model fitted to them, each time in a session of its own."""

        def fitted(rows: MadeUpRows) -> FittedModel:
            session = Dataset(dict(rows), codebook=self.codebook).session(
                budget(epsilon=epsilon, delta=_DELTA), entropy=entropy
            )
            model: FittedModel = estimator.fit(session, epsilon=epsilon)
            return model

        return fitted


def model_world(features: int) -> ModelWorld:
    """A world whose people have that many coins and a label."""
    names = tuple(f"c{place}" for place in range(integer(features=features, least=1)))
    variables = {name: {"type": "boolean"} for name in (*names, "label")}
    return ModelWorld({"name": "coins", "unit": "rows", "tables": {"coins": {"variables": variables}}}, names)


def model_losses(model: FittedModel, rows: MadeUpRows, *, target: str = "label") -> Floats:
    """What each row's true label costs the model: minus the logarithm of the chance it gives to it."""
    made_up(rows, Mapping, "columns by name")
    chances = np.asarray(model.probabilities({name: rows[name] for name in rows if name != target}), dtype=float)
    places = {value: place for place, value in enumerate(model.classes)}
    missing = set(rows[target]) - set(places)
    if missing:
        raise InvalidArgument(
            f"the model knows the classes {list(places)}, and a row has {sorted(missing, key=str)[0]!r}"
        )
    picked = chances[np.arange(len(chances)), [places[label] for label in rows[target]]]
    return np.asarray(-np.log(np.maximum(picked, _LEAST)))


def model_membership(
    fit: Fit,
    inside: MadeUpRows,
    outside: MadeUpRows,
    *,
    references: Sequence[MadeUpRows] = (),
    target: str = "label",
) -> Membership:
    """Fit to the rows inside, then score everybody by their loss, less their mean loss under models of other rows."""
    for rows in (inside, outside, *references):
        made_up(rows, Mapping, "columns by name")
    model, others = fit(inside), [fit(rows) for rows in references]

    def scores(rows: MadeUpRows) -> tuple[float, ...]:
        plain = -model_losses(model, rows, target=target)
        if others:
            plain = plain + np.mean([model_losses(other, rows, target=target) for other in others], axis=0)
        return tuple(float(score) for score in plain)

    return Membership(scores(inside), scores(outside))


def model_inversion(
    fit: Fit, rows: MadeUpRows, *, person: int, column: str, values: Sequence[Any], target: str = "label"
) -> tuple[Any, Any]:
    """The value of one column that fits a person's label best, by a model with them and by a model without them.

    If both say the same, the model told something about the world, not about the person.
    """
    size = len(made_up(rows, Mapping, "columns by name")[target])
    without = {name: [cell for place, cell in enumerate(cells) if place != person] for name, cells in rows.items()}
    if not 0 <= integer(person=person) < size:
        raise InvalidArgument(f"person must be one of the {number_of(size, 'row')}, got {person}")
    tries = {name: [cells[person]] * len(values) for name, cells in rows.items()} | {column: list(values)}
    best = [int(np.argmin(model_losses(fit(each), tries, target=target))) for each in (rows, without)]
    return values[best[0]], values[best[1]]


def canary_exposure(
    fit: Fit, rows: MadeUpRows, canary: Mapping[str, Any], *, times: int = 6, target: str = "label"
) -> float:
    """How often a model fitted with a planted record finds its label likelier than a model fitted without it.

    Over all pairs of `times` models of either kind; 1/2 is what nothing learnt gives, 1 is learnt by heart.
    """
    planted = {name: [*cells, canary[name]] for name, cells in made_up(rows, Mapping, "columns by name").items()}
    alone, turns = {name: [cell] for name, cell in canary.items()}, range(integer(times=times, least=1))

    def losses(trained: MadeUpRows) -> Floats:
        return np.array([float(model_losses(fit(trained), alone, target=target)[0]) for _ in turns])

    with_it, without = losses(planted), losses(rows)
    return float(np.mean(np.sign(without[:, None] - with_it[None, :])) / 2 + 0.5)
