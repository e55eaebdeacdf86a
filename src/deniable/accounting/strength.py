"""Which definition of privacy implies which, and how tightly: the graph as data, and conversion along it.

Every loss can be written as a cost that promises exactly it, and every measure reads costs; so a conversion is a reading, and there
is one for every pair of definitions that a theorem joins.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.measures.bounded_range import BoundedRange
from deniable.accounting.measures.characteristic import CharacteristicFunctions
from deniable.accounting.measures.concentrated import ZeroConcentrated
from deniable.accounting.measures.gaussian_privacy import GaussianPrivacy
from deniable.accounting.measures.measure import Measure
from deniable.accounting.measures.probabilistic_privacy import Probabilistic
from deniable.accounting.measures.pure import Pure
from deniable.accounting.measures.whole import LossDistributions, Profiles, TradeOffs
from deniable.accounting.theorems import RenyiPrivacy, epsilon
from deniable.cost import Bounded
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, probability

Loss = TypeVar("Loss")

MEASURES: tuple[Measure[Any], ...] = (
    Pure(),
    BoundedRange(),
    GaussianPrivacy(),
    ZeroConcentrated(),
    RenyiPrivacy(),
    LossDistributions(),
    CharacteristicFunctions(),
    TradeOffs(),
    Profiles(),
    Probabilistic(),
    Approximate(),
)

if TYPE_CHECKING:
    from deniable.plots import Figure
"""Every measure, roughly from the strongest to the weakest."""


@dataclass(frozen=True, slots=True)
class Implication:
    """`strong` implies `weak`; `formula` says how, `exact` whether nothing is lost."""

    strong: type[Measure[Any]]
    weak: type[Measure[Any]]
    formula: str
    theorem: str
    exact: bool = False


IMPLICATIONS: tuple[Implication, ...] = (
    Implication(Pure, BoundedRange, "eta = 2 epsilon", "by definition"),
    Implication(BoundedRange, Pure, "epsilon = eta", "a range holds zero: probabilities sum to one"),
    Implication(Pure, GaussianPrivacy, "mu = 2 Phi^-1(e^epsilon/(1+e^epsilon))", "a chord lies above a convex curve"),
    Implication(Pure, ZeroConcentrated, "rho = epsilon tanh(epsilon/2)", "Steinke 2024"),
    Implication(
        BoundedRange, ZeroConcentrated, "rho = u - 1 - ln u, u = eta/(e^eta - 1)", "Harrison and Manurangsi 2025"
    ),
    Implication(GaussianPrivacy, ZeroConcentrated, "rho = mu²/2", "Dong, Roth and Su 2022"),
    Implication(ZeroConcentrated, RenyiPrivacy, "epsilon(a) = a rho", "by definition"),
    Implication(GaussianPrivacy, LossDistributions, "normal, mean mu²/2, variance mu²", "by definition"),
    Implication(Pure, LossDistributions, "two atoms at ± epsilon", "Kairouz, Oh and Viswanath 2015"),
    Implication(LossDistributions, CharacteristicFunctions, "Fourier transform", "Zhu, Dong and Wang 2022", exact=True),
    Implication(CharacteristicFunctions, LossDistributions, "inverse transform", "Zhu, Dong and Wang 2022", exact=True),
    Implication(
        LossDistributions, TradeOffs, "the errors of its likelihood-ratio tests", "Zhu, Dong and Wang 2022", exact=True
    ),
    Implication(TradeOffs, Profiles, "convex conjugate", "Dong, Roth and Su 2022", exact=True),
    Implication(Profiles, TradeOffs, "the largest of its lines", "Dong, Roth and Su 2022", exact=True),
    Implication(Profiles, LossDistributions, "second derivative in e^epsilon", "Zhu, Dong and Wang 2022", exact=True),
    Implication(
        RenyiPrivacy,
        Profiles,
        "delta = e^((a-1)(r-epsilon)) (1-1/a)^(a-1)/a, best a",
        "Canonne, Kamath and Steinke 2020, proposition 12",
    ),
    Implication(Profiles, Approximate, "one point of the curve", "by definition"),
    Implication(
        Approximate,
        ZeroConcentrated,
        "rho = epsilon tanh(epsilon/2), with the same delta",
        "Kairouz, Oh and Viswanath 2015",
    ),
    Implication(Approximate, TradeOffs, "two lines through (0, 1 - delta)", "Wasserman and Zhou 2010", exact=True),
    Implication(Pure, Probabilistic, "the same epsilon, delta = 0", "by definition", exact=True),
    Implication(Probabilistic, Approximate, "the same epsilon and delta", "Meiser 2018"),
    Implication(Approximate, Probabilistic, "(epsilon + ln 2, 2 delta)", "Markov's inequality"),
)
"""The arrows. With those of `Approximate`, a delta travels along as the approximate variant of each definition."""


_PLACES: dict[type[Measure[Any]], tuple[float, float]] = {
    BoundedRange: (0, 0),
    Pure: (1.6, 0),
    GaussianPrivacy: (3.2, 0),
    ZeroConcentrated: (0.2, 1.35),
    LossDistributions: (2.87, 1.35),
    CharacteristicFunctions: (3.3, 2.5),
    RenyiPrivacy: (0, 3.4),
    TradeOffs: (2.4, 3.4),
    Profiles: (1.25, 2.5),
    Approximate: (1.25, 4.2),
    Probabilistic: (3.3, 4.2),
}


def picture() -> Figure:
    """Which definition implies which: an arrow for each of `IMPLICATIONS`, numbered in their order."""
    from deniable.plots import definition_graph

    places = {measure.name: place for measure, place in _PLACES.items()}
    arrows = [(each.strong.name, each.weak.name) for each in IMPLICATIONS]
    return definition_graph(places, arrows=arrows)


def convert(loss: Any, *, source: Measure[Any], target: Measure[Loss], delta: Real | None = None) -> Loss:
    """A loss under one measure as a loss under another; `Unaccountable` if no theorem leads there.

    A whole curve becomes one (epsilon, delta) at the `delta` given; other targets need none.

    Guarantee: whatever has the first loss has the second.
    """
    kind = type(source.compose(()))
    if not isinstance(loss, kind):
        raise InvalidArgument(
            f"a loss under {source.name} is a {kind.__name__}, as its read(cost) returns it; got {loss!r}"
        )
    promise = source.promise(loss)
    if delta is None:
        return target.read(promise)
    if not isinstance(target, Approximate):
        raise InvalidArgument(f"a delta picks one point of a curve for (epsilon, delta); {target.name} takes none")
    chance = probability(delta=delta)
    found: Any = target.read(Bounded(epsilon=Fraction(epsilon(promise, delta=chance).upper), delta=chance))
    return found  # type: ignore[no-any-return]
