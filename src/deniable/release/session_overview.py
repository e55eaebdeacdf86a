"""Several questions at once: a workload under one charge, a first look, a choice of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable.exact.guards import Real
from deniable.query import LawName, Query
from deniable.release.session_mechanisms import MechanismSession

if TYPE_CHECKING:
    from deniable.release.first_look import FirstLook
    from deniable.release.slice_choice import SliceChoice
    from deniable.release.workload import Workload


class OverviewVerbs(MechanismSession):
    """Verbs of a session that ask more than one thing."""

    def workload(
        self,
        questions: Mapping[str, Query[Any]],
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        by: str = "even",
        weights: Mapping[str, Real] | None = None,
        wanted: Mapping[str, Any] | None = None,
        locked: Mapping[str, Real] | None = None,
        delta: Real | None = None,
        law: LawName | None = None,
        group_size: int = 1000,
        confidence: Real = Fraction(19, 20),
    ) -> Workload:
        """Several questions under one budget: one table of prices, one charge, all released or none.

        `by` is "even", "weights" (parts in `weights`) or "accuracy": `wanted` gives errors as numbers or as shares such as "5%" (of
        `group_size` rows for counts and sums, of the width of the bounds for means), and what is left goes evenly to the others.
        `locked` fixes what some questions get. Nothing is spent before `.release()`.
        """
        from deniable.release.workload import plan_workload

        options = {"delta": delta, "law": law, "group_size": group_size, "confidence": confidence}
        return plan_workload(
            self,
            questions,
            by=by,
            options=options,
            epsilon=epsilon,
            rho=rho,
            weights=weights,
            wanted=wanted,
            locked=locked,
        )

    def describe(
        self,
        table: str | None = None,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        share: Real | None = None,
        request: str | None = None,
    ) -> FirstLook:
        """A first look at a table: rows, present values, quartiles, histograms and counts by key, for one small price.

        The price is `epsilon`, `rho`, or a `share` of what is left. Guarantee: one charge of at most that, before data is read.
        """
        from deniable.release.first_look import first_look

        return first_look(self, paid={"epsilon": epsilon, "rho": rho, "share": share}, table=table, request=request)

    def slices(
        self,
        candidates: Sequence[str],
        *,
        choose: str,
        epsilon: Real,
        slices: int = 50,
        table: str | None = None,
        request: str | None = None,
    ) -> SliceChoice:
        """Choose privately which of these columns to look at: `session.slices(["sex", "region"], choose="income by",
        epsilon=0.05)`.

        The people are spread over random slices; each slice votes for the column by which the mean of the named value differs most.

        Guarantee: one unit moves one vote; the choice is an exponential mechanism over the votes, charged first.
        """
        from deniable.release.slice_choice import choose_by_slices

        return choose_by_slices(
            self, candidates, choose=choose, epsilon=epsilon, slices=slices, table=table, request=request
        )
