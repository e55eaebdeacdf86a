"""Means, variances and covariances from noisy sums and a noisy count: their intervals, and their errors before anything is drawn.

An interval holds every value that the noise explains: for a mean t, the noisy sum less t times the noisy count is nothing but
noise, of a known law (Fieller's inversion). A variance is one about the true mean, which lies in an interval of its own.
`docs/theory/ratio-intervals.md` has the proofs. Sampling error and the effect of clipping are not in it; a release says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from deniable.query.columns import Floats, Intervals, Noisy, Truths
from deniable.query.noise_sum import HALVINGS, NoiseSum

if TYPE_CHECKING:
    from deniable.query.aggregates.aggregate import Forecast
    from deniable.query.aggregates.mean import MeanOf
    from deniable.query.aggregates.quotient import QuotientOf
    from deniable.query.aggregates.spread import MomentOf

_CENTRES = Fraction(1, 50)
"""The part of an error probability that a variance leaves to the means it is about; its value hardly depends on them."""


def mean_intervals(output: MeanOf, noisy: Mapping[str, Noisy], beta: Fraction) -> Intervals:
    """A mean with the interval of all means that the noise explains; the whole public range where the count is lost in noise."""
    total, count = noisy[output.total], noisy[output.count]
    centre, lower, upper = float(output.middle(total.noise)), float(output.lower), float(output.upper)
    value = np.clip(total.values / np.maximum(count.values, 1.0) + centre, lower, upper)
    if not (total.is_measured and count.is_measured):
        ratio = _quotient(total.around(beta / 2), count.around(beta / 2))
        return Intervals(value, ratio.lower + centre, ratio.upper + centre).clipped(lower, upper)
    low, high = _centred_mean(total, count, lower - centre, upper - centre, beta)
    return _around(value, low + centre, high + centre, lower, upper)


def _centred_mean(total: Noisy, count: Noisy, lower: float, upper: float, beta: Fraction) -> tuple[Floats, Floats]:
    """The ends of a mean less its centre."""
    noises = NoiseSum((total.noise, count.noise), (total.step, count.step))
    one = np.ones(len(total.steps))
    inversion = _Inversion(total.values, total.values, count.values, lambda t, d: noises.exceeds(d, [one, t], beta))
    return inversion.ends(lower, upper)


def quotient_intervals(top: Noisy, bottom: Noisy, beta: Fraction) -> Intervals:
    """One measured number over another, with all quotients that the noise explains; any number where the divisor is lost in it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.nan_to_num(top.values / bottom.values, nan=0.0, posinf=0.0, neginf=0.0)
    if not (top.is_measured and bottom.is_measured):
        return _signed_quotient(value, top.around(beta / 2), bottom.around(beta / 2))
    one = np.ones(len(top.steps))
    noises = NoiseSum((top.noise, bottom.noise), (top.step, bottom.step))
    of_bottom = NoiseSum((bottom.noise,), (bottom.step,)).quantile([one], beta)
    of_top = NoiseSum((top.noise,), (top.step,)).quantile([one], beta)
    sign, size = np.sign(bottom.values), np.abs(bottom.values)
    lost = size <= of_bottom * (1 + 1e-6)
    room = np.where(lost, 1.0, size - of_bottom)
    farthest = (np.abs(top.values) + of_top) / room * 2 + 1  # noise explains no quotient beyond
    numbers = sign * top.values
    inversion = _Inversion(numbers, numbers, np.where(lost, 1.0, size), lambda t, d: noises.exceeds(d, [one, t], beta))
    low, high = inversion.ends(-farthest, farthest)
    return Intervals(
        value, np.where(lost, -np.inf, np.minimum(low, value)), np.where(lost, np.inf, np.maximum(high, value))
    )


def _signed_quotient(value: Floats, top: Intervals, bottom: Intervals) -> Intervals:
    """By the corners of two intervals; any number where the divisor may be nought."""
    lost = (bottom.lower <= 0) & (bottom.upper >= 0)
    ends = [np.where(lost, 1.0, end) for end in (bottom.lower, bottom.upper)]
    corners = np.stack([a / b for a in (top.lower, top.upper) for b in ends])
    return Intervals(value, np.where(lost, -np.inf, corners.min(axis=0)), np.where(lost, np.inf, corners.max(axis=0)))


