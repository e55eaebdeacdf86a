"""Summaries of one unit's own rows, for `per_unit` alone: exact, and no answer about many units."""

from __future__ import annotations

from dataclasses import dataclass

from deniable.plan.nodes import UnitSummary
from deniable.query.aggregates.aggregate import Of


@dataclass(frozen=True, slots=True)
class OfUnit:
    """A summary of one unit's own rows, for `per_unit` alone: it is no answer about many units."""

    summary: UnitSummary
    of: Of


def minimum(of: Of) -> OfUnit:
    """The least value among one unit's own rows, for `per_unit`; over many units ask for a low quantile.

    Guarantee: exact and within one unit; nothing is released before an aggregate over units.
    """
    return OfUnit(UnitSummary.LEAST, of)


def maximum(of: Of) -> OfUnit:
    """The greatest value among one unit's own rows, for `per_unit`; over many units ask for a high quantile.

    Guarantee: exact and within one unit; nothing is released before an aggregate over units.
    """
    return OfUnit(UnitSummary.GREATEST, of)


def mode(of: Of) -> OfUnit:
    """The most frequent value among one unit's own rows, for `per_unit`, and the least of several; over many units see `top_k`.

    Guarantee: exact and within one unit; nothing is released before an aggregate over units.
    """
    return OfUnit(UnitSummary.MODE, of)
