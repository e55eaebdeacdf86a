"""Does a mechanism keep the promise its cost makes? Exact output laws on neighbouring inputs, both directions.

`check_privacy` enumerates what the mechanism answers on two data sets, computes the hockey-stick divergence between the two
laws by interval arithmetic, and compares it with the delta that the cost promises, for a range of epsilons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.accounting import delta, epsilon
from deniable.audit.exact_law import PLACES, OutputLaw, output_law
from deniable.core.distance import Distance
from deniable.core.mechanism import Mechanism
from deniable.cost import Cost
from deniable.errors import Unaccountable
from deniable.exact import Interval, exp
from deniable.exact.guards import Real

_ONE = 1 << PLACES
_ROUNDING = Fraction(1, 1 << 140)
_SHARES = tuple(Fraction(n, 4) for n in range(5))
_GRID = tuple(Fraction(n, 4) for n in range(0, 13, 2))


def hockey_stick(left: OutputLaw, right: OutputLaw, loss: Fraction) -> Interval:
    """The enclosure of sum over outcomes of max(0, P(outcome) - e**loss · Q(outcome))."""
    factor = exp(loss, 160)
    low = high = Fraction(0)
    for outcome, (p_low, p_high) in left.chances.items():
        q_low, q_high = right.chances.get(outcome, (0, 0))
        high += max(Fraction(0), p_high - factor.lower * q_low)
        low += max(Fraction(0), p_low - factor.upper * q_high)
    low = max(Fraction(0), low - factor.upper * right.unknown)  # what Q lost may lie on these outcomes
    return Interval(low / _ONE, (high + left.unknown) / _ONE)


@dataclass(frozen=True, slots=True)
class Finding:
    """At this epsilon the divergence lies in `measured`, and the cost promises at most `promised`.

    `slack` is what the cut-off tails can add: what the left law lost, and e**loss times what the right one lost.
    """

    loss: Fraction
    measured: Interval
    promised: Fraction
    slack: Fraction

    @property
    def broken(self) -> bool:
        """Certainly more than promised."""
        return self.measured.lower > self.promised

    @property
    def kept(self) -> bool:
        """No more than promised, up to the slack."""
        return self.measured.upper <= self.promised + self.slack


@dataclass(frozen=True, slots=True)
class LawComparison:
    """Every epsilon looked at, in both directions."""

    findings: tuple[Finding, ...]

    @property
    def broken(self) -> bool:
        """The promise is certainly broken somewhere."""
        return any(finding.broken for finding in self.findings)

    @property
    def kept(self) -> bool:
        """The promise holds everywhere, up to the slack."""
        return all(finding.kept for finding in self.findings)

    def reaches(self, share: Fraction) -> bool:
        """Somewhere at least this share of a promised delta (above what was cut off) is really there: the promise is not idle."""
        return any(
            finding.measured.lower >= share * finding.promised > 0 for finding in self.findings if finding.promised < 1
        )


def compare(left: OutputLaw, right: OutputLaw, cost: Cost, *, losses: Sequence[Real] | None = None) -> LawComparison:
    """Two output laws against a cost, both directions, at `losses` (default: quarters of the pure loss, or 0 to 3)."""
    grid = _losses(cost) if losses is None else tuple(Fraction(loss) for loss in losses)
    findings = []
    for loss in grid:
        promised = Fraction(delta(cost, epsilon=loss).upper)
        for p, q in ((left, right), (right, left)):
            slack = p.lost + 2 * exp(loss).upper * q.lost + _ROUNDING
            findings.append(Finding(loss, hockey_stick(p, q, loss), promised, slack))
    return LawComparison(tuple(findings))


def _losses(cost: Cost) -> tuple[Fraction, ...]:
    try:
        most = Fraction(epsilon(cost, delta=0).upper)
    except Unaccountable:
        return _GRID
    return tuple(most * share for share in _SHARES)


def check_privacy(
    mechanism: Mechanism,
    left: Any,
    right: Any,
    *,
    d_in: Distance | Real | tuple[Real, Real, Real] = 1,
    losses: Sequence[Real] | None = None,
    ask: Callable[[Any], Any] = lambda answer: answer,
    tail: Fraction = Fraction(1, 10**12),
) -> LawComparison:
    """The mechanism's promise for `left` and `right`, which the caller knows to be `d_in` apart.

    For an interactive mechanism `ask` holds the conversation and returns the transcript.
    """

    def law(data: Any) -> OutputLaw:
        return output_law(lambda entropy: ask(mechanism.function(data, entropy)), tail=tail)

    return compare(law(left), law(right), mechanism.cost(d_in=d_in), losses=losses)
