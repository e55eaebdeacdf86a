"""Which noisy values are large enough to show a key that the data itself holds.

A key that only one unit has must stay hidden almost always. The threshold and its delta come from the noise that is drawn, whatever
its kind. `docs/theory/private-keys.md` has the proofs.
"""

from __future__ import annotations

from fractions import Fraction

from deniable.exact import expm1, ln
from deniable.kernels.integer_noise import Noise
from deniable.kernels.laws import chance, least
from deniable.kernels.unit_sensitivity import Sensitivity


def new_key_chance(threshold: int, *, noise: Noise, apart: Sensitivity) -> Fraction:
    """The chance, rounded up, that any key only one unit has is shown, the rule being `noisy value >= threshold`.

    With a split a_1, a_2, ... of the change the chance is 1 - exp(-sum f(a_i)), f(a) = -ln P[noise < threshold - a]. Where the law
    is log-concave f is convex, and the worst split uses steps of 1 and of linf only; elsewhere every key is taken to move by linf.
    """
    if not apart.linf:
        return Fraction(0)
    one, most = (noise.tail(threshold - a).upper for a in (1, apart.linf))
    splits = _splits(apart) if noise.log_concave else [(0, apart.l0)]
    return min(Fraction(1), max(_some(one, few, most, many) for few, many in splits))


def key_threshold(delta: Fraction, *, noise: Noise, apart: Sensitivity) -> int:
    """The smallest threshold (in steps) whose `new_key_chance` is at most `delta`.

    Guarantee: that delta, certified; one step less would exceed it.
    """
    guess = apart.linf + noise.near_error(chance(2 * delta / max(apart.l0, 1)))
    return least(lambda t: new_key_chance(t, noise=noise, apart=apart) <= delta, near=guess)


def _splits(apart: Sensitivity) -> list[tuple[int, int]]:
    """How many keys move by one step and how many by linf, at the corners of what l0 and l1 allow, rounded up."""
    l0, l1, linf = apart.l0, apart.l1, apart.linf
    if l1 >= l0 * linf:
        return [(0, l0)]
    corners = [(min(l0, l1), 0), (0, -(-l1 // linf))]
    if linf > 1 and l1 > l0:
        large = -(-(l1 - l0) // (linf - 1))
        corners.append((l0 - large + 1, large))
    return corners


def _some(one: Fraction, few: int, most: Fraction, many: int) -> Fraction:
    """1 - (1 - one)**few · (1 - most)**many, rounded up, without losing small numbers next to 1."""
    if not (one < 1 and most < 1):
        return Fraction(1)
    exponent = ln(1 - one) * few + ln(1 - most) * many
    return (-expm1(exponent)).rounded(64).upper
