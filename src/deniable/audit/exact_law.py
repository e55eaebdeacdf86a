"""The exact law of what a mechanism answers, by running it once for every outcome of every draw.

Samplers are replaced by their laws (`tests/exactness` proves that they follow them); everything else is the mechanism's own
code. Probabilities are kept as whole multiples of 2**-192 rounded down and up, so every number here encloses the truth.
What is cut off (far tails, branches too unlikely to follow) is kept as `unknown` mass and never forgotten.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Any, NoReturn, TypeAlias

import numpy as np

from deniable import noise
from deniable.exact import Interval, exp, ln
from deniable.kernels import exponential_choice, staircase
from deniable.kernels.integer_noise import Noise, noise_of
from deniable.kernels.laws import Law, least
from deniable.mechanisms import constant_time, private_keys
from deniable.noise import Entropy, flip_choice, uniform, weighted_choice
from deniable.noise.counts import NegativeBinomial, Poisson

PLACES = 192
_ONE = 1 << PLACES
_NAN = float("nan")

Chance: TypeAlias = tuple[int, int]
"""Lower and upper bound, in units of 2**-PLACES."""
Branches: TypeAlias = list[tuple[Any, Chance]]


def chance(value: Interval | Fraction | int) -> Chance:
    """An enclosure in whole units."""
    ends = value if isinstance(value, Interval) else Interval.point(value)
    low, high = ends.lower * _ONE, ends.upper * _ONE
    return max(low.numerator // low.denominator, 0), -(-high.numerator // high.denominator)


def times(a: Chance, b: Chance) -> Chance:
    """The product, rounded outward."""
    return a[0] * b[0] >> PLACES, -(-a[1] * b[1] >> PLACES)


@dataclass(slots=True)
class OutputLaw:
    """What a mechanism answers with which probability; `unknown` bounds the mass of everything that was cut off."""

    chances: dict[Hashable, Chance] = field(default_factory=dict)
    unknown: int = 0

    def add(self, outcome: Hashable, extra: Chance) -> None:
        low, high = self.chances.get(outcome, (0, 0))
        self.chances[outcome] = (low + extra[0], high + extra[1])

    def probability(self, outcome: Hashable) -> Interval:
        """The enclosure of one outcome's probability."""
        low, high = self.chances.get(outcome, (0, 0))
        return Interval(Fraction(low, _ONE), Fraction(high + self.unknown, _ONE))

    @property
    def lost(self) -> Fraction:
        """At most this much probability is not accounted for."""
        return Fraction(self.unknown, _ONE)


class NotEnumerable(RuntimeError):
    """This draw has no law that can be enumerated, or too many paths to follow."""


class Pruned(Exception):
    """This branch is too unlikely to follow."""


class Branching(Entropy):
    """Entropy that follows one path through the outcomes of the draws; it hands out no words."""

    __slots__ = ("cut", "likelihood", "path", "position", "refused", "tails", "widths")

    def __init__(self, path: list[int], cut: Fraction) -> None:
        self.path, self.position, self.widths = path, 0, list[int]()
        self.refused = ""
        self.likelihood: Chance = (_ONE, _ONE)
        self.tails, self.cut = 0, cut

    def take(self, branches: Branches, tail: int = 0) -> Any:
        """The outcome this path takes among `branches`; `tail` is the mass of outcomes that are not listed."""
        if self.position == len(self.path):
            self.path.append(0)
            self.tails += self.likelihood[1] * tail >> PLACES
            self.tails += 1
        self.widths.append(len(branches))
        outcome, likely = branches[self.path[self.position]]
        self.position += 1
        self.likelihood = times(self.likelihood, likely)
        if self.likelihood[1] < self.cut * _ONE:
            raise Pruned
        return outcome

    def word(self) -> int:
        return self._refuse("raw words were")

    def words(self, count: int) -> Any:
        return self._refuse(f"{count} raw words were")

    def _refuse(self, what: str) -> NoReturn:
        """Refused, and remembered: what is run may catch errors of its own draws."""
        self.refused = f"{what} asked for: this draw has no law that can be enumerated"
        raise NotEnumerable(self.refused)


