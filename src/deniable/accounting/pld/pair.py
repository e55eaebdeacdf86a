"""A dominating pair (P, Q), known through bounds on its privacy profile.

The profile f(x) = sup over events S of P(S) - x Q(S), at x = e^epsilon, is convex and decreasing. `upper` bounds it from above
at points; every event gives a line below it, and `line` bounds such a line from below. Only epsilon >= 0 is ever asked: the
other half of the profile is the swapped pair's, by f(x) = 1 - x + x g(1/x). Pairs are frozen values, so equal ones merge.
"""

from __future__ import annotations

from typing import Protocol

from deniable.accounting.pld.outward import Floats


class Pair(Protocol):
    """Two laws that are at least as far apart as a mechanism's on any two neighbouring data sets."""

    @property
    def swapped(self) -> Pair:
        """(Q, P)."""

    @property
    def ceiling(self) -> float:
        """No finite privacy loss exceeds this."""

    @property
    def infinite(self) -> float:
        """At most the mass that P puts where Q has none (a lower bound, as a float)."""

    @property
    def kink(self) -> float:
        """Just below the largest loss, if the law has an atom there: a grid that meets it loses less. Else 0."""

    @property
    def lattice(self) -> float:
        """All losses are about multiples of this; 0 if they are not."""

    def upper(self, epsilon: Floats) -> Floats:
        """At least the profile at each epsilon >= 0."""

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        """At most P(S) - e^epsilon Q(S), for the event S that the loss exceeds `at`; both at least 0."""