def moment_intervals(output: MomentOf, noisy: Mapping[str, Noisy], beta: Fraction) -> Intervals:
    """A variance, standard deviation or covariance with its interval."""
    lower, upper, shift = float(output.lower), float(output.upper), float(output.shift)
    sums = [noisy[name] for name in (output.products, output.left, output.right, output.count)]
    products, left, right, count = sums
    rows = np.maximum(count.values, 1.0)
    value = np.clip(products.values / rows + shift - (left.values / rows) * (right.values / rows), lower, upper)
    if all(each.is_measured for each in sums):
        low, high = _moment_ends(output, products, left, right, count, beta)
        found = _around(value, low + shift, high + shift, lower, upper)
    else:
        found = _moment_apart(output, noisy, beta, value).clipped(lower, upper)
    return Intervals(*map(np.sqrt, (found.value, found.lower, found.upper))) if output.root else found


def _moment_ends(
    output: MomentOf, products: Noisy, left: Noisy, right: Noisy, count: Noisy, beta: Fraction
) -> tuple[Floats, Floats]:
    """The ends of a moment less its shift: the means within their own intervals, the rest by inversion about them."""
    same = output.left == output.right
    x_reach, y_reach = output.reaches
    part = beta * _CENTRES / 2
    x_low, x_high = _centred_mean(left, count, -x_reach, x_reach, part)
    y_low, y_high = (x_low, x_high) if same else _centred_mean(right, count, -y_reach, y_reach, part)
    corners = [(x, y) for x in (x_low, x_high) for y in (y_low, y_high)]
    if same:
        corners = [(x, x) for x in (x_low, x_high, np.clip(0.0, x_low, x_high))]
    tops = np.stack([products.values - y * left.values - x * right.values + x * y * count.values for x, y in corners])
    squares = np.stack([x * y for x, y in corners])
    x_size, y_size = (np.max(np.abs(ends), axis=0) for ends in ((x_low, x_high), (y_low, y_high)))
    noises, weights = _moment_noises(same, products, left, right, count, x_size, y_size)

    def exceeds(t: Floats, distance: Floats) -> Truths:
        most = np.maximum(np.abs(t - squares.min(axis=0)), np.abs(t - squares.max(axis=0)))
        return noises.exceeds(distance, [*weights, most], beta * (1 - _CENTRES))

    inversion = _Inversion(tops.min(axis=0), tops.max(axis=0), count.values, exceeds)
    low, high = inversion.ends(*output.inner_ends)
    return (_least_variance(output, products, left, count, beta) if same else low), high


def _least_variance(output: MomentOf, products: Noisy, left: Noisy, count: Noisy, beta: Fraction) -> Floats:
    """The lower end of a variance less its shift: a mean other than the estimate explains less, but for what its noise adds.

    Of all means x + d the noise explains at most its quantile at x, twice d times that of the mean's own noise and d² times
    the count's, and d² rows more must be explained: the best d is found by hand.
    """
    reach, same = output.reaches[0], np.ones(len(left.steps))
    x = np.clip(left.values / np.maximum(count.values, 1e-9), -reach, reach)
    of_mean = NoiseSum((left.noise, count.noise), (left.step, count.step)).quantile([same, x], beta)
    rows = count.values - NoiseSum((count.noise,), (count.step,)).quantile([same], beta)
    spare = np.where(rows > 0, of_mean**2 / np.where(rows > 0, rows, 1.0), np.inf)
    noises, weights = _moment_noises(True, products, left, left, count, np.abs(x), np.abs(x))
    tops = products.values - 2 * x * left.values + x**2 * count.values - spare
    inversion = _Inversion(tops, tops, count.values, lambda t, d: noises.exceeds(d, [*weights, np.abs(t - x**2)], beta))
    return inversion.ends(*output.inner_ends)[0]


def _moment_noises(
    same: bool, products: Noisy, left: Noisy, right: Noisy, count: Noisy, x_size: Floats, y_size: Floats
) -> tuple[NoiseSum, list[Floats]]:
    columns = (products, left, count) if same else (products, left, right, count)
    weights = [2 * x_size] if same else [y_size, x_size]
    noises = NoiseSum(tuple(each.noise for each in columns), tuple(each.step for each in columns))
    return noises, [np.ones(len(products.steps)), *weights]


