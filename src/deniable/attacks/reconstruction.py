"""Reconstruction: enough counts that are accurate enough give almost everybody's bit (Dinur and Nissim 2003).

Questions are random groups, fixed by hashing public ids. The answers are linear equations in the secret bits, solved by least
squares and rounded, or by linear programming; published tables are equations too, and small ones are solved exactly.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.attacks.anonymity import made_up
from deniable.attacks.curators import Curator, attackable, made_up_people
from deniable.errors import InvalidArgument
from deniable.exact.guards import integer
from deniable.noise import Entropy

MOST_MEMBERS = 1 << 28
"""People times queries: who is in which group takes so many numbers."""
_RIDGE = 1e-6
"""Added to the diagonal, far below what rounding to bits can see: groups that were asked twice leave the equations solvable."""


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """The bits that were guessed, how many are right, and how many the commonest bit alone would get right.

    Both shares are NaN for an object of somebody in charge of real data: the truth is not told.
    """

    guesses: tuple[int, ...]
    accuracy: float
    base_rate: float
    answered: int


def random_groups(people: int, queries: int, *, salt: str = "group") -> NDArray[np.bool_]:
    """So many groups, each person in each with probability one half: the bits of a hash of public ids, the same for everybody."""
    size = -(-people // 8)
    lines = [hashlib.shake_256(f"{salt} {query}".encode()).digest(size) for query in range(queries)]
    bits = np.unpackbits(np.frombuffer(b"".join(lines), dtype=np.uint8).reshape(queries, size), axis=1)
    return bits[:, :people].astype(np.bool_)


def reconstruct(
    curator: Curator | type[Curator],
    *,
    people: int,
    queries: int,
    method: str = "least squares",
    entropy: Entropy | None = None,
    allow_private: bool = False,
) -> Reconstruction:
    """Ask about random groups and solve for everybody's bit; a class of curators is given made-up people first.

    `method` is "least squares" or "lp" (the least total deviation; needs SciPy, in the extra `attacks`).
    """
    size, many = integer(people=people, least=2), integer(queries=queries, least=1)
    if not size * many <= MOST_MEMBERS:
        raise InvalidArgument(f"people times queries must be at most {MOST_MEMBERS:,}, got {size * many:,}")
    made = curator(made_up_people(size, entropy=entropy), entropy=entropy) if isinstance(curator, type) else curator
    holder: Curator = attackable(made, allow_private=allow_private)
    groups = random_groups(size, many)
    answers = [holder.count(np.flatnonzero(group)) for group in groups]
    kept = [i for i, answer in enumerate(answers) if answer is not None]
    if kept:
        solved = _solve(groups[kept].astype(float), np.array([float(answers[i] or 0.0) for i in kept]), method)
    bits = (solved > 0.5).astype(int) if kept else np.zeros(size, dtype=int)
    accuracy, base = _scored(bits, holder)
    return Reconstruction(tuple(bits.tolist()), accuracy, base, len(kept))


def _scored(bits: NDArray[np.int64], holder: Any) -> tuple[float, float]:
    people = getattr(holder, "original", getattr(holder, "people", None))
    if people is None:
        return math.nan, math.nan
    secret = people.secret[: len(bits)]
    return float((bits == secret).mean()), float(max(secret.mean(), 1 - secret.mean()))


def _solve(groups: NDArray[np.float64], answers: NDArray[np.float64], method: str) -> NDArray[np.float64]:
    match method:
        case "least squares":
            return _least_squares(groups, answers)
        case "lp":
            return _least_deviation(groups, answers)
        case _:
            raise InvalidArgument(f"method must be 'least squares' or 'lp', got {method!r}")


def _least_squares(groups: NDArray[np.float64], answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """By the normal equations where there are answers enough: groups are noughts and ones, so their products are exact."""
    many, size = groups.shape
    if many < size:
        return np.asarray(np.linalg.lstsq(groups, answers, rcond=None)[0])
    normal = groups.T @ groups
    normal[np.diag_indices(size)] += _RIDGE
    return np.asarray(np.linalg.solve(normal, groups.T @ answers))


def _least_deviation(groups: NDArray[np.float64], answers: NDArray[np.float64]) -> NDArray[np.float64]:
    try:
        from scipy.optimize import linprog
    except ImportError:
        raise InvalidArgument(
            "method 'lp' needs SciPy: pip install 'deniable[attacks]', or use least squares"
        ) from None
    many, size = groups.shape
    cost = np.concatenate([np.zeros(size), np.ones(many)])
    slack = np.eye(many)
    upper = np.block([[groups, -slack], [-groups, -slack]])
    bounds = [(0, 1)] * size + [(0, None)] * many
    found = linprog(cost, A_ub=upper, b_ub=np.concatenate([answers, -answers]), bounds=bounds, method="highs")
    return np.asarray(found.x[:size])


def solve_tables(
    columns: Sequence[Sequence[Any]],
    people: int,
    statistics: Sequence[tuple[Callable[[Sequence[tuple[Any, ...]]], Any], Any]],
) -> list[tuple[tuple[Any, ...], ...]]:
    """Every table of so many people, with these values in these columns, that fits all published statistics exactly.

    Several columns and any statistic; for small tables, by trying them all. One table left: everybody is reconstructed.
    """
    rows = sorted(product(*made_up(columns, list | tuple, "columns of values")), key=repr)
    tables = _multisets(rows, integer(people=people, least=1))
    return [table for table in tables if all(statistic(table) == told for statistic, told in statistics)]


def _multisets(rows: Sequence[tuple[Any, ...]], size: int) -> list[tuple[tuple[Any, ...], ...]]:
    found: list[tuple[tuple[Any, ...], ...]] = [()]
    for _ in range(size):
        found = [(*table, row) for table in found for row in rows if not table or repr(table[-1]) <= repr(row)]
    return found
