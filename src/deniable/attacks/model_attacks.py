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


def model_likelihood_ratio(
    fit: Fit, people: MadeUpRows, *, models: int = 16, target: str = "label", entropy: Entropy | None = None
) -> Membership:
    """Ask of every person whether a model looks like those fitted with them, or like those fitted without them.

    The sharpest attack known on what a model says of single people (Carlini et al., Membership Inference Attacks From First
    Principles, 2022): `models` models are fitted, each to a random half of the people, in pairs of halves that complete one
    another; every model in turn is the one attacked, and the others tell how sure a model is of a person's label with the
    person and without them, as two normal laws with a mean for each person and one common width. A score is the logarithm
    of their ratio.
    """
    size = len(made_up(people, Mapping, "columns by name")[target])
    pairs = integer(models=models, least=6) // 2
    if size < 2:
        raise InvalidArgument(f"halves need two people or more, got {number_of(size, 'person', 'people')}")
    member = _halves(size, pairs, entropy or system_entropy())
    sure = np.array([_sure(fit(_part(people, np.flatnonzero(half))), people, target) for half in member])
    scores = np.array([_ratios(sure, member, turn) for turn in range(len(member))])
    return Membership(tuple(scores[member].tolist()), tuple(scores[~member].tolist()))


def _halves(size: int, pairs: int, source: Entropy) -> NDArray[np.bool_]:
    """Who is in which model: random halves, each followed by the other half."""
    halves = np.zeros((2 * pairs, size), dtype=bool)
    for pair in range(pairs):
        order = np.argsort(noise.uniforms_below(1 << 60, size, source), kind="stable")
        halves[2 * pair, order[: size // 2]] = True
        halves[2 * pair + 1] = ~halves[2 * pair]
    return halves


def _part(people: MadeUpRows, places: NDArray[np.int64]) -> dict[str, list[Any]]:
    return {name: [cells[place] for place in places] for name, cells in people.items()}


def _sure(model: FittedModel, people: MadeUpRows, target: str) -> Floats:
    """How sure a model is of each person's own label: the logarithm of its odds."""
    chance = np.exp(-model_losses(model, people, target=target))
    return np.asarray(np.log(chance) - np.log(np.maximum(1 - chance, _LEAST)))


def _ratios(sure: Floats, member: NDArray[np.bool_], turn: int) -> Floats:
    """Each person's score under one model, by what the other models say with them and without them."""
    others = np.arange(len(sure)) != turn
    inside, rest = member[others], sure[others]
    laws = [np.where(side, rest, 0).sum(axis=0) / side.sum(axis=0) for side in (inside, ~inside)]
    width = np.mean((rest - np.where(inside, *laws)) ** 2) + _LEAST
    with_them, without = ((sure[turn] - mean) ** 2 for mean in laws)
    return np.asarray((without - with_them) / (2 * width))


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
