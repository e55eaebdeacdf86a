"""Rows that are public or made up: a data set to rehearse on, whose exact answers may be looked at.

What a bound on contributions loses cannot be seen without the exact answer, so it can be shown here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.accounting import budget
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, shown
from deniable.query import CompiledQuery, Price, Query, compile_query
from deniable.query.aggregates import Plain
from deniable.query.columns import SliceColumn
from deniable.release.answer import Release
from deniable.release.bounds_view import BoundCandidate, BoundsView
from deniable.release.dataset import Dataset
from deniable.release.session import Session

_UNBOUNDED = 2**20
"""More groups and rows than one unit has."""


class Rehearsal(Dataset):
    """A data set of public or made-up rows; `Dataset.dummy` makes one from a codebook alone.

    Guarantee: none for these rows: `bounds_view` shows exact facts about them. Never give it private rows.
    """

    def bounds_view(
        self,
        ask: Callable[[Session], Query[Release]],
        *,
        groups: Sequence[int] | None = None,
        rows: Sequence[int] | None = None,
        total: Sequence[int] | None = None,
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real = Fraction(1, 10**6),
    ) -> BoundsView:
        """What each candidate bound would lose and what its noise would be, for a question's first count or sum.

        `ask` makes the question from a session, such as `lambda s: s.query().group_by("ward").agg(n=dp.count())`; one of
        `groups`, `rows` and `total` lists the candidates.
        """
        given = {"groups": groups, "rows": rows, "total": total}
        chosen = [(name, values) for name, values in given.items() if values is not None]
        if len(chosen) != 1:
            raise InvalidArgument("give the candidates of one bound: groups=, rows= or total=")
        name, candidates = chosen[0]
        session = self.session(budget(epsilon=10**6, delta=delta) if rho is None else budget(rho=10**6, delta=delta))
        question = _question(ask, session)
        base = {} if name == "total" else {"groups": question.groups, "rows": question.rows}
        truth = self._exact(question.bound(groups=_UNBOUNDED, rows=_UNBOUNDED))
        found = []
        for candidate in candidates:
            bounded = question.bound(**{**_only(base), name: candidate})
            if name == "total":
                bounded = bounded.bound(groups=candidate, rows=candidate)
            price = bounded.price(epsilon=epsilon, rho=rho, delta=None if rho is not None else delta)
            found.append(_compared(candidate, self._exact(bounded), truth, price, compile_query(bounded, self.unit)))
        return BoundsView(name, question.aggregates[0][0], tuple(found))

    def _exact(self, question: Query[Release]) -> Mapping[tuple[Any, ...], Fraction]:
        """The exact answer of every group that has rows."""
        compiled = compile_query(question, self.unit)
        column = _column(compiled)
        result = self._engine.run(compiled.plan)
        groups = zip(*(result.keys[name] for name in compiled.keys.names), strict=True) if compiled.keys.names else [()]
        values = [int(count) * compiled.steps[column] for count in result.columns[column]]
        return dict(zip(groups, values, strict=True))


def _question(ask: Callable[[Session], Query[Release]], session: Session) -> Query[Release]:
    question = ask(session) if callable(ask) else None
    if not (isinstance(question, Query) and question.runner is session):
        raise InvalidArgument(
            f"ask must make a query of the session it is given, such as lambda s: s.query(), got {shown(ask)}"
        )
    return question


def _only(bounds: Mapping[str, int | None]) -> dict[str, int]:
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _column(compiled: CompiledQuery) -> str:
    name, output = compiled.outputs[0]
    if not isinstance(output, Plain) or len(compiled.slices) > 1:
        raise InvalidArgument(f"{name}: bounds are viewed for a count or a sum, without totals")
    return output.column


def _compared(
    bound: int,
    kept: Mapping[tuple[Any, ...], Fraction],
    truth: Mapping[tuple[Any, ...], Fraction],
    price: Price,
    compiled: CompiledQuery,
) -> BoundCandidate:
    groups = sorted(truth, key=repr)
    true = np.array([float(truth[group]) for group in groups])
    bias = np.array([float(kept.get(group, 0)) for group in groups]) - true
    noise = price.allocation.noises[SliceColumn(_column(compiled))]
    return BoundCandidate.of(bound, true, bias, noise, float(compiled.steps[_column(compiled)]))
