"""The matrix: every curator against every attack. Each cell is the share of right guesses, beside what guessing alone gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from deniable.attacks.anonymity import anonymize
from deniable.attacks.count_attacks import averaging, differencing, recover_seed, refusal_oracle
from deniable.attacks.curators import (
    KEYS,
    AnonymizingCurator,
    Curator,
    MadeUpPeople,
    RoundingCurator,
    made_up_people,
    seeded_noise,
)
from deniable.attacks.linkage import linkage
from deniable.attacks.reconstruction import reconstruct
from deniable.errors import InvalidArgument
from deniable.noise import Entropy
from deniable.svg import Figure, ShadedCell, shaded_table

_PEOPLE = 120
Attack = Callable[[Curator, int], float]
"""From a curator and a number of targets to the share of targets whose bit was guessed."""


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """The share of right guesses, and what always guessing the commoner bit gets."""

    accuracy: float
    base_rate: float

    @property
    def gain(self) -> float:
        """How much better than guessing, from 0 to 1."""
        return max(0.0, (self.accuracy - self.base_rate) / max(1e-9, 1 - self.base_rate))

    def __str__(self) -> str:
        return f"{self.accuracy:.0%} ({self.base_rate:.0%})"


@dataclass(frozen=True, slots=True)
class Matrix:
    """Curators by attacks; text, HTML and SVG."""

    curators: tuple[str, ...]
    attacks: tuple[str, ...]
    cells: tuple[tuple[MatrixCell, ...], ...]

    def cell(self, curator: str, attack: str) -> MatrixCell:
        """One cell by its names."""
        return self.cells[self.curators.index(curator)][self.attacks.index(attack)]

    def __str__(self) -> str:
        table = [["", *self.attacks]] + [
            [name, *map(str, row)] for name, row in zip(self.curators, self.cells, strict=True)
        ]
        widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in table
        ]
        return "\n".join([*lines, "share of bits guessed (share by guessing the commoner bit)"])

    def to_html(self) -> str:
        """A table whose cells are the darker the more an attack gains."""
        head = "".join(f"<th>{escape(name)}</th>" for name in ("", *self.attacks))
        body = "".join(
            f"<tr><th>{escape(name)}</th>"
            + "".join(
                f'<td style="background:rgba(200,60,40,{cell.gain:.2f})">{escape(str(cell))}</td>' for cell in row
            )
            + "</tr>"
            for name, row in zip(self.curators, self.cells, strict=True)
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def plot(self) -> Figure:
        """Every cell with its base rate, the darker the more an attack gains."""
        return shaded_table(
            self.attacks,
            [
                (name, [ShadedCell(str(cell), cell.gain) for cell in row])
                for name, row in zip(self.curators, self.cells, strict=True)
            ],
            title="Every attack on each curator",
            subtitle="share of bits guessed (share by guessing the commoner bit)",
        )


def every() -> dict[str, Attack]:
    """All attacks of the matrix, by name."""
    return {
        "linkage": _linkage,
        "differencing": lambda curator, targets: _by_counts(curator, targets, times=1),
        "averaging": lambda curator, targets: _by_counts(curator, targets, times=100),
        "same words again": _same_words,
        "refusals": _refusals,
        "seed recovery": _seeds,
        "reconstruction": _reconstruction,
        "complement": _complement,
        "all others known": _all_others,
    }


def matrix(
    curators: Sequence[type[Curator]],
    attacks: dict[str, Attack],
    *,
    people: MadeUpPeople | None = None,
    targets: int = 100,
    entropy: Entropy | None = None,
) -> Matrix:
    """Every attack on a fresh curator of each kind, about the first `targets` people; of 120 drawn anew unless some are given."""
    if not curators or not attacks:
        raise InvalidArgument("a matrix needs at least one curator and one attack")
    for kind in curators:
        if not (isinstance(kind, type) and issubclass(kind, Curator)):
            raise InvalidArgument(
                f"attacks are for made-up data: classes of curators wanted, got a {type(kind).__name__}"
            )
    if people is None:
        people = made_up_people(_PEOPLE, entropy=entropy)
    wanted = people.secret[:targets]
    base = float(max(wanted.mean(), 1 - wanted.mean()))
    cells = tuple(
        tuple(MatrixCell(attack(kind(people, entropy=entropy), targets), base) for attack in attacks.values())
        for kind in curators
    )
    return Matrix(tuple(kind.title for kind in curators), tuple(attacks), cells)


# The attacks of the matrix -------------------------------------------------------------------------------------------------


def _truth(curator: Curator) -> Any:
    return getattr(curator, "original", curator.people).secret


def _score(curator: Curator, bits: Sequence[int | None]) -> float:
    """A refusal leaves a guess of the commoner bit."""
    truth = _truth(curator)[: len(bits)]
    common = int(truth.mean() >= 0.5)
    return float(np.mean([(common if bit is None else bit) == true for bit, true in zip(bits, truth, strict=True)]))


def _group(curator: Curator, target: int, size: int = 30) -> list[int]:
    return [person for person in range(len(curator.people)) if person != target][:size]


def _by_counts(curator: Curator, targets: int, *, times: int) -> float:
    return _score(curator, [differencing(curator, t, _group(curator, t), times=times).bit for t in range(targets)])


def _same_words(curator: Curator, targets: int) -> float:
    def bit(target: int) -> int | None:
        group = _group(curator, target)
        a, b = (averaging(lambda _, g=ids: curator.count(g), times=50) for ids in (group, [*group, target]))  # type: ignore[misc]
        return None if a is None or b is None else int(b - a > 0.5)

    return _score(curator, [bit(target) for target in range(targets)])


def _refusals(curator: Curator, targets: int) -> float:
    return _score(curator, [refusal_oracle(curator, t, _group(curator, t)).bit for t in range(targets)])


def _seeds(curator: Curator, targets: int) -> float:
    """Friends whose bits are known give the seed; what it will add to later answers is then subtracted."""
    friends = list(range(len(curator.people) - 12, len(curator.people)))
    true = int(curator.people.secret[friends].sum())
    seed = recover_seed(curator, [(friends, true)] * 8)
    if seed is None:
        return _score(curator, [None] * targets)
    bits: list[int | None] = []
    for turn, target in enumerate(range(targets)):
        answer = curator.count([*friends, target])
        bits.append(None if answer is None else int(answer - seeded_noise(seed, 9 + turn) - true > 0.5))
    return _score(curator, bits)


def _reconstruction(curator: Curator, targets: int) -> float:
    people = len(curator.people)
    return _score(curator, list(reconstruct(curator, people=people, queries=2 * people).guesses[:targets]))


def _complement(curator: Curator, targets: int) -> float:
    """Everybody, less everybody but one: the same difference with large groups, which no threshold refuses."""
    whole = list(range(len(curator.people)))
    bits: list[int | None] = []
    for target in range(targets):
        a, b = curator.count(whole), curator.count([person for person in whole if person != target])
        bits.append(None if a is None or b is None else int(a - b > 0.5))
    return _score(curator, bits)


def _linkage(curator: Curator, targets: int) -> float:
    rows = curator.rows()
    if not rows:
        return _score(curator, [None] * targets)
    known = [{key: person[key] for key in KEYS} for person in curator.people.public[:targets]]
    return _score(curator, list(linkage(rows, known, keys=KEYS, sensitive="secret").guesses))


def _all_others(curator: Curator, targets: int) -> float:
    """Background knowledge at its largest: everybody else's bit is known. What a total holds beyond them is the target's."""
    truth, people, rows = _truth(curator), curator.people, curator.rows()
    place = _classes(curator)
    bits: list[int | None] = []
    for target in range(targets):
        if not rows:
            told = averaging(lambda turn: curator.count(range(len(people)), phrase=f"all {turn}"), times=20)
            others = int(truth.sum() - truth[target])
        elif target in place:
            told = sum(row["secret"] for row in rows if tuple(row[key] for key in KEYS) == place[target])
            others = sum(int(truth[i]) for i, key in place.items() if key == place[target] and i != target)
        else:
            told, others = None, 0
        bits.append(None if told is None else int(told - others > 0.5))
    return _score(curator, bits)


def _classes(curator: Curator) -> dict[int, tuple[Any, ...]]:
    """Everybody's published keys. How keys were generalised follows from the keys alone, so anybody can redo it."""
    public = [{**{key: person[key] for key in KEYS}, "id": person["id"]} for person in curator.people.public]
    if isinstance(curator, AnonymizingCurator):
        public = anonymize(public, keys=KEYS, k=10)
    elif isinstance(curator, RoundingCurator):
        public = [{**row, "birth": row["birth"] // 10} for row in public]
    return {row["id"]: tuple(row[key] for key in KEYS) for row in public}
