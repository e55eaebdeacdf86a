"""A junction tree: cliques of columns, small enough to hold a table each, in which measured tables are met exactly.

Cliques are those of a triangulated graph of the tables' columns, so the law of largest entropy with these tables as margins is a
product of clique tables over the tables they share; records are drawn from it in closed form. `docs/theory/clique-trees.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from deniable.synth.fitted.agreement import Places
from deniable.synth.fitted.pair_choice import spanning_tree
from deniable.synth.fitted.record_model import Codes, Floats, conditional
from deniable.synth.fitted.twin_randomness import WordSource, rounded, shuffled

Goal = tuple[Places, Floats]
_SWEEPS = 20
_DAMPING = 0.7
_TINY = 1e-9
_ENOUGH = 0.0005
_REFUSALS = 200
"""After so many tables that do not fit no more are tried."""


@dataclass(frozen=True, slots=True, eq=False)
class CliqueTree:
    """Cliques with their tables, which add up to one; `links` lead from each clique to those met after it, parents first."""

    cliques: tuple[Places, ...]
    links: tuple[tuple[int, int], ...]
    tables: list[Floats]

    @property
    def roots(self) -> list[int]:
        """One clique of every part that nothing joins to another."""
        children = {child for _, child in self.links}
        return [each for each in range(len(self.cliques)) if each not in children]

    def margin(self, clique: int, kept: set[int]) -> Floats:
        """The table of some of a clique's columns."""
        rest = tuple(axis for axis, place in enumerate(self.cliques[clique]) if place not in kept)
        return np.asarray(self.tables[clique].sum(axis=rest))


def _send(tree: CliqueTree, source: int, target: int) -> None:
    """Give a clique the table of what it shares with its neighbour."""
    shared = set(tree.cliques[source]) & set(tree.cliques[target])
    told, held = tree.margin(source, shared), tree.margin(target, shared)
    ratio = np.divide(told, held, out=np.zeros_like(told), where=held > 0)
    tree.tables[target][...] *= _spread(ratio, tree.cliques[target], shared)


def fitting(goals: Sequence[Goal], sizes: Sequence[int], most: int) -> tuple[list[Goal], list[Places]]:
    """Those of the tables that a tree holds, and its cliques: one-way tables, then the others in the order given, while the cliques
    have at most so many cells together or a table adds no more than its own; last, tables of columns that nothing joins yet."""
    kept = [goal for goal in goals if len(goal[0]) == 1]
    scopes: list[Places] = []
    left: list[Goal] = []
    held = cliques(scopes, sizes)
    for goal in filter(_joins, (_without_constants(goal, sizes) for goal in goals)):
        asked: list[Places] | None = held
        if not any(map(set(goal[0]).issubset, held)):
            asked = cliques([*scopes, goal[0]], sizes) if len(left) < _REFUSALS else None
        if asked and _size(asked, sizes) <= max(most, _size(held, sizes) + goal[1].size):
            scopes.append(goal[0])
            kept.append(goal)
            held = asked
        else:
            left.append(goal)
    joining, held = _joining(left, held)
    return [*kept, *joining], held


def _joins(goal: Goal) -> bool:
    return len(goal[0]) > 1


def _without_constants(goal: Goal, sizes: Sequence[int]) -> Goal:
    """The table without its columns of one group, which say nothing; an array has no room for many of them."""
    places = tuple(place for place in goal[0] if sizes[place] > 1)
    return places, goal[1].reshape([sizes[place] for place in places])


def _joining(goals: Sequence[Goal], held: Sequence[Places]) -> tuple[list[Goal], list[Places]]:
    """Those of the tables whose columns are all in different parts of the forest: each is a clique of its own, and nothing else."""
    part = {place: place for clique in held for place in clique}
    for clique in held:
        _join(part, clique)
    kept, found = [], list(held)
    for places, table in goals:
        if len({part[place] for place in places}) == len(places):
            _join(part, places)
            kept.append((places, table))
            found = [clique for clique in found if not set(clique) <= set(places)] + [places]
    return kept, found


