"""What a synthesizer takes in time and memory, and what it cannot do, from public facts: said before anything is spent.

Seconds and bytes are rounded readings of the benchmark; they depend on columns, cells and rounds, never on rows that were seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb, prod
from typing import Any

from deniable.errors import InvalidArgument
from deniable.plan.unit_tables import MOST_TABLE_CELLS
from deniable.synth.attribute import Attributes
from deniable.synth.fitted.joined_cells import MOST_GROUPS
from deniable.synth.measured.aim_rounds import MOST_CELLS as MOST_AIM_CELLS
from deniable.synth.measured.coded import MOST_BYTES
from deniable.synth.measured.privbayes_rounds import MOST_FAMILY_CELLS

MOST_PAIR_CELLS = 1 << 26
"""All tables that are looked at have at most so many cells together, each of them twice eight bytes."""
MOST_CELLS = 1 << 16
"""MWEM keeps a weight for every combination of cells, at most so many."""
NOISE_LIMIT = 10_000
"""A one-way table with more noise than this, in rows, is refused unless the caller insists."""
_RECORD_BYTES = 8e5
"""One column of the 100,000 records that a model has at most."""
_SCORED_BYTES, _FITTED_BYTES = 16.0, 40.0
"""What a cell takes while tables are scored, and while they are fitted: stored, written as text, combined and moved to."""
_PASS = 8_000
"""Gradients of all rows take as long as counting so many tables of them."""


def check_size(attributes: Attributes, fine: Attributes, method: str, options: Mapping[str, Any]) -> None:
    """Refuse what would not fit into memory, with the number of cells and what fits; `fine` are cells before quantiles cut them."""
    count, degree = len(attributes.columns), options.get("degree") or 2
    for child, parents in options.get("network") or ():
        _check_family(attributes, (*parents, child))
    order = {"aim": degree, "mwem": degree, "privbayes": degree + 1}.get(method, 2)
    counted = prod(sorted(map(max, fine.sizes, attributes.sizes))[-order:])
    if any(a > b for a, b in zip(fine.sizes, attributes.sizes, strict=True)) and counted > MOST_TABLE_CELLS:
        raise InvalidArgument(
            f"tables of {order} columns cut by quantiles may have {counted:,} cells before they are cut, above "
            f"{MOST_TABLE_CELLS:,}; give fewer quantiles=, or bins= instead, or a smaller degree"
        )
    widest = prod(sorted(attributes.sizes)[-2:])
    if method in ("pairs", "tree") and widest > MOST_TABLE_CELLS:
        raise InvalidArgument(
            f"a pair of columns has {widest:,} cells, above {MOST_TABLE_CELLS:,}; give columns fewer bins"
        )
    cells = attributes.cells(range(count))
    if method == "mwem" and cells > MOST_CELLS:
        raise InvalidArgument(
            f"MWEM keeps a weight for each of {cells:,} combinations of cells, above {MOST_CELLS:,}; take fewer columns or bins, "
            "or method='pairs', 'tree', 'privbayes' or 'aim'"
        )
    order = {"pairs": 2, "tree": 2, "aim": degree}.get(method, 0)
    tables, most = tables_within([most_groups(each.size, each.ordered) for each in attributes.columns], order)
    if most > MOST_PAIR_CELLS:
        what = f"the {tables:,} tables of up to {order}" if order > 2 else "the pairs"
        raise InvalidArgument(
            f"{what} of {count} columns may have {most:,} cells, which take {16 * most // 1_000_000:,} MB; at most "
            f"{MOST_PAIR_CELLS:,} fit, so take fewer columns or bins{', or degree=2' if order > 2 else ''}"
        )


def _check_family(attributes: Attributes, places: Sequence[int]) -> None:
    cells = attributes.cells(places)
    if cells > MOST_FAMILY_CELLS:
        names = [attributes.names[place] for place in places]
        raise InvalidArgument(
            f"the table of {names[-1]} with its parents {', '.join(names[:-1])} has {cells:,} cells, above "
            f"{MOST_FAMILY_CELLS:,}; give it fewer parents, or columns fewer bins"
        )


def most_groups(size: int, ordered: bool) -> int:
    """How many groups a column may have: neighbouring cells are joined, categories are only where they are rare."""
    return min(size, 2 * MOST_GROUPS + 2) if ordered else size


def tables_within(groups: Sequence[int], order: int) -> tuple[int, int]:
    """How many tables of two up to `order` columns there are, and how many cells they have together at most."""
    tables = sum(comb(len(groups), each) for each in range(2, order + 1))
    sums = [1] + [0] * order  # the sums of all products of so many sizes
    for size in groups:
        for each in range(order, 0, -1):
            sums[each] += size * sums[each - 1]
    cells = sum(sums[2:])
    return tables, min(cells, tables * MOST_AIM_CELLS) if order > 2 else cells


def check_noise(scale: float, *, anyway: bool) -> None:
    """Refuse noise that drowns every cell, unless the caller insists."""
    if scale > NOISE_LIMIT and not anyway:
        raise InvalidArgument(
            f"this budget puts noise of about {scale:,.0f} rows on every cell, so nearly all of them would be noise; offer more, "
            "take fewer columns, or say anyway=True"
        )


def resources(
    method: str, options: Mapping[str, Any], sizes: Sequence[int], groups: Sequence[int]
) -> dict[str, dict[str, float]]:
    """Time and memory of counting and of fitting. `sizes` are cells and `groups` groups of the columns, at most."""
    seconds, counted, held = _needed(method, options, sizes, groups)
    return {
        "time (CPU seconds, about)": {
            "fitting, at most": round(seconds, 1),
            "counting, for each million rows": round(0.2 * len(sizes) + 0.006 * counted, 1),
        },
        "memory (MB, about)": {
            "fitting, at most": round(held / 1e6),
            "rows, for each million": 16 * len(sizes),
            "rows, at most": 2 * MOST_BYTES // 1_000_000,
        },
    }


def _needed(
    method: str, options: Mapping[str, Any], sizes: Sequence[int], groups: Sequence[int]
) -> tuple[float, int, float]:
    """Seconds to fit, how many tables are counted, bytes to fit."""
    columns, rounds, degree = len(sizes), options.get("rounds") or 1, options.get("degree") or 2
    pairs = comb(columns, 2)
    match method:
        case "pairs" | "tree":
            moved, each = (pairs, _FITTED_BYTES) if method == "pairs" else (columns - 1, _SCORED_BYTES)
            held = each * tables_within(groups, 2)[1] + 2 * _RECORD_BYTES * columns
            return 0.02 * (columns + moved), columns + pairs, held
        case "aim":
            tables, cells = tables_within(groups, degree)
            seconds = rounds * (0.003 * (columns + rounds / 2) + 2e-8 * cells)
            return seconds, columns + rounds * tables, _SCORED_BYTES * cells + 2 * _RECORD_BYTES * columns
        case "mwem":
            cells = prod(sizes)
            return 3e-6 * rounds**2 * cells, rounds * 2**columns, 8.0 * cells * (columns + 2 * rounds)
        case "privbayes":
            return 0.02 * columns, comb(columns + degree, degree + 2), 2 * _RECORD_BYTES * columns
        case _:
            steps = options.get("steps") or rounds
            passes = steps / (options.get("batches") or 64) if "steps" in options else rounds
            return 0.15 * steps, columns + round(_PASS * passes), 2 * _RECORD_BYTES * columns
