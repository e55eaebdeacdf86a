"""Which estimator for which target: a comparison on six axes, from public facts and the price alone. Nothing is read or spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deniable.errors import DeniableError
from deniable.exact import digits, number_of
from deniable.exact.guards import Real
from deniable.models.additive_model import AdditiveModel
from deniable.models.estimator import Door, Estimator, FitPrice
from deniable.models.linear import LinearRegression
from deniable.models.logistic import LogisticRegression
from deniable.models.naive_bayes import NaiveBayes
from deniable.models.trees import DecisionTree, RandomForest

AXES = ("bias", "variance", "privacy", "time", "complexity", "effort")


@dataclass(frozen=True, slots=True)
class Advice:
    """One estimator, what is to be said of it on each axis, and why it stands where it stands."""

    estimator: Any
    price: FitPrice
    axes: tuple[tuple[str, str], ...]
    reason: str

    def __getitem__(self, axis: str) -> str:
        return dict(self.axes)[axis]

    def __str__(self) -> str:
        told = "; ".join(f"{axis}: {word}" for axis, word in self.axes)
        return f"{self.price.estimator}: {self.reason}\n  {told}"


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Estimators from the most to the least advisable."""

    advice: tuple[Advice, ...]

    @property
    def best(self) -> Any:
        """The estimator that is recommended; `best.fit(session, epsilon=...)` fits it."""
        return self.advice[0].estimator

    def __str__(self) -> str:
        return "\n".join(str(each) for each in self.advice)


def recommend(
    session: Door,
    *,
    target: str,
    epsilon: Real | None = None,
    rho: Real | None = None,
    delta: Real | None = None,
    readable: bool = False,
) -> Recommendation:
    """Estimators of `target`, best first. With `readable` those come first whose numbers a person can read.

    Guarantee: uses the codebook and the price only.
    """
    known = Estimator(target).reading(session.codebook)
    assert known.target is not None
    candidates = _for_numbers(target) if known.target.is_number else _for_classes(target, len(known.target.values))
    offers = []
    for place, (model, axes, reason, is_readable) in enumerate(candidates):
        try:
            price = model.price(session, epsilon=epsilon, rho=rho, delta=delta)
        except DeniableError:
            continue  # this one does not fit the session's unit or its budget without a delta
        offers.append(((readable and not is_readable, place), Advice(model, price, _axes(axes, price), reason)))
    if not offers:
        candidates[0][0].price(session, epsilon=epsilon, rho=rho, delta=delta)  # says why
    return Recommendation(tuple(advice for _, advice in sorted(offers, key=lambda pair: pair[0])))


def _axes(words: tuple[str, str, str, str, str], price: FitPrice) -> tuple[tuple[str, str], ...]:
    bias, variance, time, complexity, effort = words
    pure = "no delta" if not price.delta else f"delta = {digits(price.delta)}"
    privacy = f"{pure}; {number_of(price.steps, 'noisy answer')}, noise multiplier {price.multiplier:.3g}"
    return tuple(zip(AXES, (bias, variance, privacy, time, complexity, effort), strict=True))


Candidate = tuple[Any, tuple[str, str, str, str, str], str, bool]


def _for_numbers(target: str) -> list[Candidate]:
    return [
        (
            LinearRegression(target),
            ("straight lines only", "low: one noisy answer", "one pass", "one number a column", "none"),
            "one noisy matrix, with standard errors and intervals",
            True,
        ),
        (
            AdditiveModel(target),
            (
                "any shape of each column, no interactions",
                "some in rare bins",
                "a pass for each turn",
                "a table a column",
                "none",
            ),
            "bends where lines do not fit; no intervals",
            True,
        ),
        (
            LinearRegression(target, method="functional"),
            ("straight lines only", "high: Laplace noise on every product", "one pass", "one number a column", "none"),
            "an epsilon without a delta",
            True,
        ),
    ]


def _for_classes(target: str, classes: int) -> list[Candidate]:
    found: list[Candidate] = []
    if classes == 2:
        found.append(
            (
                AdditiveModel(target),
                (
                    "any shape of each column, no interactions",
                    "some in rare bins",
                    "a pass for each turn",
                    "a table a column",
                    "none",
                ),
                "usually the best ranking of rows at the same price",
                True,
            )
        )
    found += [
        (
            LogisticRegression(target),
            ("straight and logarithmic lines", "low to middling", "twenty passes", "a number or two a column", "none"),
            "coefficients with approximate intervals",
            True,
        ),
        (
            NaiveBayes(target),
            (
                "features count as independent",
                "low: one noisy answer",
                "one pass",
                "a table a column and class",
                "none",
            ),
            "the safest where rows or epsilon are few",
            True,
        ),
        (
            DecisionTree(target),
            (
                "a few cuts",
                "high: a split may miss",
                "a pass for each level",
                "a short list of questions",
                "choose the depth",
            ),
            "questions a person can follow; an epsilon without a delta",
            True,
        ),
        (
            RandomForest(target),
            (
                "many cuts, averaged",
                "middling: each tree has few people",
                "a pass for each level",
                "many trees",
                "choose depth and trees",
            ),
            "for many rows",
            False,
        ),
    ]
    return found
