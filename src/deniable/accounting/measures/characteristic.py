"""The characteristic function of the privacy loss: phi(s) = E[e^(s Z)] at complex s, multiplied under composition.

Read back by one integral, tilted to where the loss is (Zhu, Dong and Wang 2022):
delta(epsilon) = 1/(2 pi) times the integral over u of phi(a + iu) e^(-(a+iu) epsilon) / ((a+iu)(a+1+iu)), for any a > 0.
An independent way to the same numbers; the ends of its bracket carry the errors of truncation, aliasing and rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.accounting.bracket import Bracket
from deniable.accounting.conversion import best_place
from deniable.accounting.cost_terms import free
from deniable.accounting.measures.measure import Adaptivity, Measure, Single
from deniable.accounting.profiles import leak
from deniable.cost import (
    Bounded,
    Cost,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    RandomizedResponse,
    Repeated,
    Selected,
    composed,
)
from deniable.errors import Unaccountable

Complex: TypeAlias = NDArray[np.complex128]
_NODES = 2**18


class LossLaw(Protocol):
    """The law of one release's privacy loss, the same in both directions; equal releases have equal laws."""

    @property
    def release(self) -> Cost:
        """The release whose loss this is."""
        ...

    def moment(self, s: Complex) -> Complex:
        """ln E[e^(s Z)], for real parts above 0; the imaginary part may be off by a multiple of 2 pi."""
        ...

    def decay(self, u: float) -> float:
        """How far below its value at u = 0 ln |phi(a + iu)| certainly is, for all larger u too."""
        ...


@dataclass(frozen=True, slots=True)
class NormalLaw:
    """Z is normal with mean `half` and variance twice that."""

    release: Gaussian

    @property
    def half(self) -> float:
        """mu²/2."""
        return float(self.release.squared_sensitivity / self.release.scale**2) / 2

    def moment(self, s: Complex) -> Complex:
        return self.half * s * (s + 1)

    def decay(self, u: float) -> float:
        return self.half * u * u


@dataclass(frozen=True, slots=True)
class TwoExponentials:
    """E[e^(sZ)] = A(s) e^(s epsilon) + B(s) e^(-(s+1) epsilon): Laplace noise, continuous or discrete."""

    release: Laplace | DiscreteLaplace

    def moment(self, s: Complex) -> Complex:
        epsilon = float(self.release.sensitivity / self.release.scale)
        first, second = self._weights(s)
        return s * epsilon + np.log(first + second * np.exp(-(2 * s + 1) * epsilon))

    def _weights(self, s: Complex) -> tuple[Complex, Complex]:
        if isinstance(self.release, Laplace):
            share: Complex = s / (2 * s + 1)
            return 1 - share, share
        scale = float(self.release.scale)
        q = math.exp(-1 / scale)
        c: Complex = np.exp(-(2 * s + 1) / scale)
        common: Complex = (1 + q) * (1 - c)
        return (1 - q * c) / common, (q - c) / common

    def decay(self, u: float) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class ThreeAtoms:
    """Randomised response, or a pure loss, which at worst is that."""

    release: RandomizedResponse | Bounded

    def moment(self, s: Complex) -> Complex:
        truth, other, ratio = self._chances()
        rest = max(0.0, 1 - truth - other)
        return s * ratio + np.log(truth + other * np.exp(-2 * s * ratio) + rest * np.exp(-s * ratio))

    def _chances(self) -> tuple[float, float, float]:
        if isinstance(self.release, Bounded):
            epsilon = float(self.release.epsilon)
            return 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon)), epsilon
        other = (1 - self.release.truth) / (self.release.categories - 1)
        return float(self.release.truth), float(other), math.log(self.release.truth / other)

    def decay(self, u: float) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class CharacteristicLoss:
    """Laws with their counts, and leaks with theirs."""

    laws: tuple[tuple[LossLaw, int], ...] = ()
    leaks: tuple[tuple[Fraction, int], ...] = ()

    def log(self, s: Complex) -> Complex:
        """ln phi(s)."""
        return np.asarray(sum((times * law.moment(s) for law, times in self.laws), np.zeros_like(s)))

    def delta(self, epsilon: float) -> Bracket:
        """delta at `epsilon` >= 0, by the integral."""
        leaked = float(leak(self.leaks).upper)
        inner, error = self._integral(epsilon) if self.laws else (0.0, 0.0)
        low, high = (max(0.0, min(1.0, inner + side)) for side in (-error, error))
        return Bracket(low * (1 - leaked) + leaked * (1 - 1e-12), min(1.0, high * (1 - leaked) + leaked))

    def _integral(self, epsilon: float) -> tuple[float, float]:
        a = math.exp(best_place(lambda t: self._height(math.exp(t), epsilon), low=-9.0, high=9.0))
        top = self._height(a, epsilon) + math.log(a * (a + 1))  # ln phi(a) - a epsilon
        period = (45 + max(0.0, -top)) / a
        step = 2 * math.pi / period
        s: Complex = a + np.arange(_NODES) * np.complex128(1j * step)
        exponents = self.log(s) - s * epsilon - top
        values = np.exp(exponents) / (s * (s + 1))
        total = step / math.pi * float(values.real.sum() - values.real[0] / 2)
        end = _NODES * step
        decay = min(700.0, sum(times * law.decay(end) for law, times in self.laws))
        wrapped = math.exp(-a * period) / -math.expm1(-a * period) * (1 + math.exp(min(700.0, -top)))
        rounding = (64 + float(np.abs(exponents).max())) * 2.0**-52 * step / math.pi * float(np.abs(values).sum())
        error = math.exp(-decay) / (math.pi * end) + wrapped + self._beyond(a, top, epsilon, period) + rounding
        return total * math.exp(top), error * math.exp(top)

    def _beyond(self, a: float, top: float, epsilon: float, period: float) -> float:
        """What the losses a period and more above epsilon add to the sum, by Chernoff at further tilts, over e^top."""
        best = math.inf
        for further in (1.05, 1.2, 1.5, 2.0, 3.0):
            tilt = a * further
            log = self._height(tilt, epsilon) + math.log(tilt * (tilt + 1)) - top - (tilt - a) * period
            best = min(best, math.exp(min(log, 700.0)) / -math.expm1(-(tilt - a) * period))
        return best

    def _height(self, a: float, epsilon: float) -> float:
        log = float(self.log(np.array([complex(a)]))[0].real)
        return log - a * epsilon - math.log(a * (a + 1)) if math.isfinite(log) else math.inf


