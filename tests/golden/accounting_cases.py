"""The releases every accountant is asked about, and the exact delta of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath

from deniable.cost import (
    Bounded,
    Cost,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    RandomizedResponse,
    composed,
)
from tests.unit.accounting import contour
from tests.unit.accounting.laplaces import laplace_delta
from tests.unit.accounting.reference import exactly, truth

Part = Mapping[str, Any]


def _part(kind: str, times: int = 1, **parameters: Any) -> Part:
    return {"kind": kind, **parameters, "times": times}


def _training(scale: float, rate: float, times: int) -> Part:
    return _part("sampled gaussian", times, scale=scale, rate=rate)


def _case(name: str, delta: float, *parts: Part) -> dict[str, Any]:
    return {"id": name, "delta": delta, "parts": list(parts)}


TOUR = _training(1.0, 0.01, 10_000)
CASES = [
    _case("one Gaussian", 1e-5, _part("gaussian", scale=1.0)),
    _case("a Gaussian with hardly any noise", 1e-6, _part("gaussian", scale=0.03)),
    _case("fifty Gaussians, small delta", 1e-12, _part("gaussian", 50, scale=20.0)),
    _case("one Gaussian, tiny delta", 1e-16, _part("gaussian", scale=5.0)),
    _case("one Laplace", 1e-5, _part("laplace", scale=1.0)),
    _case("twelve Laplace", 1e-6, _part("laplace", 12, scale=4.0)),
    _case("ten discrete Laplace", 1e-6, _part("discrete laplace", 10, scale=4.0)),
    _case("three discrete Gaussians", 1e-6, _part("discrete gaussian", 3, scale=2.0)),
    _case("a hundred coin responses", 1e-6, _part("response", 100, truth=0.55, categories=2)),
    _case("thirty responses among four", 1e-6, _part("response", 30, truth=0.4, categories=4)),
    _case("a thousand pure releases", 1e-6, _part("pure", 1000, epsilon=0.1)),
    _case("ten thousand pure releases", 1e-6, _part("pure", 10_000, epsilon=0.01)),
    _case("training: the tour", 1e-6, TOUR),
    _case("training: the tour, delta 1e-12", 1e-12, TOUR),
    _case("training: the tour, delta 1e-15", 1e-15, TOUR),
    _case("training: the tour, delta 1e-20", 1e-20, TOUR),
    _case("training: short", 1e-5, _training(0.8, 0.02, 1000)),
    _case("training: little noise", 1e-5, _training(0.6, 0.02, 2000)),
    _case("training: the most noise, twenty steps", 1e-8, _training(50.0, 0.01, 20)),
    _case("training: very little noise", 1e-6, _training(0.3, 0.2, 100)),
    _case("training: long and quiet", 1e-8, _training(2.0, 0.001, 100_000)),
    _case("training: two phases", 1e-6, _training(1.0, 0.01, 2000), _training(2.0, 0.02, 2000)),
    _case("a Gaussian and twenty Laplace", 1e-6, _part("gaussian", scale=2.0), _part("laplace", 20, scale=10.0)),
]


def cost_of(parts: Sequence[Part]) -> Cost:
    """The same releases as our record."""
    return composed(_cost(part).repeated(part["times"]) for part in parts)


def _cost(part: Part) -> Cost:
    match part["kind"]:
        case "gaussian":
            return Gaussian(scale=part["scale"], sensitivity=1)
        case "sampled gaussian":
            return Gaussian(scale=part["scale"], sensitivity=1).sampled(rate=part["rate"])
        case "laplace":
            return Laplace(scale=part["scale"])
        case "discrete laplace":
            return DiscreteLaplace(scale=part["scale"])
        case "discrete gaussian":
            return DiscreteGaussian(scale=part["scale"], sensitivity=1)
        case "response":
            return RandomizedResponse(truth=part["truth"], categories=part["categories"])
        case _:
            return Bounded(epsilon=part["epsilon"])


def delta_of(parts: Sequence[Part]) -> Callable[[float], Any]:
    """The exact delta at an epsilon: a formula, an enumeration, or the contour integral; never our own accounting."""
    first = parts[0]
    if any("gaussian" in part["kind"] and part["kind"] != "discrete gaussian" for part in parts) and len(parts) > 1:
        return _contour(parts)
    if first["kind"] == "sampled gaussian":
        return _contour(parts)
    if first["kind"] == "laplace":
        loss = 1 / exactly(Fraction(str(first["scale"])))
        return lambda e: laplace_delta(loss, first["times"], exactly(e))
    if first["kind"] == "pure" or (first["kind"] == "discrete laplace"):
        loss = (
            exactly(Fraction(str(first["epsilon"])))
            if "epsilon" in first
            else 1 / exactly(Fraction(str(first["scale"])))
        )
        return _binomial(loss, first["times"])
    cost = cost_of(parts)
    return lambda e: truth(cost, e)


def _binomial(loss: mpmath.mpf, times: int) -> Callable[[float], Any]:
    high, low = 1 / (1 + mpmath.exp(-loss)), 1 / (1 + mpmath.exp(loss))
    law, mass = [], low**times
    for k in range(times + 1):
        law.append(((2 * k - times) * loss, mass))
        mass = mass * (times - k) / (k + 1) * (high / low)
    return lambda e: mpmath.fsum(m * (1 - mpmath.exp(exactly(e) - at)) for at, m in law if at > e)


def _contour(parts: Sequence[Part]) -> Callable[[float], float]:
    """A unit removed, which is the worse direction of a sampled Gaussian; adding is asked where it could be."""
    ways = [[(_moment(part, added=added), part["times"]) for part in parts] for added in (False, True)]
    sampled = [part for part in parts if part["kind"] == "sampled gaussian"]
    ceiling = (
        -sum(part["times"] * math.log1p(-part["rate"]) for part in sampled) if len(sampled) == len(parts) else math.inf
    )

    def value(e: float) -> float:
        removed = contour.delta(ways[0], e)
        if not sampled or e >= ceiling or contour.at_most(ways[1], e) <= removed:
            return removed
        return max(removed, contour.delta(ways[1], e))

    return value


def _moment(part: Part, *, added: bool) -> contour.LogMoment:
    match part["kind"]:
        case "sampled gaussian":
            return contour.SampledNormal(1 / part["scale"], part["rate"], added=added)
        case "gaussian":
            return contour.normal(1 / part["scale"])
        case _:
            return contour.laplace(1 / part["scale"])
