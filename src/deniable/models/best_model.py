"""The best of several models, chosen privately: each try draws one of them, fits it, and scores it with noise.

Guarantee: how many tries there were is drawn beforehand, from a law that does not know the data, and neither that number nor the
losers are shown; every candidate costs the same, so the whole costs a little more than one try (docs/theory/selection.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from deniable.core.compositor import grouped
from deniable.core.distance import Distance, plain
from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.core.step import MechanismFamily, Step
from deniable.cost import Cost, composed
from deniable.engines.table_space import table_space
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, positive
from deniable.mechanisms.best_of import best_of
from deniable.models.clusters import KMeans
from deniable.models.estimator import RowsReader, RowsReading
from deniable.models.fitted import NO_PREDICTIONS
from deniable.models.private_scores import METRICS, ScoreRule, rule_of, score_cost, score_family
from deniable.noise import Entropy
from deniable.plan.codebook import Codebook

OWN_SCORES = ("calinski_harabasz",)
"""Scores that a fitted model has of itself, from its own noisy answers."""


def best_family(codebook: Codebook, models: Sequence[Any], *, score: str, tries: Real) -> MechanismFamily:
    """The best of about `tries` tries, for every noise multiplier: candidates and their scores get the same."""
    listed = tuple(models)
    if not listed or not all(isinstance(each, RowsReader) for each in listed):
        raise InvalidArgument(
            "best_of takes a list of estimators, such as [LogisticRegression('income', ridge=r) for r in (0, 0.1)]"
        )
    if score not in METRICS and score not in OWN_SCORES:
        raise InvalidArgument(f"score must be one of {', '.join((*METRICS, *OWN_SCORES))}, got {score!r}")
    mean = positive(tries=tries)
    if not mean > 1:
        raise InvalidArgument(f"tries is the mean number of tries, above 1, got {tries!r}")
    space = table_space(codebook)
    recipe = f"best_of({', '.join(each.recipe() for each in listed)}, score={score}, tries={mean})"

    def at(multiplier: Real) -> Mechanism:
        runs = [_candidate(codebook, each, score, multiplier) for each in listed]
        steps = [Step(each.title, partial(_given, run)) for each, run in zip(listed, runs, strict=True)]
        if len({repr(run.cost(d_in=1)) for run in runs}) > 1:
            raise InvalidArgument("the candidates cost differently; give them the same steps and the same features")
        chosen = best_of(steps, score=_points, tries=1 / mean).build(space)
        return replace(chosen, recipe=recipe, utility=None)

    at(4)  # candidates that do not fit together are refused here, not while the noise is solved for
    return MechanismFamily(space, at)


def _given(run: Mechanism, _: Space) -> Mechanism:
    return run


def _points(fitted: Any) -> Any:
    return fitted.settings["score"]


def _candidate(codebook: Codebook, model: Any, score: str, multiplier: Real) -> Mechanism:
    """One model with its score in its settings, as one mechanism; fit and score are composed."""
    fit = model.family(codebook).at(multiplier)
    reading = model.reading(codebook)
    rule = _rule(model, reading, score)
    price = None if rule is None else score_cost(reading.per_unit, rule, multiplier)

    def function(data: Any, entropy: Entropy) -> Any:
        fitted = fit.function(data, entropy)
        if price is None:
            value = float(getattr(fitted, score))
        else:
            asked = score_family(codebook, fitted, metric=score, table=model.table, where=model.where, rows=model.rows)
            value = asked.at(multiplier).function(data, entropy).value
        return replace(fitted, settings={**fitted.settings, "score": value, "chosen by": score})

    def privacy_map(d_in: Distance) -> Cost:
        return composed([fit.privacy_map(d_in), *([] if price is None else [_grouped(price, d_in, reading.replaces)])])

    return Mechanism(table_space(codebook), function, privacy_map)


def _rule(model: Any, reading: RowsReading, score: str) -> ScoreRule | None:
    """How such models are scored, None by themselves."""
    if score in OWN_SCORES:
        if not isinstance(model, KMeans):
            raise InvalidArgument(f"{score} is a score of k-means, got a {model.title}")
        return None
    return scored_rule(model, reading, score)


def scored_rule(model: Any, reading: RowsReading, score: str) -> ScoreRule:
    """How such models are scored on rows; what could not be is refused here, before anything is charged."""
    if reading.target is None:
        raise InvalidArgument(f"{score} needs a model with a target, got {model.title}; k-means has {OWN_SCORES[0]}")
    if not model.predicts(reading):
        raise InvalidArgument(NO_PREDICTIONS)
    if model.values:
        raise InvalidArgument("models with listed values are not scored; declare the categories in the codebook")
    return rule_of(score, reading.target)


def _grouped(price: Cost, d_in: Distance, replaces: bool) -> Cost:
    return grouped(price, plain(d_in) * (2 if replaces else 1))
