"""What is left of a session's budget, in the words of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from deniable.accounting import Spend
from deniable.errors import InvalidArgument
from deniable.exact import loss_text


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left, and how many more queries like the last one that is enough for (None before the first)."""

    spend: Spend
    unit: str
    more_like_the_last: int | None

    @property
    def epsilon(self) -> Fraction:
        """The epsilon that is left, exactly."""
        return self._loss("epsilon")

    @property
    def rho(self) -> Fraction:
        """The rho that is left, exactly."""
        return self._loss("rho")

    @property
    def delta(self) -> Fraction:
        """The delta that is left, exactly."""
        return Fraction(self.spend.delta)

    def _loss(self, unit: str) -> Fraction:
        if self.unit != unit:
            raise InvalidArgument(f"this budget is kept in {self.unit}, not in {unit}: read remaining.{self.unit}")
        return Fraction(self.spend.loss)

    def __str__(self) -> str:
        return loss_text(self.unit, self.spend.loss, self.spend.delta, downwards=True) + self._again

    @property
    def _again(self) -> str:
        match self.more_like_the_last:
            case None:
                return ""
            case 0:
                return "; not enough for another like the last one"
            case several:
                return f"; enough for {several} more like the last one"

    __repr__ = __str__