@dataclass(frozen=True, slots=True)
class _Inversion:
    """All t for which a number in [lowest, highest] less t times a noisy count may be noise alone.

    `exceeds(t, distance)` says where noise of the size that t gives it is almost never that large. On either side of the
    estimate the distance grows linearly and the noise convexly, so the ends of the interval are found by halving.
    """

    lowest: Floats
    highest: Floats
    count: Floats
    exceeds: Callable[[Floats, Floats], Truths]

    def ends(self, lower: float | Floats, upper: float | Floats) -> tuple[Floats, Floats]:
        """The two ends within public bounds; both bounds where the count is not above nought."""
        lost = self.count <= 0
        rows = np.where(lost, 1.0, self.count)
        high = self._end(np.clip(self.highest / rows, lower, upper), upper, lambda t: t * rows - self.highest)
        low = self._end(np.clip(self.lowest / rows, lower, upper), lower, lambda t: self.lowest - t * rows)
        return np.where(lost, lower, low), np.where(lost, upper, high)

    def _end(self, start: Floats, end: float | Floats, distance: Callable[[Floats], Floats]) -> Floats:
        """From `start` towards the public bound `end`: where noise no longer explains the distance."""
        inner, outer = start, np.zeros_like(start) + end
        reached = ~self.exceeds(outer, distance(outer))
        for _ in range(HALVINGS):
            middle = (inner + outer) / 2
            beyond = self.exceeds(middle, distance(middle))
            inner, outer = np.where(beyond, inner, middle), np.where(beyond, middle, outer)
        return np.where(reached, end, outer)


def _around(value: Floats, low: Floats, high: Floats, lower: float, upper: float) -> Intervals:
    """An interval that holds its own estimate, within public bounds."""
    return Intervals(value, np.minimum(low, value), np.maximum(high, value)).clipped(lower, upper)


# Errors before anything is drawn ---------------------------------------------------------------------------------------


def mean_error(output: MeanOf, forecast: Forecast, beta: Fraction) -> float:
    """The error of the mean of a group of the stated size, whatever the mean is within its bounds, but for probability beta."""
    reach = _reach(output, forecast)
    whole = float(output.upper - output.lower)
    return min(whole, _mean_within(forecast, output.total, output.count, reach, beta))


def _reach(output: MeanOf, forecast: Forecast) -> float:
    middle = output.middle(forecast.noise(output.total))
    return float(max(output.upper - middle, middle - output.lower))


def _mean_within(forecast: Forecast, total: str, count: str, reach: float, beta: Fraction) -> float:
    """w such that sum over count is within w of any mean in [-reach, reach], with probability 1 - beta."""
    noises = _noise_sum(forecast, (total, count))
    return _least_error(forecast, count, 2 * reach, lambda w, d: noises.exceeds(d, [np.ones_like(w), reach + w], beta))


def quotient_error(output: QuotientOf, forecast: Forecast, beta: Fraction) -> float:
    """The error of a quotient of a group of the stated size, however large it is; none can be said where the divisor may vanish."""
    rows, reach = forecast.group_size * abs(float(output.size)), float(output.reach)
    noises = _noise_sum(forecast, output.columns)
    unsure = forecast.noise(output.bottom).error(beta / 20) * forecast.step(output.bottom)
    if rows <= 2 * unsure:
        return inf

    def exceeds(w: Floats) -> Truths:
        return noises.exceeds(w * rows, [np.ones_like(w), reach + w], beta)

    most = 1.0
    while not exceeds(np.array([most]))[0]:
        most *= 2
    return _least(exceeds, most)


_MOST_ROWS = 1 << 50


def rows_for_a_mean(output: MeanOf, forecast: Forecast) -> int | None:
    """From how many rows on a mean anywhere within its bounds is known to less than half of them; None if from no number on."""
    half = float(output.upper - output.lower) / 2
    if not half:
        return 1
    reach = _reach(output, forecast)
    noises = _noise_sum(forecast, (output.total, output.count))
    unsure = forecast.noise(output.count).error(forecast.beta / 20) * forecast.step(output.count) + 1
    weights = [np.ones(1), np.full(1, reach + half)]

    def enough(rows: int) -> bool:
        return rows >= unsure and bool(noises.exceeds(np.full(1, half * rows), weights, forecast.beta)[0])

    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST_ROWS:
            return None
    low = high // 2
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def moment_error(output: MomentOf, forecast: Forecast, beta: Fraction) -> float:
    """The error of a variance, standard deviation or covariance of a group of the stated size, whatever its values are."""
    same = output.left == output.right
    part = beta * _CENTRES / (1 if same else 2)
    x_reach, y_reach = output.reaches
    x_off = _mean_within(forecast, output.left, output.count, x_reach, part)
    y_off = x_off if same else _mean_within(forecast, output.right, output.count, y_reach, part)
    columns = (output.products, output.left, *(() if same else (output.right,)), output.count)
    noises, shift = _noise_sum(forecast, columns), float(output.shift)
    weights = (2 * x_reach,) if same else (y_reach, x_reach)
    most = max(abs(float(output.upper) - shift), abs(float(output.lower) - shift)) + x_reach * y_reach
    rest = beta * (1 - _CENTRES)
    whole = float(output.upper - output.lower)

    def exceeds(w: Floats, distance: Floats) -> Truths:
        return noises.exceeds(distance, [np.full_like(w, each) for each in (1.0, *weights)] + [most + w], rest)

    first = _least_error(forecast, output.count, whole, exceeds)
    error = min(whole, first + x_off * y_off)
    return float(np.sqrt(error)) if output.root else error


