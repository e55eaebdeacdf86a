"""Two laws on a finite set, given by their probabilities: their divergences, exactly. The measure of every other claim."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction

from deniable.exact import Interval, exp, ln

Probabilities = Mapping[Hashable, Fraction]
_BITS = 96


def hockey_stick(p: Probabilities, q: Probabilities, *, epsilon: Fraction) -> Interval:
    """The least delta with P(S) <= e^epsilon Q(S) + delta for every event S: the sum of the excesses."""
    factor = exp(epsilon, _BITS)
    total = Interval.point(0)
    for outcome in p.keys() | q.keys():
        excess = p.get(outcome, Fraction(0)) - factor * q.get(outcome, Fraction(0))
        total = total + excess.greatest(0)
    return total


def smoothed_divergence(p: Probabilities, q: Probabilities, *, delta: Fraction) -> Interval | None:
    """The least epsilon with P(S) <= e^epsilon Q(S) + delta for every S: the largest ln((P(S) - delta)/Q(S)) over events with
    P(S) >= delta. None when it is infinite. Subtracting delta is right; adding it, as one text prints, is not (errata E33)."""
    alone = sum((chance for outcome, chance in p.items() if not q.get(outcome)), Fraction(0))
    if alone > delta:
        return None
    ordered = sorted((o for o in p if q.get(o)), key=lambda o: p[o] / q[o], reverse=True)
    best, mine, other = Interval.point(0), alone, Fraction(0)
    for outcome in ordered:  # the best events are those of the highest ratios
        mine, other = mine + p[outcome], other + q[outcome]
        if mine > delta:
            best = best.greatest(ln((mine - delta) / other, _BITS))
    return best


def max_divergence(p: Probabilities, q: Probabilities) -> Interval | None:
    """The pure epsilon of one direction; None when it is infinite."""
    return smoothed_divergence(p, q, delta=Fraction(0))


def renyi_divergence(p: Probabilities, q: Probabilities, *, order: int) -> Interval | None:
    """ln(sum of P^a Q^(1-a))/(a-1) at a whole order above one; None when it is infinite."""
    moment = Fraction(0)
    for outcome, chance in p.items():
        if chance and not q.get(outcome):
            return None
        if chance:
            moment += chance**order / q[outcome] ** (order - 1)
    return ln(moment, _BITS) / (order - 1)