def _join(part: dict[int, int], places: Places) -> None:
    """Make one part of the parts that these columns are in."""
    one, joined = part[places[0]], {part[place] for place in places}
    part.update({place: one for place, each in part.items() if each in joined})


def cells(scopes: Sequence[Places], sizes: Sequence[int]) -> int:
    """How many cells the cliques have together in which tables of these columns lie."""
    return _size(cliques(scopes, sizes), sizes)


def _size(found: Sequence[Places], sizes: Sequence[int]) -> int:
    return sum(prod(sizes[place] for place in clique) for clique in found)


def fitted_tree(goals: Sequence[Goal], held: Sequence[Places], sizes: Sequence[int]) -> CliqueTree:
    """The tree of these cliques, which hold these tables, each met as nearly as the others allow."""
    tree = even_tree(held, sizes)
    asked: list[list[tuple[Places, Floats]]] = [[] for _ in tree.cliques]
    for places, table in goals:
        within = [each for each, clique in enumerate(tree.cliques) if set(places) <= set(clique)]
        home = min(within, key=lambda each: tree.tables[each].size)
        asked[home].append((places, _shares(table)))
    walk, last = _walk(tree), np.inf
    for sweep in range(_SWEEPS):
        gap = max(_swept(tree, asked, root, steps, 1.0 if sweep == 0 else _DAMPING) for root, steps in walk)
        if gap <= _ENOUGH or (sweep and last - gap < _ENOUGH * gap):
            break
        last = gap
    for parent, child in tree.links:
        _send(tree, parent, child)
    return tree


def _swept(tree: CliqueTree, asked: Sequence[Sequence[Goal]], root: int, steps: Places, damping: float) -> float:
    """Meet all tables, clique after clique, each told what has changed around it; the largest distance (TVD) that was found."""
    gap, here, seen = _met(tree, asked[root], root, damping), root, {root}
    for target in steps:
        _send(tree, here, target)
        if target not in seen:
            seen.add(target)
            gap = max(gap, _met(tree, asked[target], target, damping))
        here = target
    return gap


def _met(tree: CliqueTree, goals: Sequence[Goal], clique: int, damping: float) -> float:
    """Multiply a clique's cells by what each of its tables should hold over what it holds."""
    gap = 0.0
    for places, goal in goals:
        held = tree.margin(clique, set(places))
        gap = max(gap, float(np.abs(goal - held).sum()) / 2)
        ratio = ((goal + _TINY) / (held + _TINY)) ** damping
        tree.tables[clique] *= _spread(ratio, tree.cliques[clique], set(places))
    tree.tables[clique] /= tree.tables[clique].sum()
    return gap


def _walk(tree: CliqueTree) -> list[tuple[int, Places]]:
    """For every root the way through its part and back: each step goes to a neighbour."""
    below: dict[int, list[int]] = {each: [] for each in range(len(tree.cliques))}
    for parent, child in tree.links:
        below[parent].append(child)
    found = []
    for root in tree.roots:
        steps: list[int] = []
        open_: list[tuple[int, bool]] = [(child, True) for child in reversed(below[root])]
        above = {child: parent for parent, child in tree.links}
        while open_:
            clique, down = open_.pop()
            if not down:
                steps.append(above[clique])
                continue
            steps.append(clique)
            open_.append((clique, False))
            open_ += [(child, True) for child in reversed(below[clique])]
        found.append((root, tuple(steps)))
    return found


