"""What a cost comes to: its single releases with their counts, equal ones together, free ones gone.

Exact rewritings only: the loss of the terms is the loss of the cost. Gaussians become one Gaussian; an (epsilon, delta) pair
becomes a pure part and a leak, which is how the pair's worst case is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from deniable.accounting.group_privacy import group_cost
from deniable.accounting.spend import round_up
from deniable.cost import (
    Allocated,
    Bounded,
    Calibrated,
    Composed,
    Concentrated,
    Cost,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Grouped,
    Laplace,
    Mixed,
    Neighbours,
    Parallel,
    RandomizedResponse,
    Repeated,
    Sampled,
    Sampling,
    TruncatedLaplace,
    composed,
)


@dataclass(frozen=True, slots=True)
class CostTerms:
    """Releases that are not compositions, each with how often; leaks apart (a leak of d shows everything with probability d).

    Equal whatever the order in which things happened.
    """

    releases: tuple[tuple[Cost, int], ...]
    leaks: tuple[tuple[Fraction, int], ...] = ()

    @property
    def only(self) -> Cost | None:
        """The one release that happens once, if that is all there is besides leaks."""
        return self.releases[0][0] if len(self.releases) == 1 and self.releases[0][1] == 1 else None

    @property
    def cost(self) -> Cost:
        """The terms as a cost again."""
        leaks: list[tuple[Cost, int]] = [(Bounded(epsilon=0, delta=chance), times) for chance, times in self.leaks]
        return composed(each if times == 1 else Repeated(each, times) for each, times in (*self.releases, *leaks))


def terms(cost: Cost) -> CostTerms:
    """The releases and leaks of a cost."""
    counted: dict[Cost, int] = {}
    leaks: dict[Fraction, int] = {}
    square = Fraction(0)
    for each, times in _walk(cost, 1):
        if isinstance(each, Gaussian):
            square += times * each.squared_sensitivity / each.scale**2
        elif isinstance(each, Bounded) and each.epsilon == 0:
            leaks[each.delta] = leaks.get(each.delta, 0) + times
        else:
            counted[each] = counted.get(each, 0) + times
    if square:
        counted[_normal(square)] = 1
    ordered = sorted(counted.items(), key=lambda pair: (type(pair[0]).__name__, repr(pair)))
    return CostTerms(tuple(ordered), tuple(sorted(leaks.items())))


def _normal(square: Fraction) -> Gaussian:
    return Gaussian(scale=1, squared_sensitivity=square)


def _walk(cost: Cost, times: int) -> Iterator[tuple[Cost, int]]:
    match cost:
        case Composed(costs):
            for each in costs:
                yield from _walk(each, times)
        case Repeated(each, count):
            if count:
                yield from _walk(each, times * count)
        case Grouped(each, size):
            inner = group_cost(each, size)
            yield from [(inner, times)] if isinstance(inner, Grouped) else _walk(inner, times)
        case Calibrated(each):
            yield from _walk(each, times)
        case Parallel(costs):
            yield from _parallel(costs, times)
        case Mixed(parts):
            yield from _mixed(parts, times)
        case Sampled():
            yield from _sampled(cost, times)
        case Allocated(each, steps):
            inner = _tidy(each)
            if steps == 1:
                yield from _walk(inner, times)
            elif not free(inner):
                yield Allocated(inner, steps), times
        case Bounded(epsilon, delta) if epsilon > 0 and delta > 0:
            yield Bounded(epsilon=epsilon), times
            yield Bounded(epsilon=0, delta=delta), times
        case Concentrated(rho, delta) if delta > 0:
            yield Bounded(epsilon=0, delta=delta), times
            yield from _walk(Concentrated(rho=rho), times)
        case _:
            if not free(cost):
                yield cost, times


def free(cost: Cost) -> bool:
    """Whether a single release tells nothing at all."""
    match cost:
        case Laplace() | DiscreteLaplace() | TruncatedLaplace():
            return cost.sensitivity == 0
        case Gaussian() | DiscreteGaussian():
            return cost.squared_sensitivity == 0
        case Exponential(eta):
            return eta == 0
        case RandomizedResponse(truth, categories):
            return truth * categories == 1
        case Bounded(epsilon, delta):
            return epsilon == 0 and delta == 0
        case Concentrated(rho, delta):
            return rho == 0 and delta == 0
        case Calibrated(each):
            return free(each)
        case Allocated(each):
            return terms(each) == CostTerms(())
        case Sampled(each, rate):
            return rate == 0 or terms(each) == CostTerms(())
        case Mixed(parts):
            return all(chance == 0 or free(each) for chance, each in parts)
        case Composed(costs) | Parallel(costs):
            return all(free(each) for each in costs)
        case _:
            return False


def _parallel(costs: Iterable[Cost], times: int) -> Iterator[tuple[Cost, int]]:
    """Disjoint parts: of Gaussians the least noisy stands for all, equal parts for one another."""
    parts = dict.fromkeys(each for each in map(_tidy, costs) if not free(each))
    normals = [each for each in parts if isinstance(each, Gaussian)]
    if normals:
        rest = [each for each in parts if not isinstance(each, Gaussian)]
        parts = dict.fromkeys([*rest, max(normals, key=lambda each: each.squared_sensitivity)])
    if len(parts) == 1:
        yield from _walk(next(iter(parts)), times)
    elif parts:
        yield Parallel(tuple(parts)), times


def _mixed(parts: Iterable[tuple[Fraction, Cost]], times: int) -> Iterator[tuple[Cost, int]]:
    """Equal costs share their chances; a sure one is itself."""
    chances: dict[Cost, Fraction] = {}
    for chance, each in parts:
        if chance:
            tidy = _tidy(each)
            chances[tidy] = chances.get(tidy, Fraction(0)) + chance
    if len(chances) == 1:
        yield from _walk(next(iter(chances)), times)
    elif not all(map(free, chances)):
        yield Mixed((chance, each) for each, chance in chances.items()), times


def _sampled(cost: Sampled, times: int) -> Iterator[tuple[Cost, int]]:
    inner = _tidy(cost.cost)
    replaced = cost.how is Sampling.POISSON and cost.neighbours is Neighbours.REPLACE
    if cost.rate == 1 and not replaced:
        yield from _walk(inner, times)
    elif terms(inner).leaks and terms(inner).releases:
        yield from _leaking(cost, terms(inner), times, replaced=replaced)
    elif cost.rate > 0 and not free(inner):
        if isinstance(inner, Sampled) and not replaced and _plain(cost) and _plain(inner):
            yield from _walk(Sampled(inner.cost, rate=cost.rate * inner.rate), times)
        elif isinstance(inner, Bounded) and inner.epsilon == 0 and not replaced:
            yield Bounded(epsilon=0, delta=round_up(cost.rate * inner.delta)), times
        else:
            yield Sampled(inner, rate=cost.rate, how=cost.how, neighbours=cost.neighbours), times


def _leaking(cost: Sampled, inner: CostTerms, times: int, *, replaced: bool) -> Iterator[tuple[Cost, int]]:
    """A leak inside a sample, taken out of it: it shows the unit only where that was drawn (docs/theory/pld-pairs.md).

    A little more than the cost itself, by a factor of one and the leak: with the leak d, q d + (1 - d) q f is at most
    q d + (1 - q d) q f. Of two units that change places either may be shown.
    """
    leaked = sum((chance * count for chance, count in inner.leaks), Fraction(0)) * (2 if replaced else 1)
    rest = Sampled(CostTerms(inner.releases).cost, rate=cost.rate, how=cost.how, neighbours=cost.neighbours)
    yield from _walk(rest, times)
    if cost.rate > 0:
        yield Bounded(epsilon=0, delta=min(Fraction(1), round_up(cost.rate * leaked))), times


def overstates(cost: Cost) -> bool:
    """Whether `terms` says a little more than the cost does: a leak inside a sample was taken out of it."""
    match cost:
        case Sampled(inner):
            found = terms(inner)
            return bool(found.leaks and found.releases) or overstates(inner)
        case Composed(costs) | Parallel(costs):
            return any(map(overstates, costs))
        case Repeated(inner) | Grouped(inner) | Allocated(inner) | Calibrated(inner):
            return overstates(inner)
        case Mixed(parts):
            return any(overstates(each) for _, each in parts)
        case _:
            return False


def replaces(cost: Cost) -> bool:
    """Whether a sample anywhere in the cost compares replaced units."""
    match cost:
        case Sampled(inner, _, _, neighbours):
            return neighbours is Neighbours.REPLACE or replaces(inner)
        case Composed(costs) | Parallel(costs):
            return any(map(replaces, costs))
        case Repeated(inner) | Grouped(inner) | Allocated(inner):
            return replaces(inner)
        case Mixed(parts):
            return any(replaces(each) for _, each in parts)
        case _:
            return False


def _plain(cost: Sampled) -> bool:
    """Independent draws, and the unit present or not."""
    return cost.how is Sampling.POISSON and cost.neighbours is not Neighbours.REPLACE


def _tidy(cost: Cost) -> Cost:
    return terms(cost).cost
