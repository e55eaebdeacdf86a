"""Record linkage, uniqueness and singling out: what rows without names still say about a person.

Every report carries the base rate: how well the same guess does without the person's own row. What can be guessed without them is
knowledge about a group, not an attack on the person.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from deniable.attacks.anonymity import classes, listed, made_up
from deniable.attacks.curators import most_frequent
from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.exact.guards import Real, positive
from deniable.noise import Entropy, discrete_laplaces, system_entropy

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LinkageReport:
    """Of the people looked up: how many rows each matches, how often the guess is right, and how often it is without their row.

    `values` counts the sensitive values inside each person's match set.
    """

    match_sizes: tuple[int, ...]
    guesses: tuple[Any, ...]
    accuracy: float | None
    base_rate: float | None
    uniqueness: dict[tuple[str, ...], float]
    values: tuple[dict[Any, int], ...]

    @property
    def agreed(self) -> float:
        """The share of people whose matching rows all have one sensitive value: it is known, however many rows there are."""
        return sum(len(counts) == 1 for counts in self.values) / len(self.values)

    @property
    def unique(self) -> float:
        """The share of people who match exactly one row."""
        return self.match_sizes.count(1) / len(self.match_sizes)

    def report(self) -> str:
        """The whole of it as text."""
        sizes = ", ".join(f"{size}: {times}" for size, times in sorted(Counter(self.match_sizes).items()))
        lines = [
            f"{number_of(len(self.match_sizes), 'person', 'people')} looked up; "
            f"number of people by number of matching rows: {sizes}",
            f"exactly one match: {self.unique:.1%}; all matching rows agree: {self.agreed:.1%}",
        ]
        if self.accuracy is not None and self.base_rate is not None:
            lines.append(
                f"sensitive value guessed: {self.accuracy:.1%}; without the person's own row: {self.base_rate:.1%} "
                "(that part is inference about a group, not an attack on the person)"
            )
        lines += [f"unique by {' + '.join(names)}: {share:.1%}" for names, share in self.uniqueness.items()]
        return "\n".join(lines)

    __str__ = report


def linkage(
    released: Sequence[Row],
    known: Sequence[Row],
    *,
    keys: Sequence[str],
    sensitive: str,
    truth: Sequence[Any] | None = None,
) -> LinkageReport:
    """Join people we know with released rows by the keys both have, and guess the sensitive value from the rows that match.

    With `truth`, the known people's sensitive values, guesses are scored; their base rate is the same guess with one matching row
    that carries the true value taken out: the table as it would be without that person.
    """
    if not keys or not listed(known, columns=keys):
        raise InvalidArgument("linkage needs at least one key and one known person")
    listed(released, columns=[*keys, sensitive])
    parts = {key: [row[sensitive] for row in part] for key, part in classes(released, keys=keys).items()}
    overall = most_frequent([row[sensitive] for row in released])
    matches = [parts.get(tuple(person[key] for key in keys), []) for person in known]
    guesses = tuple(most_frequent(match) if match else overall for match in matches)
    accuracy = base = None
    if truth is not None:
        accuracy = sum(guess == true for guess, true in zip(guesses, truth, strict=True)) / len(known)
        without = [_without(match, true, overall) for match, true in zip(matches, truth, strict=True)]
        base = sum(guess == true for guess, true in zip(without, truth, strict=True)) / len(known)
    values = tuple(dict(Counter(match)) for match in matches)
    return LinkageReport(tuple(map(len, matches)), guesses, accuracy, base, uniqueness(released, columns=keys), values)


def _without(match: list[Any], true: Any, overall: Any) -> Any:
    left = list(match)
    if true in left:
        left.remove(true)
    return most_frequent(left) if left else overall


def uniqueness(rows: Sequence[Row], *, columns: Sequence[str]) -> dict[tuple[str, ...], float]:
    """The share of rows that are alone with their values, for every set of these columns."""
    listed(rows, columns=columns)
    subsets = [names for size in range(1, len(columns) + 1) for names in combinations(columns, size)]
    return {
        names: sum(len(part) == 1 for part in classes(rows, keys=names).values()) / max(1, len(rows))
        for names in subsets
    }


def isolates(rows: Sequence[Row], predicate: Callable[[Row], bool]) -> bool:
    """Whether a predicate singles one person out."""
    made_up(predicate, Callable, "a function of a row")
    return sum(map(bool, map(predicate, listed(rows)))) == 1


def small_cells(rows: Sequence[Row], *, keys: Sequence[str], at_most: int = 1) -> dict[tuple[Any, ...], int]:
    """The cells of a planned table that hold so few people."""
    return {key: len(part) for key, part in classes(rows, keys=keys).items() if len(part) <= at_most}


@dataclass(frozen=True, slots=True)
class SinglingOut:
    """Counts of people who are alone with their values: how often they say rightly who is there, and how often a guess does."""

    people: int
    accuracy: float
    base_rate: float
    signal_to_noise: float
    """One person beside the standard deviation of the noise; infinite without noise."""


def singling_out(
    rows: Sequence[Row], *, keys: Sequence[str], scale: Real | None = None, entropy: Entropy | None = None
) -> SinglingOut:
    """Count everybody who is alone with their keys, and as many values that nobody has, with Laplace noise of this scale or none.

    A count above one half is taken for a person.
    """
    alone = len(small_cells(rows, keys=keys))
    if not alone:
        raise InvalidArgument(f"nobody is alone with their values of {', '.join(map(repr, keys))}")
    counts = np.repeat([1, 0], alone)
    if scale is None:
        return SinglingOut(alone, 1.0, 0.5, math.inf)
    wide = positive(scale=scale)
    noisy = counts + discrete_laplaces(wide, 2 * alone, entropy or system_entropy())
    q = math.exp(-1 / wide)
    signal = (1 - q) / math.sqrt(2 * q) if q else math.inf
    return SinglingOut(alone, float(np.mean((noisy > 0.5) == (counts == 1))), 0.5, signal)
