"""The pictures of docs/gallery.md: `python -m docs.gallery` draws all of them from our own numbers into docs/gallery/."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import deniable as dp
from deniable.accounting.classic import classic_gaussian_scale
from deniable.accounting.conversion import rho_within
from deniable.accounting.tradeoffs import largest_line
from deniable.exact import gaussian_mu
from deniable.svg import Figure, Line, Points, ReferenceLine, Scale, ShadedBand, Stems, plot

FOLDER = Path(__file__).parent / "gallery"
GAUSSIAN = dp.costs.Gaussian(scale=1, sensitivity=1)
TRAINING = dp.costs.Gaussian(scale=1, sensitivity=1).sampled(rate=Fraction(1, 100)).repeated(1000)
QUERIES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
TOTAL, DELTA = Fraction(1), Fraction(1, 10**6)


def _grid(low: float, high: float, count: int = 241) -> list[float]:
    return [low + (high - low) * k / (count - 1) for k in range(count)]


def _laplace(y: float, at: float = 0.0, scale: float = 1.0) -> float:
    return math.exp(-abs(y - at) / scale) / (2 * scale)


def _normal(y: float, at: float = 0.0, scale: float = 1.0) -> float:
    return math.exp(-(((y - at) / scale) ** 2) / 2) / (scale * math.sqrt(2 * math.pi))


def laplace_answers() -> Figure:
    """Figure 5-1, left: the answers of the Laplace mechanism on two neighbouring data sets."""
    ys = _grid(-5, 6)
    return plot(
        Line(ys, [_laplace(y) for y in ys], label="count of 0"),
        Line(ys, [_laplace(y, at=1) for y in ys], label="count of 1"),
        title="Laplace answers on two neighbours",
        subtitle="scale 1, sensitivity 1",
        x_label="answer",
        y_label="density",
    )


def laplace_loss() -> Figure:
    """Figure 5-1, right: how much each of those answers gives away; never more than epsilon."""
    ys = _grid(-5, 6)
    loss = float(dp.accounting.pure(dp.costs.Laplace(scale=1)))
    return plot(
        Line(ys, [abs(y - 1) - abs(y) for y in ys]),
        ReferenceLine(y=loss, label="epsilon"),
        ReferenceLine(y=-loss, label="minus epsilon"),
        title="Privacy loss of each Laplace answer",
        subtitle="bounded by sensitivity/scale, whatever comes out",
        x_label="answer",
        y_label="privacy loss",
        y_limits=(-1.4, 1.4),
    )


def truncated_laplace() -> Figure:
    """Figure 5-2: noise cut off at a radius; what only one of the two data sets can answer is delta."""
    radius, scale, moved = 4, 2, 2
    cost = dp.costs.TruncatedLaplace(scale=scale, radius=radius, sensitivity=moved)
    whole = sum(math.exp(-abs(k) / scale) for k in range(-radius, radius + 1))
    masses = [math.exp(-abs(k) / scale) / whole for k in range(-radius, radius + 1)]
    delta = dp.delta(cost, epsilon=Fraction(moved, scale)).upper
    here, there = range(-radius, radius + 1), range(moved - radius, moved + radius + 1)
    return plot(
        Stems([k - 0.12 for k in here], masses, label="count of 0"),
        Stems([k + 0.12 for k in there], masses, label=f"count of {moved}"),
        ReferenceLine(x=moved - radius - 0.5, label=f"left of here only 0 answers: {delta:.3f}"),
        title="Truncated Laplace answers on two neighbours",
        subtitle=f"discrete noise of scale {scale}, cut at {radius}; delta = {delta:.4f} at epsilon = {moved / scale:g}",
        x_label="answer",
        y_label="probability",
        y_limits=(0, 0.34),
    )


def laplace_gaussian() -> Figure:
    """Figure 5-3: tails of the two noises at the same variance."""
    ys = _grid(-6, 6)
    width = math.sqrt(0.5)
    return plot(
        Line(ys, [_laplace(y, scale=width) for y in ys], label="Laplace"),
        Line(ys, [_normal(y) for y in ys], label="Gaussian"),
        title="Laplace and Gaussian noise of variance 1",
        x_label="noise",
        y_label="density, logarithmic",
        y_scale=Scale.LOG,
        y_limits=(1e-7, 2),
    )


def gaussian_losses() -> Figure:
    """Figure 5-4: on a logarithmic scale the distance between the two curves is the privacy loss; it has no bound."""
    ys, marks = _grid(-4, 5), [k / 2 for k in range(-7, 10)]
    low, high = ([f(_normal(y), _normal(y, at=1)) for y in marks] for f in (min, max))
    return plot(
        Line(ys, [_normal(y) for y in ys], label="count of 0"),
        Line(ys, [_normal(y, at=1) for y in ys], label="count of 1"),
        Points(marks, high, lower=low, upper=high, label="privacy loss"),
        title="Gaussian answers on two neighbours",
        subtitle="scale 1, sensitivity 1: the loss grows linearly away from the middle",
        x_label="answer",
        y_label="density, logarithmic",
        y_scale=Scale.LOG,
        y_limits=(1e-6, 1),
    )


def per_query() -> Figure:
    """Figure 5-5, left: the epsilon of each of many pure queries under every composition rule."""
    return dp.per_query(epsilon=TOTAL, delta=DELTA, queries=QUERIES).plot()


def per_query_noise() -> Figure:
    """Figure 5-5, right: the Gaussian noise each of many counts needs under three rules, for the same promise."""
    mu, rho = float(gaussian_mu(TOTAL, DELTA).lower), float(rho_within(epsilon=TOTAL, delta=DELTA))
    basic = [float(classic_gaussian_scale(epsilon=TOTAL / k, delta=DELTA / k)) for k in QUERIES]
    return plot(
        Line(QUERIES, [math.sqrt(k) / mu for k in QUERIES], label="exact (Gaussian privacy)"),
        Line(QUERIES, [math.sqrt(k / (2 * rho)) for k in QUERIES], label="zero-concentrated"),
        Line(QUERIES, basic, label="basic, classic scale"),
        title="Noise of each count, for (1, 1e-06) in all",
        x_label="number of queries",
        y_label="standard deviation",
        x_scale=Scale.LOG,
        y_scale=Scale.LOG,
    )


def bounded_range() -> Figure:
    """Figure 5-6: all losses of an exponential mechanism lie in a window as wide as epsilon, not twice as wide."""
    here, there = (0, 1, 2, 3, 4), (1, 1, 1, 2, 3)  # scores that move by at most one, at scale 2: eta = 1
    weights = [[math.exp(score / 2) for score in scores] for scores in (here, there)]
    laws = [[weight / sum(each) for weight in each] for each in weights]
    chances: dict[float, float] = {}
    for p, q in zip(*laws, strict=True):
        loss = round(math.log(p / q), 9)
        chances[loss] = chances.get(loss, 0.0) + p
    top, epsilon = max(chances), float(dp.accounting.pure(dp.costs.Exponential(eta=1)))
    return plot(
        ShadedBand([-epsilon, epsilon], [0, 0], [1, 1], label="what epsilon alone allows"),
        ShadedBand([top - epsilon, top], [0, 0], [1, 1], label="bounded range"),
        Stems(list(chances), list(chances.values()), label="privacy loss of each choice"),
        ReferenceLine(x=0.0),
        title="Bounded range of an exponential mechanism",
        subtitle=f"five choices, epsilon = {epsilon:g}: losses from {top - epsilon:.3f} to {top:.3f} at most",
        x_label="privacy loss",
        y_label="probability",
        x_limits=(-1.4, 1.4),
    )


def gaussian_loss_distribution() -> Figure:
    """Figure 5-7: the privacy loss of a Gaussian answer is Gaussian."""
    return dp.loss_distribution(GAUSSIAN).plot()


def trade_offs() -> Figure:
    """Figure 5-8: what an attacker must miss, for no information, Gaussian noise, and a single pair (1, 1e-6)."""
    alphas = sorted({(k / 60) ** 2 for k in range(61)} | set(_grid(0, 1, 41)))
    gaussian = dp.calibrate(lambda scale: dp.costs.Gaussian(scale=scale, sensitivity=1), epsilon=TOTAL, delta=DELTA)
    curve = dp.tradeoff(gaussian).supports(60)
    return plot(
        Line([0, 1], [1, 0], label="no information"),
        Line(alphas, [largest_line(curve, alpha) for alpha in alphas], label="Gaussian noise with that promise"),
        Line(alphas, [largest_line([(1.0, 1e-6)], alpha) for alpha in alphas], label="any (1, 1e-06) promise"),
        title="Trade-off curves",
        subtitle="every attack lies on or above its curve",
        x_label="false alarms",
        y_label="misses",
    )


def trade_off_lines() -> Figure:
    """Figure 5-9: a trade-off curve from a finite number of points of the profile."""
    alphas = _grid(0, 1, 161)
    chosen = {count: dp.tradeoff(GAUSSIAN).supports(count) for count in (2, 4, 40)}
    return plot(
        *(Line(alphas, [largest_line(points, a) for a in alphas], label=f"{n} points") for n, points in chosen.items()),
        title="A trade-off curve from points of the profile",
        subtitle="Gaussian noise, scale 1: each point gives two lines, and every set of them is sound",
        x_label="false alarms",
        y_label="misses",
    )


def training_profile() -> Figure:
    """The privacy profile of a training run: 1000 Poisson batches at rate 1/100."""
    return dp.profile(TRAINING).plot(points=20)


def strength() -> Figure:
    """Which definition implies which."""
    return dp.accounting.strength.picture()


PICTURES: dict[str, Callable[[], Figure]] = {
    "laplace-answers": laplace_answers,
    "laplace-loss": laplace_loss,
    "truncated-laplace": truncated_laplace,
    "laplace-gaussian": laplace_gaussian,
    "gaussian-losses": gaussian_losses,
    "per-query": per_query,
    "per-query-noise": per_query_noise,
    "bounded-range": bounded_range,
    "gaussian-loss-distribution": gaussian_loss_distribution,
    "trade-offs": trade_offs,
    "trade-off-lines": trade_off_lines,
    "training-profile": training_profile,
    "strength": strength,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        draw().save(FOLDER / f"{name}.svg")
