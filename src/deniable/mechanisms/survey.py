"""A randomized-response survey before it is held: what it will cost each person, and how close its shares will come.

So the number of people can be planned: `calibrate(lambda n: Survey(truth=3/4, people=n), accuracy=0.02)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.core.distance import Distance, distance, plain
from deniable.core.mechanism import Accuracy, Utility
from deniable.cost import FREE, Cost, RandomizedResponse, Repeated
from deniable.errors import InvalidArgument
from deniable.exact import ln, sqrt
from deniable.exact.guards import Real, integer


@dataclass(frozen=True, slots=True)
class Survey:
    """So many `people`, each of whom tells the truth with probability `truth`, else one of the other categories."""

    truth: Real
    people: int
    categories: int = 2
    parameter: Any = None

    def __post_init__(self) -> None:
        price = RandomizedResponse(truth=self.truth, categories=self.categories)
        integer(people=self.people, least=1)
        if not price.truth * self.categories > 1:
            raise InvalidArgument(
                f"truth must be above 1/{self.categories}, or answers say nothing, got {self.truth!r}"
            )
        object.__setattr__(self, "truth", price.truth)

    def cost(self, *, d_in: Distance | Real = 1) -> Cost:
        """What it costs a person to answer once; for several people who change, so many answers."""
        price, people = RandomizedResponse(truth=self.truth, categories=self.categories), int(plain(distance(d_in)))
        return FREE if not people else price if people == 1 else Repeated(price, people)

    def accuracy(self, *, confidence: Real = Fraction(19, 20), simultaneous: bool = False) -> Accuracy:
        """How far the unbiased estimate of a category's share can be from its share among these people.

        Hoeffding's inequality: answers are independent, and an estimate is their mean stretched by 1/(truth - other).
        """
        everywhere = None if self.categories == 2 else lambda beta: self._error(beta / self.categories)
        told = Utility("share of each category" if everywhere else "share", self._error, everywhere)
        return told.accuracy(confidence=confidence, simultaneous=simultaneous)

    def _error(self, beta: Fraction) -> Fraction:
        kept = Fraction(self.truth)
        other = (1 - kept) / (self.categories - 1)
        return sqrt(ln(2 / beta) / (2 * self.people)).upper / (kept - other)
