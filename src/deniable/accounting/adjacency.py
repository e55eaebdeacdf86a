"""Which neighbours a cost compares, and the check that it compares the same ones everywhere.

Noise alone does not say; a secret sample does, because its amplification differs. Costs that compare different neighbours have no
common loss: the smaller one holds for neither relation.
"""

from __future__ import annotations

from deniable.cost import (
    Allocated,
    Calibrated,
    Composed,
    Cost,
    Grouped,
    Mixed,
    Neighbours,
    Parallel,
    Repeated,
    Sampled,
    Sampling,
    Selected,
    check_cost,
)
from deniable.errors import Unaccountable

_PRESENT = (Neighbours.ADD_REMOVE, Neighbours.ZERO_OUT)


def neighbours_of(cost: Cost) -> Neighbours | None:
    """The neighbours that a cost compares; None where it may be any. `Unaccountable` where its parts compare different ones."""
    match cost:
        case Sampled():
            return _sampled(cost)
        case Allocated(each):
            return _present(each, "a step that a unit is allocated to")
        case Composed(costs) | Parallel(costs):
            return _common([neighbours_of(each) for each in costs])
        case Mixed(parts):
            return _common([neighbours_of(each) for chance, each in parts if chance])
        case Repeated(each) | Grouped(each) | Selected(each) | Calibrated(each):
            return neighbours_of(each)
        case _:
            check_cost(cost)
            return None


def _common(found: list[Neighbours | None]) -> Neighbours | None:
    kinds = list(dict.fromkeys(kind for kind in found if kind is not None))
    if len(kinds) > 1:
        said = " and others ".join(kind.value for kind in kinds)
        raise Unaccountable(f"these costs compare different neighbours: some {said}; read them one by one")
    return kinds[0] if kinds else None


def _present(cost: Cost, place: str) -> Neighbours:
    inner = neighbours_of(cost)
    if inner not in (None, *_PRESENT):
        raise Unaccountable(
            f"{place} needs a cost that compares neighbours which {_PRESENT[0].value}, "
            f"but what is inside compares those which {inner.value}; declare the inner sample so"
        )
    return Neighbours.ADD_REMOVE


def _sampled(cost: Sampled) -> Neighbours:
    """A Poisson sample needs what the presence of a unit costs, one of a fixed size what its replacement costs."""
    inner = neighbours_of(cost.cost)
    wanted = _PRESENT if cost.how is Sampling.POISSON else (Neighbours.REPLACE,)
    if inner is not None and inner not in wanted:
        raise Unaccountable(
            f"a sample of {cost.how.value} needs a cost that compares neighbours which {wanted[0].value}, "
            f"but what is inside compares those which {inner.value}; declare the inner sample so"
        )
    return cost.neighbours
