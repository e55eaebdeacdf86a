"""Costs of common designs: trees, sparse vectors, samples, batches. Each returns a plain cost.

Sampling amplifies only where the design allows it; where it does not, the design is refused with the reason.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction

from deniable.accounting.pure_profiles import PureLoss
from deniable.accounting.renyi_curves import DiscreteLaplaceCurve, PureCurve
from deniable.cost import Bounded, Cost, Gaussian, Mixed, Neighbours, Renyi, Sampled, Sampling
from deniable.errors import InvalidArgument
from deniable.exact import binomial_tail, exp, ln
from deniable.exact.guards import Real, integer, nonnegative, positive, probability

_BITS = 80
_ORDERS = (
    *(1 + Fraction(2) ** k for k in range(-6, 1)),
    *map(Fraction, (*range(3, 64), *range(64, 257, 8), 512, 1024)),
)


class Design(Enum):
    """How the people whose data is used were chosen."""

    POISSON = "each unit independently"
    SIMPLE_RANDOM = "a fixed number of units, all equally likely"
    WITH_REPLACEMENT = "a fixed number of draws, a unit possibly more than once"
    STRATIFIED = "so many from each stratum"
    CLUSTER = "whole clusters at a time"
    SYSTEMATIC = "every k-th unit"
    ROWS = "rows, of units that have several"
    DATA_DEPENDENT = "by what their data say"


class Secrecy(Enum):
    """Who knows which units were drawn."""

    SECRET = "nobody who sees an answer can tell who was drawn"
    KNOWN = "somebody who sees an answer can tell who was drawn"


_WHY = {
    Design.WITH_REPLACEMENT: "a unit may be drawn several times",
    Design.STRATIFIED: "how many come from a stratum depends on the data, which can raise the loss",
    Design.CLUSTER: "the units of a cluster are seen together, so one unit's presence shows in its neighbours",
    Design.SYSTEMATIC: "few samples are possible, so which one it was is no secret",
    Design.ROWS: "a unit with many rows is hardly ever left out",
    Design.DATA_DEPENDENT: "who was drawn says something about the data",
}


def by_sampling(
    cost: Cost, *, rate: Real, design: Design = Design.POISSON, neighbours: Neighbours = Neighbours.ADD_REMOVE
) -> Cost:
    """The cost on a secret sample of units, each in it with probability `rate`.

    Guarantee: as for `Sampled`. Designs for which no amplification is proved are refused: charge the cost as it is, or take a
    simple random sample first. The sample must stay secret, and units must be sampled, not rows of units that have several.
    """
    match design:
        case Design.POISSON:
            return Sampled(cost, rate=rate, how=Sampling.POISSON, neighbours=neighbours)
        case Design.SIMPLE_RANDOM:
            return Sampled(cost, rate=rate, how=Sampling.WITHOUT_REPLACEMENT, neighbours=neighbours)
        case _:
            raise InvalidArgument(
                f"sampling {design.value} does not amplify: {_WHY[design]}; charge the cost without amplification"
            )


def population_cost(
    cost: Cost, *, rate: Real, design: Design, secrecy: Secrecy, neighbours: Neighbours = Neighbours.REPLACE
) -> Cost:
    """What everything answered about one sample costs a person of the population it was drawn from.

    `cost` is the whole loss of the sample, all its answers together: the sample was drawn once, so amplified losses of single
    answers must not be added. For a simple random sample `rate` is the size of the sample over that of the population.

    Guarantee: as for `Sampled`, where the design has a proof and the sample is secret; anything else is refused with the reason.
    """
    if secrecy is not Secrecy.SECRET:
        raise InvalidArgument(
            f"a sample amplifies only while it is secret, but {secrecy.value}; charge the cost without amplification"
        )
    return by_sampling(cost, rate=rate, design=design, neighbours=neighbours)


def truncated_batches(cost: Cost, *, rate: Real, cap: int, population: int) -> Cost:
    """Poisson batches cut at random to at most `cap` of the at most `population` units; one unit added or removed.

    Guarantee: while the others stay below the cap the batch is a Poisson one; else the unit can at most push another one out, which
    is two steps. The coin between the two is tossed by the others alone, with its worst chance rounded up.
    """
    chance, most = probability(rate=rate), integer(cap=cap, least=1)
    others = integer(population=population, least=1) - 1
    overflow = binomial_tail(others, chance, most)
    return Mixed([(1 - overflow, Sampled(cost, rate=chance)), (overflow, Sampled(cost.group(2), rate=chance))])


def truncated_laplace_cost(*, scale: Real, radius: Real, sensitivity: Real = 1) -> Bounded:
    """One number with continuous Laplace noise cut off beyond `radius`; on the integers use `TruncatedLaplace`.

    Guarantee: where both neighbours can answer the loss is at most sensitivity/scale; delta is the chance, rounded up, of answers
    that only one of them can give (Geng, Ding, Guo and Kumar 2020), so the pair is the profile's own point there.
    """
    wide, far, moved = positive(scale=scale), positive(radius=radius), nonnegative(sensitivity=sensitivity)
    loss = moved / wide
    if moved == 0 or moved >= 2 * far:
        return Bounded(epsilon=loss, delta=0 if moved == 0 else 1)
    edge = exp(-far / wide, _BITS)
    near = exp(-abs(far - moved) / wide, _BITS)
    tail = (near - edge) / (2 * (1 - edge))
    chance = tail.upper if moved <= far else 1 - tail.lower
    return Bounded(epsilon=loss, delta=min(Fraction(1), max(Fraction(0), chance)))


def tree_cost(*, scale: Real, leaves: int, sensitivity: Real = 1, participations: int = 1) -> Gaussian:
    """A binary tree of sums over `leaves` time steps with Gaussian noise in every node; a unit is in at most so many leaves.

    Guarantee: exactly a Gaussian: a leaf lies below at most as many nodes as `leaves` has binary digits. Of k leaves, a level of
    nodes over m leaves each holds at most k // m full nodes and the rest in one more, reached by neighbouring leaves.
    """
    most = integer(leaves=leaves, least=1)
    times = min(integer(participations=participations, least=1), most)
    square = sum((times // m) * m**2 + (times % m) ** 2 for m in (2**level for level in range(most.bit_length())))
    return Gaussian(scale=scale, squared_sensitivity=nonnegative(sensitivity=sensitivity) ** 2 * square)


def gaussian_sparse_vector(
    *, threshold_scale: Real, query_scale: Real, queries: int, hits: int, sensitivity: Real = 1, monotonic: bool = False
) -> Renyi:
    """Sparse vector with Gaussian noise: at most `queries` asked, at most `hits` of them above the threshold.

    Guarantee: divergence at order a at most ln(number of patterns)/(a-1) + a (D²/(2 s1²) + hits (2D)²/(2 s2²)), D instead of 2D
    for monotonic queries (Zhu and Wang 2020), rounded up at the orders listed.
    """
    first, second = positive(threshold_scale=threshold_scale), positive(query_scale=query_scale)
    asked, found = integer(queries=queries, least=1), integer(hits=hits, least=1)
    moved = nonnegative(sensitivity=sensitivity)
    wide = moved if monotonic else 2 * moved
    slope = moved**2 / (2 * first**2) + found * wide**2 / (2 * second**2)
    patterns = ln(Fraction(_patterns(asked, found)), _BITS).upper
    return Renyi((order, patterns / (order - 1) + order * slope) for order in _ORDERS)


def laplace_sparse_vector(
    *, threshold_scale: Real, query_scale: Real, hits: int, sensitivity: int = 1, monotonic: bool = False
) -> Renyi:
    """Sparse vector with discrete Laplace noise, any number of queries; scales and sensitivity in whole steps.

    For composing many runs, or runs with other releases, under one delta; alone, the pure loss of the mechanism is as good.

    Guarantee: divergence at order a at most that of the threshold's noise at order a and hits times the pure loss of a hit, 2D/s2
    or D/s2 for monotonic queries (Zhu and Wang 2020), and at most that of anything with the whole pure loss; rounded up at the
    orders listed.
    """
    first, second = positive(threshold_scale=threshold_scale), positive(query_scale=query_scale)
    moved, found = integer(sensitivity=sensitivity, least=0), integer(hits=hits, least=1)
    told = found * (moved if monotonic else 2 * moved) / second
    threshold, whole = DiscreteLaplaceCurve(first, moved), PureCurve(PureLoss(epsilon=moved / first + told))
    return Renyi((order, min(threshold.at(order) + told, whole.at(order))) for order in _ORDERS)


def _patterns(queries: int, hits: int) -> int:
    """How many sets of at most `hits` of `queries` there are."""
    total = term = 1
    for i in range(min(hits, queries)):
        term = term * (queries - i) // (i + 1)
        total += term
    return total