def output_law(
    run: Callable[[Entropy], Hashable],
    *,
    tail: Fraction = Fraction(1, 10**12),
    cut: Fraction = Fraction(1, 10**20),
    most: int | None = None,
) -> OutputLaw:
    """The law of `run(entropy)`: each draw's far tail is cut at `tail`, each branch below `cut` is left unfollowed.

    With `most`, more paths than that are refused with `NotEnumerable`.
    """
    law, path, followed = OutputLaw(), list[int](), 0
    with _enumerated(tail):
        while True:
            if followed == most:
                raise NotEnumerable(f"more than {most} paths through its draws")
            followed += 1
            entropy = Branching(path, cut)
            try:
                outcome = run(entropy)
            except Pruned:
                outcome = None
            if entropy.refused:
                raise NotEnumerable(entropy.refused)
            if entropy.likelihood[1] < cut * _ONE:  # pruned, whether or not it was let through
                law.unknown += entropy.likelihood[1]
            else:
                law.add(_hashable(outcome), entropy.likelihood)
            law.unknown += entropy.tails
            path = _next(path[: entropy.position], entropy.widths)
            if not path:
                return law


def _next(path: list[int], widths: list[int]) -> list[int]:
    """The next path in order, as an odometer counts; empty when there is none."""
    while path and path[-1] + 1 == widths[len(path) - 1]:
        path.pop()
    if path:
        path[-1] += 1
    return path


def _hashable(outcome: Any) -> Hashable:
    if isinstance(outcome, np.ndarray):
        return tuple(_hashable(entry) for entry in outcome.tolist())
    if isinstance(outcome, dict):
        return tuple((key, _hashable(value)) for key, value in outcome.items())
    if isinstance(outcome, list | tuple):
        return tuple(_hashable(entry) for entry in outcome)
    if isinstance(outcome, float) and outcome != outcome:
        return _NAN  # two that were computed apart are not equal, and look the same
    return outcome  # type: ignore[no-any-return]


# The laws of the samplers -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def _noise_branches(kind: Noise, tail: Fraction) -> tuple[Branches, int]:
    reach = kind.error(tail)
    sides = [(at, chance(kind.mass(at))) for at in sorted(range(-reach, reach + 1), key=abs)]
    return sides, chance(kind.beyond(reach))[1]


@lru_cache(maxsize=512)
def _truncated_branches(scale: Fraction, radius: int) -> Branches:
    weights = [exp(-abs(Fraction(at)) / scale, 200) for at in range(-radius, radius + 1)]
    total = sum(weights[1:], weights[0])
    return [(at, chance(weight / total)) for at, weight in zip(range(-radius, radius + 1), weights, strict=True)]


@lru_cache(maxsize=4096)
def _choice_branches(scores: tuple[int, ...], counts: tuple[int, ...], scale: Fraction) -> Branches:
    best = max(score for score, count in zip(scores, counts, strict=True) if count)
    weights = [exp((score - best) / scale, 200) * count for score, count in zip(scores, counts, strict=True)]
    total = sum(weights[1:], weights[0])
    return [(index, chance(weight / total)) for index, weight in enumerate(weights) if counts[index]]


@lru_cache(maxsize=64)
def _count_branches(law: NegativeBinomial | Poisson, first: int, tail: Fraction) -> tuple[Branches, int]:
    """Counts from `first` on, by exact ratios of masses; their total is at most what is listed and a geometric rest."""
    masses, mass = list[Fraction](), Fraction(1)
    while True:
        masses.append(mass)
        mass *= law.ratio(len(masses) - 1)
        steepest = law.most(len(masses))
        if steepest < 1:
            rest, listed = mass / (1 - steepest), sum(masses, Fraction(0))
            if rest <= tail * listed:
                break
    shares = [chance(Interval(each / (listed + rest), each / listed)) for each in masses]
    return [(first + i, share) for i, share in enumerate(shares)], chance(rest / listed)[1]


@lru_cache(maxsize=64)
def _geometric_branches(scale: Fraction, tail: Fraction) -> tuple[Branches, int]:
    q = exp(-1 / scale, 200)
    reach = least(lambda t: exp(-Fraction(t + 1) / scale).upper <= tail)
    sides = [(at, chance((1 - q) * exp(-Fraction(at) / scale, 200))) for at in range(reach + 1)]
    return sides, chance(exp(-Fraction(reach + 1) / scale, 200))[1]


@lru_cache(maxsize=64)
def _integer_branches(scores: tuple[int, ...], tails: exponential_choice.Tails, tail: Fraction) -> tuple[Branches, int]:
    """Places of a choice among integers by their closed form: the list, and each tail until at most `tail` of it is left."""
    reaches = [0 if fall is None else -int(-tails.scale / fall * ln(1 / tail).upper) + 1 for fall in tails.falls]
    places = range(-reaches[0], len(scores) + reaches[1])
    sides = [(place, chance(exponential_choice.chance_of(scores, tails, place))) for place in places]
    return sides, max(0, _ONE - sum(low for _, (low, _) in sides))


