"""What one synthesizer may spend, and the noise that a share of it buys: the only place where a share becomes a scale."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from deniable.accounting import Rule, RuleKind, Spend
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.exact import sqrt
from deniable.kernels import DiscreteLaplaceNoise, Noise, RoundedGaussianNoise, Sensitivity

_GRID = 1 << 10
_PARTS = 1 << 24


@dataclass(frozen=True, slots=True)
class Allowance:
    """One of three filters: squares of mu, rho, or epsilon, and how much of it there is in all; `delta` is what thresholds leak.

    Guarantee: noise for a share costs at most that share of the whole; scales are rounded up.
    """

    kind: RuleKind
    whole: Fraction
    delta: Fraction = Fraction(0)

    @classmethod
    def at(cls, kind: RuleKind, scale: Fraction, delta: Fraction = Fraction(0)) -> Allowance:
        """The allowance that Gaussian noise of this scale (for epsilon: Laplace noise) on sensitivity 1 would use up."""
        match kind:
            case RuleKind.GAUSSIAN:
                return cls(kind, 1 / scale**2, delta)
            case RuleKind.CONCENTRATED:
                return cls(kind, 1 / (2 * scale**2), delta)
            case RuleKind.PURE:
                return cls(kind, 1 / scale, delta)
            case _:
                raise InvalidArgument(f"a synthesizer counts mu squared, rho or epsilon, not {kind.unit}")

    @property
    def rule(self) -> Rule:
        """The filter's rule: losses chosen along the way add up to at most the whole."""
        return Rule(self.kind, Spend(self.whole, self.delta), "what a synthesizer was charged for")

    @property
    def cost(self) -> Cost:
        """What the whole costs, as a record."""
        return self.rule.promise

    def noise(self, share: float | Fraction, moved: Sensitivity, *, tables: int = 1) -> Noise:
        """The noise on `tables` tables (or numbers), each moved by one unit as `moved` says, that this share pays for."""
        part = self._part(share)
        match self.kind:
            case RuleKind.GAUSSIAN:
                return RoundedGaussianNoise(_up(sqrt(moved.l2_squared * tables / part, 80).upper))
            case RuleKind.CONCENTRATED:
                return RoundedGaussianNoise(_up(sqrt(moved.l2_squared * tables / (2 * part), 80).upper))
            case RuleKind.PURE:
                return DiscreteLaplaceNoise(_up(moved.l1 * tables / part))
            case RuleKind.BASIC | RuleKind.RENYI:
                raise InvalidArgument(f"a synthesizer counts mu squared, rho or epsilon, not {self.kind.unit}")
            case _:
                assert_never(self.kind)

    def eta(self, share: float | Fraction) -> Fraction:
        """The bounded range of an exponential mechanism that this share pays for."""
        part = self._part(share)
        if self.kind is RuleKind.CONCENTRATED:
            return Fraction(sqrt(8 * part, 80).lower)
        if self.kind is RuleKind.PURE:
            return part
        raise InvalidArgument("a Gaussian filter has no room for exponential choices")

    def _part(self, share: float | Fraction) -> Fraction:
        part = Fraction(int(share * _PARTS), _PARTS) * self.whole
        if not part > 0:
            raise InvalidArgument(f"a share must be positive, got {share!r}")
        return part * (1 - Fraction(1, 1 << 30))


def _up(scale: Fraction) -> Fraction:
    """Up to a grid that keeps samplers quick: ten bits after the point, or a thousandth of a large scale."""
    if scale >= _GRID:
        return Fraction(-(-scale.numerator // scale.denominator))
    return Fraction(-(-scale.numerator * _GRID // scale.denominator), _GRID)
