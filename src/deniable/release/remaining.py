"""What is left of a session's budget, in the words of the budget."""

from __future__ import annotations

from dataclasses import dataclass

from deniable.accounting import Spend


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left, and how many more queries like the last one that is enough for (None before the first)."""

    spend: Spend
    unit: str
    more_like_the_last: int | None

    def __str__(self) -> str:
        delta = f", delta = {float(self.spend.delta):.3g}" if self.spend.delta else ""
        again = (
            "" if self.more_like_the_last is None else f"; enough for {self.more_like_the_last} more like the last one"
        )
        return f"{self.unit} = {float(self.spend.loss):.6g}{delta}{again}"

    __repr__ = __str__