def _coin(p: Fraction | Interval) -> Branches:
    if isinstance(p, Interval):
        return [(answer, chance(share)) for answer, share in ((True, p), (False, 1 - p)) if share.upper > 0]
    return [(answer, chance(share)) for answer, share in ((True, p), (False, 1 - p)) if share]


def _even(outcomes: list[Any]) -> Branches:
    return [(outcome, chance(Fraction(1, len(outcomes)))) for outcome in outcomes]


def _flip_branches(scores: tuple[int, ...], scale: Fraction) -> Branches:
    """Permute and flip by its definition: a uniform order, the first coin that comes up."""
    best, size = max(scores), len(scores)
    heads = [exp((score - best) / scale, 200) for score in scores]
    shares = [Interval.point(0)] * size
    orders = list(permutations(range(size)))
    for order in orders:
        reached = Interval.point(Fraction(1, len(orders)))
        for index in order:
            shares[index] = shares[index] + reached * heads[index]
            reached = reached * (1 - heads[index])
    return [(index, chance(share)) for index, share in enumerate(shares)]


@lru_cache(maxsize=4096)
def grouped_flip_branches(scores: tuple[int, ...], counts: tuple[int, ...], scale: Fraction) -> Branches:
    """Permute and flip over groups, candidate by candidate: p ∫ Π over the others of (1 - p' t) dt, as a polynomial in t."""
    best = max(score for score, count in zip(scores, counts, strict=True) if count)
    heads = [exp(min(score - best, 0) / scale, 200) for score in scores]
    branches: Branches = []
    for index, (head, count) in enumerate(zip(heads, counts, strict=True)):
        if not count:
            continue
        powers = [Interval.point(1)]
        for other, (rival, many) in enumerate(zip(heads, counts, strict=True)):
            for _ in range(many - (other == index)):
                powers = [
                    low - high * rival
                    for low, high in zip([*powers, Interval.point(0)], [Interval.point(0), *powers], strict=True)
                ]
        whole = sum((term / (power + 1) for power, term in enumerate(powers)), Interval.point(0))
        branches.append((index, chance(head * whole * count)))
    return branches


def _from_table(table: constant_time.GeometricTable, entropy: Branching) -> int:
    """The noise of a finite table by its own masses."""
    unit = 1 << table.bits
    noises = range(-table.reach, table.reach + 1)
    shares = zip(noises, table.masses(), strict=True)
    return int(entropy.take([(noise, chance(Fraction(share, unit))) for noise, share in shares if share]))


