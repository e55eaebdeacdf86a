"""NOT PRIVATE, but for the last. Curators who look careful: each answers counts about a secret bit of made-up people.

A curator holds people with public attributes and one secret bit. `count(ids)` answers how many of these people have it, or None as
a refusal; `rows()` is the microdata it publishes, or nothing. The secret is kept beside it to score attacks; curators of real data
have no place here.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.accounting import budget
from deniable.attacks.anonymity import anonymize
from deniable.core import Booleans, rows
from deniable.core.gate import Planned
from deniable.errors import DeniableError, InvalidArgument, Retired
from deniable.exact.guards import integer, positive
from deniable.mechanisms import laplace
from deniable.noise import Entropy, system_entropy
from deniable.query.aggregates import count as row_count
from deniable.release.dataset import Dataset
from deniable.transformations import count

KEYS = ("zip", "birth", "sex")


@dataclass(frozen=True, slots=True)
class MadeUpPeople:
    """People who do not exist: public attributes that nearly identify them, and a secret bit for each."""

    public: tuple[dict[str, Any], ...]
    secret: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.public)


def made_up_people(size: int, *, rate: Fraction = Fraction(1, 2), entropy: Entropy | None = None) -> MadeUpPeople:
    """So many people drawn at random; `rate` is the share of those with the secret bit."""
    source, many = entropy or system_entropy(), integer(people=size, least=2)
    drawn = {
        name: noise.uniforms_below(below, many, source) for name, below in (("zip", 20), ("birth", 60), ("sex", 2))
    }
    public = tuple({"id": i, **{name: int(column[i]) for name, column in drawn.items()}} for i in range(many))
    return MadeUpPeople(public, noise.bernoullis(rate, many, source).astype(np.int64))


class Curator:
    """NOT PRIVATE: answers exactly and publishes everything but names."""

    title = "remove names"

    def __init__(self, people: MadeUpPeople, *, entropy: Entropy | None = None) -> None:
        if not isinstance(people, MadeUpPeople):
            raise InvalidArgument(f"curators of attacks hold made-up people only, got a {type(people).__name__}")
        self.people, self.entropy = people, entropy or system_entropy()

    def count(self, ids: Sequence[int] | NDArray[np.int64], *, phrase: str = "") -> float | None:
        """How many of these people have the secret bit; `phrase` is how the question was worded."""
        return float(self._true(ids))

    def rows(self) -> list[dict[str, Any]]:
        """The microdata this curator publishes."""
        return [
            {**{key: row[key] for key in KEYS}, "secret": int(bit)}
            for row, bit in zip(self.people.public, self.people.secret, strict=True)
        ]

    def _true(self, ids: Any) -> int:
        return int(self.people.secret[np.asarray(ids, dtype=np.int64)].sum())

    def _noise(self, scale: Any) -> int:
        return noise.discrete_laplace(Fraction(scale), self.entropy)


def attackable(curator: Any, *, allow_private: bool = False) -> Any:
    """What may be attacked: a curator of made-up people. Somebody in charge of real data may allow anything with `count(ids)`."""
    if isinstance(curator, Curator) or (allow_private and callable(getattr(curator, "count", None))):
        return curator
    raise InvalidArgument(
        f"attacks are for made-up data, got a {type(curator).__name__}; whoever is in charge of real data may say "
        "allow_private=True for an object with count(ids)"
    )


class RoundingCurator(Curator):
    """NOT PRIVATE: rounds counts to fives and ages to decades."""

    title = "round"

    def count(self, ids: Any, *, phrase: str = "") -> float | None:
        return float(5 * round(self._true(ids) / 5))

    def rows(self) -> list[dict[str, Any]]:
        return [{**row, "birth": row["birth"] // 10} for row in super().rows()]


class SwappingCurator(Curator):
    """NOT PRIVATE: swaps the secret of one person in ten with a neighbour in the list."""

    title = "swap"

    def __init__(self, people: MadeUpPeople, *, entropy: Entropy | None = None) -> None:
        super().__init__(people, entropy=entropy)
        bits = people.secret.copy()
        for i in range(0, len(bits) - 1, 10):
            bits[i], bits[i + 1] = bits[i + 1], bits[i]
        self.people, self.original = MadeUpPeople(people.public, bits), people


class SamplingCurator(Curator):
    """NOT PRIVATE: publishes half of the people and answers from them, scaled up."""

    title = "sample"

    def __init__(self, people: MadeUpPeople, *, entropy: Entropy | None = None) -> None:
        super().__init__(people, entropy=entropy)
        self.inside = noise.bernoullis(Fraction(1, 2), len(people), self.entropy)

    def count(self, ids: Any, *, phrase: str = "") -> float | None:
        chosen = np.asarray(ids, dtype=np.int64)
        return 2.0 * self._true(chosen[self.inside[chosen]])

    def rows(self) -> list[dict[str, Any]]:
        return [row for row, is_in in zip(super().rows(), self.inside, strict=True) if is_in]


class ThresholdCurator(Curator):
    """NOT PRIVATE: answers only about at least ten people, and publishes no rows."""

    title = "threshold at ten"

    def count(self, ids: Any, *, phrase: str = "") -> float | None:
        return float(self._true(ids)) if len(ids) >= 10 else None

    def rows(self) -> list[dict[str, Any]]:
        return []


class SmallCellCurator(ThresholdCurator):
    """NOT PRIVATE: refuses where the answer itself is small, so that a refusal is an answer."""

    title = "refuse small cells"

    def count(self, ids: Any, *, phrase: str = "") -> float | None:
        true = self._true(ids)
        return float(true) if true >= 5 else None


class StickyCurator(ThresholdCurator):
    """NOT PRIVATE: noise that is the same for the same words, so that asking twice does not help; other words do."""

    title = "sticky noise"

    def count(self, ids: Any, *, phrase: str = "") -> float | None:
        key = f"{phrase}|{sorted(np.asarray(ids).tolist())}|a secret key".encode()
        return self._true(ids) + _hashed_noise(key, 2.0)


class SeededCurator(ThresholdCurator):
    """NOT PRIVATE: a generator seeded with a small number when the service starts."""

    title = "seeded noise"
    SEEDS = 1000

    def __init__(self, people: MadeUpPeople, *, entropy: Entropy | None = None) -> None:
        super().__init__(people, entropy=entropy)
        self._seed, self._asked = noise.uniform_below(self.SEEDS, self.entropy), 0

    def count(self, ids: Any, *, phrase: str = "") -> float | None:
        self._asked += 1
        return self._true(ids) + seeded_noise(self._seed, self._asked)


class UnbudgetedCurator(ThresholdCurator):
    """NOT PRIVATE: fresh Laplace noise for every question, and no end of questions."""

    title = "noise without a budget"

    def count(self, ids: Any, *, phrase: str = "") -> float | None:
        return float(self._true(ids) + self._noise(2))


class AnonymizingCurator(Curator):
    """NOT PRIVATE: generalises and suppresses until every row has nine doubles, and answers no counts."""

    title = "k-anonymise"

    def count(self, ids: Any, *, phrase: str = "") -> float | None:
        return None

    def rows(self) -> list[dict[str, Any]]:
        return anonymize(super().rows(), keys=KEYS, k=10)


class LocalModelCurator(Curator):
    """Each person flips their own bit with probability 1 / (1 + e): microdata of the local model, epsilon 1."""

    title = "local model, epsilon 1"

    def __init__(self, people: MadeUpPeople, *, entropy: Entropy | None = None) -> None:
        super().__init__(people, entropy=entropy)
        kept = noise.bernoullis(Fraction(731, 1000), len(people), self.entropy)
        self.answers = np.where(kept, people.secret, 1 - people.secret)

    def count(self, ids: Any, *, phrase: str = "") -> float | None:
        chosen = np.asarray(ids, dtype=np.int64)
        return float((self.answers[chosen].sum() - 0.269 * len(chosen)) / 0.462)

    def rows(self) -> list[dict[str, Any]]:
        return [{**row, "secret": int(bit)} for row, bit in zip(super().rows(), self.answers, strict=True)]


class PrivateCurator(Curator):
    """Counts with exact noise behind a gate of deniable: so many questions share one epsilon, and then it refuses.

    Guarantee: everything it ever answers together is epsilon-private: the declared costs add up to epsilon.
    """

    title = "the calculus, epsilon 1 in all"

    def __init__(
        self, people: MadeUpPeople, *, epsilon: Any = 1, questions: int = 1000, entropy: Entropy | None = None
    ) -> None:
        super().__init__(people, entropy=entropy)
        self.scale = integer(questions=questions, least=1) / positive(epsilon=epsilon)
        self._space = rows(Booleans())
        self._mechanism = self._space >> count() >> laplace(scale=self.scale)
        self._gate = Planned([self._mechanism.cost(d_in=1)] * questions)

    def count(self, ids: Any, *, phrase: str = "") -> float | None:
        try:
            self._gate.charge(self._mechanism.cost(d_in=1))
        except Retired:
            return None
        chosen = np.asarray(ids, dtype=np.int64)
        having = [True for bit in self.people.secret[chosen].tolist() if bit]
        return float(self._mechanism.function(having, self.entropy))

    def rows(self) -> list[dict[str, Any]]:
        return []


class SessionCurator(Curator):
    """A session of deniable with its budget: each question has the same share of one epsilon, and then it refuses.

    Guarantee: everything it ever answers together is epsilon-private, by the session's own ledger.
    """

    title = "deniable, epsilon 1 in all"

    def __init__(
        self, people: MadeUpPeople, *, epsilon: Any = 1, questions: int = 20, entropy: Entropy | None = None
    ) -> None:
        super().__init__(people, entropy=entropy)
        self.share, self.refused = Fraction(epsilon) / integer(questions=questions, least=1), False
        self.told: dict[str, float | None] = {}
        most = {"type": "integer", "bounds": [0, len(people) - 1]}
        book = {"unit": "rows", "tables": {"people": {"variables": {"id": most, "secret": {"type": "boolean"}}}}}
        columns = {"id": list(range(len(people))), "secret": [bool(bit) for bit in people.secret]}
        made = Dataset(columns, codebook={"name": "made-up people", **book})
        self._session = made.session(budget(epsilon=epsilon), entropy=entropy)

    def count(self, ids: Any, *, phrase: str = "") -> float | None:
        chosen = ", ".join(str(int(each)) for each in ids) or "-1"
        if chosen not in self.told:  # the session itself would show the same release again, for nothing
            self.told[chosen] = self._asked(chosen)
        return self.told[chosen]

    def _asked(self, chosen: str) -> float | None:
        if self.refused:
            return None  # a budget that is spent does not come back
        query = self._session.query().where(f"secret AND id IN ({chosen})").agg(n=row_count())
        try:
            return float(query.release(epsilon=self.share).value())
        except DeniableError:
            self.refused = True
            return None

    def rows(self) -> list[dict[str, Any]]:
        return []


def _hashed_noise(key: bytes, scale: float) -> float:
    """Laplace noise that is a function of a key: what sticky and seeded curators add."""
    part = (int.from_bytes(hashlib.sha256(key).digest()[:7], "big") + 0.5) / 2**56 - 0.5
    return float(np.round(-scale * np.sign(part) * np.log1p(-2 * abs(part))))


def seeded_noise(seed: int, asked: int) -> float:
    """The noise of the `asked`-th answer of a service that was started with this seed."""
    return _hashed_noise(f"{seed}|{asked}".encode(), 2.0)


def strawmen() -> tuple[type[Curator], ...]:
    """All curators, the careless ones first and differential privacy last."""
    return (
        Curator,
        RoundingCurator,
        SwappingCurator,
        SamplingCurator,
        ThresholdCurator,
        SmallCellCurator,
        StickyCurator,
        SeededCurator,
        UnbudgetedCurator,
        AnonymizingCurator,
        LocalModelCurator,
        SessionCurator,
    )


def most_frequent(values: Sequence[Any]) -> Any:
    """The commonest value, the first of several; None of none."""
    return Counter(values).most_common(1)[0][0] if values else None
