"""Attacks by counts alone: differencing, averaging, rephrasing, refusals as answers, seeds found again.

All of them ask a curator how many of some people have a secret bit, and work out the bit of one person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.attacks.anonymity import made_up
from deniable.attacks.curators import Curator, SeededCurator, attackable, seeded_noise
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, positive


@dataclass(frozen=True, slots=True)
class Guess:
    """A guess of somebody's bit: `value` is what was computed, `bit` what is guessed, None where the curator refused."""

    value: float | None
    bit: int | None


def differencing(
    curator: Curator, target: int, others: Sequence[int], *, times: int = 1, allow_private: bool = False
) -> Guess:
    """Everybody without the target, then with: the second count less the first is the target's bit.

    The group without the target must not hold them (the printed form subtracts the other way, and forgets to look).
    `times` asks both questions again and again, worded anew each time, and averages.
    """
    attackable(curator, allow_private=allow_private)
    group = [person for person in others if person != target]
    if len(group) != len(others):
        raise InvalidArgument(f"the group of others already holds the target {target}; the difference would be zero")
    found: list[float] = []
    for turn in range(integer(times=times, least=1)):
        without = curator.count(group, phrase=f"without {turn}")
        with_target = curator.count([*group, target], phrase=f"with {turn}")
        if without is not None and with_target is not None:
            found.append(with_target - without)
    if not found:
        return Guess(None, None)
    value = float(np.mean(found))
    return Guess(value, int(value > 0.5))


def difference_variance(epsilon: Real, *, law: str = "laplace") -> Fraction:
    """The variance of a difference of two counts that share epsilon (Laplace) or rho (Gaussian), over that of one count.

    Laplace: each half of epsilon has four times the variance, and two of them are added: eight. Gaussian with rho halved: four.
    """
    positive(epsilon=epsilon)
    match law:
        case "laplace":
            return Fraction(8)
        case "gaussian":
            return Fraction(4)
        case _:
            raise InvalidArgument(f"law must be 'laplace' or 'gaussian', got {law!r}")


def temporal_differencing(before: Mapping[Any, float], after: Mapping[Any, float]) -> dict[Any, float]:
    """What changed between two releases of the same table: who came in between changed exactly these cells."""
    for release in (before, after):
        made_up(release, Mapping, "released cells by key")
    return {
        key: after.get(key, 0) - before.get(key, 0)
        for key in {*before, *after}
        if after.get(key, 0) != before.get(key, 0)
    }


def recommender_differencing(
    before: Mapping[tuple[Any, Any], int], after: Mapping[tuple[Any, Any], int], *, known: Sequence[Any]
) -> dict[Any, int]:
    """Items whose co-occurrence with everything a person is known to like rose between two releases: what they liked since."""
    moved = temporal_differencing(before, after)
    risen: dict[Any, int] = {}
    for (first, second), by in moved.items():
        for mine, other in ((first, second), (second, first)):
            if mine in known and other not in known and by > 0:
                risen[other] = risen.get(other, 0) + 1
    return {item: times for item, times in risen.items() if times == len(known)}


def averaging(ask: Callable[[int], float | None], *, times: int) -> float | None:
    """The mean of so many answers to one question; `ask(turn)` may word it anew."""
    made_up(ask, Callable, "a function that asks")
    answers = [answer for turn in range(integer(times=times, least=1)) if (answer := ask(turn)) is not None]
    return float(np.mean(answers)) if answers else None


def refusal_oracle(curator: Curator, target: int, others: Sequence[int], *, allow_private: bool = False) -> Guess:
    """A curator that refuses small answers says which answers are small: grow a group to the edge, then add the target."""
    attackable(curator, allow_private=allow_private)
    group = [person for person in others if person != target]
    for size in range(len(group) + 1):
        if curator.count([*group[:size]]) is not None:
            edge = group[: max(size - 1, 0)]  # the largest group that is still refused
            answered = curator.count([*edge, target]) is not None
            return Guess(float(answered), int(answered)) if size else Guess(None, None)
    return Guess(None, None)


def recover_seed(
    curator: Curator,
    known: Sequence[tuple[Sequence[int], int]],
    *,
    seeds: int = SeededCurator.SEEDS,
    allow_private: bool = False,
) -> int | None:
    """The seed of a service, from answers to questions whose truth is known (a group of friends): try them all."""
    attackable(curator, allow_private=allow_private)
    answers = [curator.count(ids) for ids, _ in known]
    if any(answer is None for answer in answers):
        return None
    fits = [
        seed
        for seed in range(seeds)
        if all(
            answer == true + seeded_noise(seed, turn + 1)
            for turn, (answer, (_, true)) in enumerate(zip(answers, known, strict=True))
        )
    ]
    return fits[0] if len(fits) == 1 else None