def _replacements(tail: Fraction) -> dict[Callable[..., Any], Callable[..., Any]]:
    def one(law: Law) -> Callable[..., int]:
        return lambda scale, entropy: entropy.take(*_noise_branches(noise_of(law, Fraction(scale)), tail))

    def many(law: Law) -> Callable[..., Any]:
        draw = one(law)
        return lambda scale, count, entropy: np.array([draw(scale, entropy) for _ in range(count)], dtype=np.int64)

    def choose(scores: Any, *, scale: Fraction, entropy: Branching, counts: Any = None) -> int:
        sizes = tuple(np.ones(len(scores), dtype=int).tolist() if counts is None else np.asarray(counts).tolist())
        return int(entropy.take(_choice_branches(tuple(np.asarray(scores).tolist()), sizes, scale)))

    def choose_rows(scores: Any, *, scale: Fraction, entropy: Branching, counts: Any = None) -> Any:
        sizes = [None] * len(scores) if counts is None else counts
        picks = [
            choose(row, scale=scale, entropy=entropy, counts=size) for row, size in zip(scores, sizes, strict=True)
        ]
        return np.array(picks, dtype=np.int64)

    def flip(scores: Any, *, counts: Any, scale: Fraction, entropy: Branching) -> int:
        table = tuple(np.asarray(scores).tolist()), tuple(np.asarray(counts).tolist())
        return int(entropy.take(grouped_flip_branches(*table, scale)))

    def keep(units: Any, *, epsilon: Any, delta: Any, entropy: Branching) -> Any:
        chances = [private_keys.keep_probability(int(n), epsilon=epsilon, delta=delta) for n in np.ravel(units)]
        return np.array([entropy.take(_coin(p)) for p in chances], dtype=np.bool_).reshape(np.shape(units))

    def truncated(scale: Any, radius: int, entropy: Branching) -> int:
        return int(entropy.take(_truncated_branches(Fraction(scale), radius)))

    return {
        noise.discrete_laplace: one(Law.LAPLACE),
        noise.discrete_laplaces: many(Law.LAPLACE),
        noise.rounded_gaussian: one(Law.GAUSSIAN),
        noise.rounded_gaussians: many(Law.GAUSSIAN),
        noise.discrete_gaussian: one(Law.DISCRETE_GAUSSIAN),
        noise.discrete_gaussians: many(Law.DISCRETE_GAUSSIAN),
        noise.geometric: lambda scale, entropy: entropy.take(*_geometric_branches(Fraction(scale), tail)),
        noise.geometrics: lambda scale, count, entropy: np.array(
            [entropy.take(*_geometric_branches(Fraction(scale), tail)) for _ in range(count)], dtype=np.int64
        ),
        noise.truncated_laplace: truncated,
        noise.truncated_laplaces: lambda scale, radius, count, entropy: np.array(
            [truncated(scale, radius, entropy) for _ in range(count)], dtype=np.int64
        ),
        noise.bernoulli: lambda p, entropy: entropy.take(_coin(Fraction(p))),
        noise.bernoulli_exp: lambda x, entropy: entropy.take(_coin(exp(-Fraction(x), 200))),
        exponential_choice.integer_choice: lambda scores, tails, entropy: entropy.take(
            *_integer_branches(tuple(int(score) for score in scores), tails, tail)
        ),
        staircase.staircase_draw: lambda kind, entropy: entropy.take(*_noise_branches(kind, tail)),
        staircase.staircase_draws: lambda kind, count, entropy: np.array(
            [entropy.take(*_noise_branches(kind, tail)) for _ in range(count)], dtype=np.int64
        ),
        noise.bernoullis: lambda p, count, entropy: np.array(
            [entropy.take(_coin(Fraction(p))) for _ in range(count)], dtype=np.bool_
        ),
        noise.uniform_below: lambda n, entropy: entropy.take(_even(list(range(n)))),
        noise.uniforms_below: lambda n, count, entropy: np.array(
            [entropy.take(_even(list(range(n)))) for _ in range(count)], dtype=np.int64
        ),
        uniform.uniforms_within: lambda sizes, entropy: np.array(
            [entropy.take(_even(list(range(size)))) for size in sizes.tolist()], dtype=np.int64
        ),
        noise.permutation: lambda n, entropy: np.array(
            entropy.take(_even(list(permutations(range(n))))), dtype=np.int64
        ),
        noise.sample_without_replacement: lambda n, k, entropy: np.array(
            entropy.take(_even(list(permutations(range(n), k)))), dtype=np.int64
        ),
        noise.truncated_negative_binomial: lambda shape, gamma, entropy: entropy.take(
            *_count_branches(NegativeBinomial(Fraction(shape), Fraction(gamma)), 1, tail)
        ),
        noise.poisson: lambda mean, entropy: entropy.take(*_count_branches(Poisson(Fraction(mean)), 0, tail)),
        noise.permute_and_flip: lambda scores, scale, entropy: entropy.take(
            _flip_branches(tuple(np.asarray(scores).tolist()), Fraction(scale))
        ),
        noise.exponential_choice: lambda scores, scale, entropy: choose(scores, scale=Fraction(scale), entropy=entropy),
        weighted_choice.weighted_choice: choose,
        weighted_choice.weighted_choices: choose_rows,
        flip_choice.flip_choice: flip,
        constant_time.GeometricTable.draw: _from_table,
        private_keys.kept: keep,
    }


def _where_enumerated(law: Callable[..., Any], sampler: Callable[..., Any]) -> Callable[..., Any]:
    """The law for a draw that is being enumerated; any other draw of this process meanwhile is a real one."""

    def either(*values: Any, **named: Any) -> Any:
        entropy = named["entropy"] if "entropy" in named else values[-1]
        return (law if isinstance(entropy, Branching) else sampler)(*values, **named)

    return either


@contextmanager
def _enumerated(tail: Fraction) -> Iterator[None]:
    """Every reference to a sampler, in every module of deniable but the samplers' own, becomes its law for a while."""
    swaps = _replacements(tail)
    drawn = constant_time.GeometricTable.draw
    places: list[tuple[Any, str, Any]] = [(constant_time.GeometricTable, "draw", drawn)]
    for name, module in list(sys.modules.items()):
        if name == "deniable.noise" or (name.startswith("deniable.") and not name.startswith("deniable.noise.")):
            for attribute, value in list(vars(module).items()):
                if callable(value) and isinstance(value, Hashable) and value in swaps and name != __name__:
                    places.append((module, attribute, value))
    for module, attribute, value in places:
        setattr(module, attribute, _where_enumerated(swaps[value], value))
    try:
        yield
    finally:
        for module, attribute, value in places:
            setattr(module, attribute, value)
