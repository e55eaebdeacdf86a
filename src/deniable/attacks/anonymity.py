"""k-anonymity and its relatives as numbers, not promises; a k-anonymiser to attack; homogeneity and background knowledge."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.errors import InvalidArgument
from deniable.exact.guards import integer

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AnonymityReport:
    """How a table looks by the usual numbers; none of them bounds what somebody can learn.

    `k` is the size of the smallest class of equal keys, `l` the fewest different sensitive values in a class, `t` the largest
    distance between a class's distribution of the sensitive value and the whole table's. `homogeneous` are the classes in which
    everybody has the same sensitive value: whoever is known to be in one has lost it.
    """

    k: int
    l: int  # noqa: E741 - the field's own letter
    t: Fraction
    homogeneous: tuple[tuple[Any, ...], ...]
    classes: int


def made_up(value: Any, kind: Any, words: str) -> Any:
    """What an attack reads, of this kind; a session or a data set is refused like anything else that is none."""
    if isinstance(value, kind):
        return value
    raise InvalidArgument(f"attacks are for made-up data: {words} wanted, got a {type(value).__name__}")


def listed(rows: Any, *, columns: Sequence[str] = ()) -> Sequence[Row]:
    """Rows that somebody holds, each with these columns."""
    for row in made_up(rows, (list, tuple), "a list of rows"):
        absent = [name for name in columns if name not in made_up(row, Mapping, "rows as dictionaries")]
        if absent:
            raise InvalidArgument(
                f"{absent[0]!r} is no column of every row; the first has {', '.join(map(repr, rows[0]))}"
            )
    found: Sequence[Row] = rows
    return found


def classes(rows: Sequence[Row], *, keys: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by their keys."""
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in listed(rows, columns=keys):
        found[tuple(row[key] for key in keys)].append(row)
    return dict(found)


def anonymity(rows: Sequence[Row], *, keys: Sequence[str], sensitive: str) -> AnonymityReport:
    """The numbers of a published table, and the classes that homogeneity gives away."""
    if not listed(rows, columns=[sensitive]):
        raise InvalidArgument("a table without rows has no classes")
    parts = classes(rows, keys=keys)
    whole = Counter(row[sensitive] for row in rows)
    inside = {key: Counter(row[sensitive] for row in part) for key, part in parts.items()}
    return AnonymityReport(
        min(map(len, parts.values())),
        min(map(len, inside.values())),
        max(_apart(counts, whole) for counts in inside.values()),
        tuple(key for key, counts in inside.items() if len(counts) == 1),
        len(parts),
    )


def _apart(part: Counter[Any], whole: Counter[Any]) -> Fraction:
    """Total variation distance of two distributions of counts."""
    a, b = part.total(), whole.total()
    return sum((abs(Fraction(part[value], a) - Fraction(whole[value], b)) for value in whole), Fraction(0)) / 2


def background(rows: Sequence[Row], *, known: Mapping[str, Any], sensitive: str) -> dict[Any, Fraction]:
    """What is left of the sensitive value once columns nobody declared as identifying are known as well."""
    matching = [
        row[sensitive]
        for row in listed(rows, columns=[sensitive])
        if all(row.get(name) == value for name, value in known.items())
    ]
    return {value: Fraction(times, len(matching)) for value, times in Counter(matching).items()}


def anonymize(rows: Sequence[Row], *, keys: Sequence[str], k: int) -> list[dict[str, Any]]:
    """NOT PRIVATE: halves the precision of numeric keys, widest first, until few rows are in small classes, and drops those."""
    least, made = integer(k=k, least=2), [dict(row) for row in listed(rows, columns=keys)]
    for _ in range(32 * len(keys)):
        parts = classes(made, keys=keys)
        if sum(len(part) for part in parts.values() if len(part) < least) <= len(made) // 20:
            break
        widest = max(keys, key=lambda key: len({row[key] for row in made}))
        for row in made:
            row[widest] = row[widest] // 2
    return [dict(row) for part in classes(made, keys=keys).values() if len(part) >= least for row in part]
