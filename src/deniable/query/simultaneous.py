"""Errors that hold for all numbers of an answer at once: the error probability shared among its cells.

Numbers with noises of their own are independent, so n of them all keep to errors that each fails with probability
1 - (1 - beta)^(1/n), exactly. Numbers that share a noise, and totals that were fitted together, get a union bound.
`docs/theory/simultaneous-errors.md` has the proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import prod

from deniable.errors import QueryRefused
from deniable.exact import expm1, ln
from deniable.query.compile import CompiledQuery
from deniable.query.measurements import Slice


def simultaneous_betas(compiled: CompiledQuery, beta: Fraction) -> Mapping[str, Fraction]:
    """How often each cell of each output may fail so that all cells of the answer hold with probability at least 1 - beta."""
    if any(part.observed for part in compiled.slices):
        raise QueryRefused(
            "observed-keys",
            "errors for all groups at once need the number of groups, and these keys come from the data",
            rewrite="declare the key's categories in the codebook, or list them with values=",
        )
    cells = {name: len(output.bin_names or ("",)) for name, output in compiled.outputs}
    groups = [_groups(compiled, part) for part in compiled.slices]
    if len(groups) > 1 or compiled.whole:
        each = beta / (sum(groups) * sum(cells.values()))
        return dict.fromkeys(cells, each)
    families = _families(compiled)
    events = groups[0] * sum(cells[family[0]] if len(family) == 1 else 1 for family in families)
    alone = _independent(beta, events)
    return {
        name: alone if len(family) == 1 else alone / sum(cells[each] for each in family)
        for family in families
        for name in family
    }


def _groups(compiled: CompiledQuery, part: Slice) -> int:
    """How many groups a declared level has."""
    return prod(len(key.domain or ()) for key in compiled.keys.columns if key.name in part.level)


def _families(compiled: CompiledQuery) -> list[list[str]]:
    """Outputs that share noisy numbers, directly or through others, stand together; all others alone."""
    families: list[tuple[list[str], set[str]]] = []
    for name, output in compiled.outputs:
        used = {*output.columns, *([output.chosen] if output.chosen is not None else [])}
        joined = [family for family in families if family[1] & used]
        families = [family for family in families if not family[1] & used]
        names = [each for family in joined for each in family[0]]
        families.append(([*names, name], used.union(*(family[1] for family in joined))))
    return [names for names, _ in families]


def _independent(beta: Fraction, events: int) -> Fraction:
    """1 - (1 - beta)^(1/events), rounded down."""
    if events == 1:
        return beta
    return max(beta / events, (-expm1(ln(1 - beta) / events)).rounded(64).lower)