def _noise_sum(forecast: Forecast, columns: tuple[str, ...]) -> NoiseSum:
    return NoiseSum(tuple(map(forecast.noise, columns)), tuple(map(forecast.step, columns)))


def _least_error(
    forecast: Forecast,
    count: str,
    whole: float,
    exceeds: Callable[[Floats, Floats], Truths],
) -> float:
    """The least w up to `whole` that the noise of a group of the stated size does not surpass."""
    rows = forecast.group_size
    if rows - forecast.noise(count).error(forecast.beta / 20) * forecast.step(count) < 1:
        return whole
    if not exceeds(np.array([whole]), np.array([whole * rows]))[0]:
        return whole
    return _least(lambda w: exceeds(w, w * rows), whole)


_PARTS = np.arange(1, 1 << 8) / (1 << 8)


def _least(holds: Callable[[Floats], Truths], most: float) -> float:
    """The least number up to `most` from which `holds` is true on, true there itself: a stretch is cut into many parts at once."""
    low, high = 0.0, most
    for _ in range(HALVINGS // 8 + 1):
        middles = low + (high - low) * _PARTS
        first = int(np.argmax(np.append(holds(middles), True)))
        low, high = (middles[first - 1] if first else low), (middles[first] if first < len(middles) else high)
    return float(high)


# Columns that were fitted ----------------------------------------------------------------------------------------------
# Their noises are no longer independent: each number keeps to its own interval, and the error probability is shared.


def _moment_apart(output: MomentOf, noisy: Mapping[str, Noisy], beta: Fraction, value: Floats) -> Intervals:
    part = beta / len(output.columns)
    count = noisy[output.count].around(part)
    products = _quotient(noisy[output.products].around(part), count)
    left, right = (_quotient(noisy[name].around(part), count) for name in (output.left, output.right))
    shift = float(output.shift)
    squared = _square(left) if output.left == output.right else _product(left, right)
    return Intervals(value, products.lower + shift - squared.upper, products.upper + shift - squared.lower)


def _quotient(top: Intervals, bottom: Intervals) -> Intervals:
    """top / bottom where bottom is a count of at least one; unbounded where its interval reaches below one."""
    least, most = np.maximum(bottom.lower, 1.0), np.maximum(bottom.upper, 1.0)
    unsure = bottom.lower < 1.0
    low = np.where(top.lower < 0, top.lower / least, top.lower / most)
    high = np.where(top.upper > 0, top.upper / least, top.upper / most)
    return Intervals(
        top.value / np.maximum(bottom.value, 1.0), np.where(unsure, -np.inf, low), np.where(unsure, np.inf, high)
    )


def _square(band: Intervals) -> Intervals:
    ends = np.stack([band.lower**2, band.upper**2])
    least = np.where((band.lower <= 0) & (band.upper >= 0), 0.0, ends.min(axis=0))
    return Intervals(band.value**2, least, ends.max(axis=0))


def _product(left: Intervals, right: Intervals) -> Intervals:
    with np.errstate(invalid="ignore"):
        ends = np.stack([a * b for a in (left.lower, left.upper) for b in (right.lower, right.upper)])
    unsure = np.isnan(ends).any(axis=0)
    low, high = np.nan_to_num(ends).min(axis=0), np.nan_to_num(ends).max(axis=0)
    return Intervals(left.value * right.value, np.where(unsure, -np.inf, low), np.where(unsure, np.inf, high))