@dataclass(frozen=True, slots=True)
class CharacteristicFunctions(Measure[CharacteristicLoss]):
    """Reads a cost as the characteristic function of its privacy loss; costs with closed-form ones only."""

    name: ClassVar[str] = "characteristic function"
    theorem: ClassVar[str] = "characteristic functions multiply (Zhu, Dong and Wang 2022)"
    adaptivity: ClassVar[Adaptivity] = Adaptivity.QUERIES

    def single(self, cost: Single) -> CharacteristicLoss:
        if free(cost):
            return CharacteristicLoss()
        match cost:
            case Gaussian():
                return _one(NormalLaw(cost))
            case Laplace() | DiscreteLaplace() if cost.coordinates == 1:
                return _one(TwoExponentials(cost))
            case RandomizedResponse():
                return _one(ThreeAtoms(cost))
            case Bounded(epsilon, delta):
                laws = ((ThreeAtoms(Bounded(epsilon=epsilon)), 1),) if epsilon else ()
                return CharacteristicLoss(laws, ((delta, 1),) if delta else ())
            case _:
                kept = "Rényi privacy" if isinstance(cost, Selected) else "privacy loss distribution"
                raise self.refuse(cost, instead=f"{kept}: deniable.epsilon(cost, delta=...)")

    def compose(self, losses: Iterable[CharacteristicLoss]) -> CharacteristicLoss:
        laws: dict[LossLaw, int] = {}
        leaks: dict[Fraction, int] = {}
        for loss in losses:
            for law, times in loss.laws:
                laws[law] = laws.get(law, 0) + times
            for chance, times in loss.leaks:
                leaks[chance] = leaks.get(chance, 0) + times
        return CharacteristicLoss(tuple(laws.items()), tuple(leaks.items()))

    def repeat(self, loss: CharacteristicLoss, times: int) -> CharacteristicLoss:
        if times == 0:
            return CharacteristicLoss()
        return CharacteristicLoss(
            tuple((law, count * times) for law, count in loss.laws),
            tuple((chance, count * times) for chance, count in loss.leaks),
        )

    def worst(self, losses: Iterable[CharacteristicLoss]) -> CharacteristicLoss:
        found = list(dict.fromkeys(losses))
        if len(found) > 1:
            raise Unaccountable(
                "different parts have no common characteristic function; read it as privacy loss distribution"
            )
        return found[0] if found else CharacteristicLoss()

    def mixed(self, parts: Sequence[tuple[Fraction, CharacteristicLoss]]) -> CharacteristicLoss:
        return self.worst(loss for _, loss in parts)

    def group(self, loss: CharacteristicLoss, size: int) -> CharacteristicLoss:
        raise Unaccountable(
            "no theorem groups characteristic functions; group the releases before they are composed, "
            "or read the whole by deniable.epsilon(cost, delta=...)"
        )

    def at_most(self, loss: CharacteristicLoss, limit: CharacteristicLoss) -> bool:
        """Whether delta is certainly within the limit's at twenty epsilons from 0 to 10."""
        if dict(loss.laws) == dict(limit.laws) and dict(loss.leaks) == dict(limit.leaks):
            return True
        return all(loss.delta(k / 2).upper <= limit.delta(k / 2).upper for k in range(21))

    def promise(self, loss: CharacteristicLoss) -> Cost:
        releases = [Repeated(law.release, times) for law, times in loss.laws]
        return composed([*releases, *(Repeated(Bounded(epsilon=0, delta=d), times) for d, times in loss.leaks)])


def _one(law: LossLaw) -> CharacteristicLoss:
    return CharacteristicLoss(((law, 1),))
