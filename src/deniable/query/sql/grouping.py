"""GROUP BY as lists of expressions: positions and aliases looked up, ROLLUP, CUBE and GROUPING SETS written out.

Several terms multiply, as the standard says: `GROUP BY a, ROLLUP (b, c)` has the sets (a, b, c), (a, b) and (a).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

from sqlglot import exp

from deniable.query.sql.env import own_aggregates
from deniable.query.sql.source import FromClause, refused

_MOST_SETS = 64
"""More grouping sets than this are refused: each is measured and shares the price."""

Terms = tuple[exp.Expression, ...]


def one_set(select: exp.Expression, source: FromClause, sets: Sequence[Terms], reason: str, rewrite: str) -> Terms:
    """The only grouping set of a SELECT; several are refused for this reason."""
    if len(sets) != 1:
        raise refused(select.args["group"], source.text, "grouping-sets", reason, rewrite)
    return sets[0]


def grouping_sets(select: exp.Expression, source: FromClause) -> list[Terms]:
    """The grouping sets of a SELECT, each a tuple of expressions; one, empty, when it does not group."""
    group = select.args.get("group")
    if group is None:
        return [()]
    if group.args.get("all"):
        return [tuple(each.unalias() for each in select.expressions if not own_aggregates(each))]
    reading = _Reading(select, source)
    parts = [reading.sets(term) for term in group.expressions]
    for name in ("rollup", "cube", "grouping_sets"):
        for node in group.args.get(name) or ():
            if not isinstance(node, exp.Expression) or not node.expressions:  # GROUP BY a, b WITH ROLLUP
                parts = [_rolled(name, [each[0] for each in parts])] if all(len(each) == 1 for each in parts) else []
            else:
                parts.append(reading.sets(node))
    if not parts or any(value for name, value in group.args.items() if name not in _READ):
        raise refused(
            group, source.text, "grouping-sets", "this form of GROUP BY is not answered", "GROUP BY ROLLUP (a, b)"
        )
    reading.checked_count([len(part) for part in parts])
    found = [_together(chosen) for chosen in product(*parts)]
    if len({frozenset(term.sql() for term in each) for each in found}) != len(found):
        raise refused(group, source.text, "grouping-sets", "a grouping set stands there twice", "name each set once")
    return found


_READ = {"expressions", "all", "rollup", "cube", "grouping_sets"}


def _together(parts: Sequence[Terms]) -> Terms:
    """All terms of several sets, each once."""
    return tuple({term.sql(): term for part in parts for term in part}.values())


def _rolled(kind: str, parts: Sequence[Terms]) -> list[Terms]:
    """The sets of a ROLLUP or CUBE over these parts."""
    if kind == "rollup":
        chosen: list[Any] = [parts[:size] for size in range(len(parts), -1, -1)]
    else:
        chosen = [each for size in range(len(parts), -1, -1) for each in combinations(parts, size)]
    return [_together(each) for each in chosen]


class _Reading:
    """Reads one element of a GROUP BY after another."""

    def __init__(self, select: exp.Expression, source: FromClause) -> None:
        self._select, self._source = select, source

    def sets(self, node: Any) -> list[Terms]:
        """The sets one element stands for."""
        if isinstance(node, exp.GroupingSets):
            return [each for inner in node.expressions for each in self.sets(inner)]
        if isinstance(node, exp.Rollup | exp.Cube):
            parts = [self.sets(inner)[0] for inner in node.expressions]
            if isinstance(node, exp.Cube):
                self.checked_count([2] * len(parts))
            return _rolled("rollup" if isinstance(node, exp.Rollup) else "cube", parts)
        if isinstance(node, exp.Tuple):
            return [_together([self.sets(inner)[0] for inner in node.expressions])]
        if isinstance(node, exp.Paren):
            return self.sets(node.this)
        return [(self._term(node),)]

    def checked_count(self, sizes: Sequence[int]) -> None:
        """Refuse more sets than are answered, before they are written out."""
        count = 1
        for size in sizes:
            count *= size
            if count > _MOST_SETS:
                raise refused(
                    self._select.args["group"], self._source.text, "grouping-sets",
                    f"a query may have {_MOST_SETS} grouping sets", "name the sets you need: GROUPING SETS ((a, b), (a), ())",
                )  # fmt: skip

    def _term(self, term: exp.Expression) -> exp.Expression:
        select, source = self._select, self._source
        if isinstance(term, exp.Literal) and not term.is_string:
            place = int(term.this) if term.this.isdigit() else 0
            if not 1 <= place <= len(select.expressions):
                raise refused(
                    term, source.text, "bad-position", f"GROUP BY {term.this}: there is no such column in SELECT"
                )
            term = select.expressions[place - 1].unalias()
        elif isinstance(term, exp.Column) and not term.table and not source.found(term):
            for expression in select.expressions:
                if expression.alias.lower() == term.name.lower():
                    term = expression.unalias()
                    break
        if own_aggregates(term):
            raise refused(
                term, source.text, "group-by-aggregate", "an aggregate cannot be grouped by", "group by columns"
            )
        return term