def even_tree(held: Sequence[Places], sizes: Sequence[int]) -> CliqueTree:
    """The tree of these cliques, all cells alike."""
    pairs = list(combinations(range(len(held)), 2))
    shared = [float(len(set(held[a]) & set(held[b]))) for a, b in pairs]
    near: dict[int, list[int]] = {each: [] for each in range(len(held))}
    for each in spanning_tree(pairs, shared, len(held)):
        if shared[each]:
            first, second = pairs[each]
            near[first].append(second)
            near[second].append(first)
    links: list[tuple[int, int]] = []
    seen: set[int] = set()
    for root in near:
        open_ = [] if root in seen else [root]
        while open_:
            clique = open_.pop()
            seen.add(clique)
            after = [each for each in near[clique] if each not in seen]
            links += [(clique, each) for each in after]
            open_ += after
    tables = [np.full([sizes[p] for p in clique], 1 / prod(sizes[p] for p in clique)) for clique in held]
    return CliqueTree(tuple(held), tuple(links), tables)


def cliques(scopes: Sequence[Places], sizes: Sequence[int]) -> list[Places]:
    """The cliques of the graph in which columns of one table are joined: one column after another is taken out of it, and its
    neighbours are joined; first those with one neighbour or none, so that of a tree nothing is joined, then the one whose
    neighbours make the smallest table. A column of one group is a clique by itself."""
    near: dict[int, set[int]] = {place: {place} for place in range(len(sizes))}
    for scope in scopes:
        wide = {place for place in scope if sizes[place] > 1}
        for place in wide:
            near[place] |= wide
    held = {place: prod(sizes[each] for each in around) for place, around in near.items()}
    found: list[set[int]] = []
    while near:
        place = min(near, key=lambda each: (len(near[each]) > 2, held[each], each))
        clique = near.pop(place)
        if not any(map(clique.issubset, found)):
            found.append(clique)
        for each in clique - {place}:
            held[each] = held[each] // sizes[place] * prod(sizes[other] for other in clique - near[each])
            near[each] = (near[each] | clique) - {place}
    return [tuple(sorted(clique)) for clique in found]


def tree_records(tree: CliqueTree, count: int, source: WordSource) -> tuple[list[Codes], Floats]:
    """Records and their weights: so many alike, or where one clique has all columns and fewer cells, each of its cells."""
    if len(tree.cliques) == 1 and tree.tables[0].size <= count:
        grid = np.indices(tree.tables[0].shape).reshape(tree.tables[0].ndim, -1)
        return [column.astype(np.int64) for column in grid], tree.tables[0].ravel().copy()
    columns: dict[int, Codes] = {}
    for clique in [*tree.roots, *(child for _, child in tree.links)]:
        _draw(columns, tree.cliques[clique], tree.tables[clique], count, source)
    return [columns[place] for place in sorted(columns)], np.full(count, 1 / count)


def _draw(columns: dict[int, Codes], clique: Places, table: Floats, count: int, source: WordSource) -> None:
    """The columns of a clique that no earlier one had, given those that one had."""
    known = [axis for axis, place in enumerate(clique) if place in columns]
    new = [axis for axis in range(len(clique)) if axis not in known]
    given = np.zeros(count, dtype=np.int64)
    for axis in known:
        given = given * table.shape[axis] + columns[clique[axis]]
    chances = np.transpose(table, [*known, *new]).reshape(prod(table.shape[axis] for axis in known), -1)
    if known:
        chances = np.where(chances.sum(axis=1, keepdims=True) > 0, chances, chances.sum(axis=0, keepdims=True))
        drawn = conditional(given, chances, source)
    else:
        drawn = np.repeat(np.arange(chances.size), rounded(chances.ravel(), count, source))[shuffled(count, source)]
    for axis in reversed(new):
        columns[clique[axis]] = drawn % table.shape[axis]
        drawn = drawn // table.shape[axis]


def _shares(table: Floats) -> Floats:
    total = float(table.sum())
    return table / total if total > 0 else np.full(table.shape, 1 / table.size)


def _spread(values: Floats, clique: Places, kept: set[int]) -> Floats:
    """Values of some of a clique's columns, in rising order, in the clique's shape."""
    shape = iter(values.shape)
    return np.asarray(values.reshape([next(shape) if place in kept else 1 for place in clique]))
