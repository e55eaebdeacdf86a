"""What a session does with fitted models: private scores, folds, the best of several, teachers that vote."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable.exact.guards import Real
from deniable.release.session_mechanisms import MechanismSession

if TYPE_CHECKING:
    from deniable.models.cross_validation import FoldScores
    from deniable.models.estimator import Estimator, RowsReader
    from deniable.models.fitted import FittedModel
    from deniable.models.private_scores import Score
    from deniable.models.teachers import Teachers


class ModelVerbs(MechanismSession):
    """Scores and choices of models on the rows of a session."""

    def score(
        self,
        model: FittedModel,
        *,
        metric: str,
        table: str | None = None,
        where: str | None = None,
        rows: int | None = None,
        floor: Real = 1,
        confidence: Real = Fraction(19, 20),
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real | None = None,
        request: str | None = None,
    ) -> Score:
        """A private score of a fitted model on this session's rows: accuracy, precision, recall, auc, calibration, mae, mape or r2.

        Who was in the rows the model was fitted on and is in these as well is charged for both; so it is one ledger for both.

        Guarantee: charged before a row is read; the score and its interval come from one noisy table.
        """
        from deniable.models.private_scores import score_family

        asked = score_family(
            self.codebook, model, metric=metric, table=table, where=where, rows=rows, floor=floor, confidence=confidence
        )
        found: Score = self.release(asked, epsilon=epsilon, rho=rho, delta=delta, request=request)
        return found

    def best_of(
        self,
        models: Sequence[RowsReader],
        *,
        score: str,
        tries: Real = 10,
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real | None = None,
        request: str | None = None,
    ) -> Any:
        """The best of about `tries` fits, each of a model drawn from the list, by a private score; one charge for all of it.

        `score` is a metric of `score`, or "calinski_harabasz" for k-means. The model's own score is in its settings.

        Guarantee: losers and the number of tries are not shown; the price is that of private selection from private candidates.
        """
        from deniable.models.best_model import best_family

        asked = best_family(self.codebook, models, score=score, tries=tries)
        return self.release(asked, epsilon=epsilon, rho=rho, delta=delta, request=request)

    def cross_validate(
        self,
        model: RowsReader,
        *,
        score: str,
        folds: int = 5,
        floor: Real = 1,
        confidence: Real = Fraction(19, 20),
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real | None = None,
        request: str | None = None,
    ) -> FoldScores:
        """The mean private score of an estimator over folds of the people, each scored by a model fitted without it; one charge.

        Every fit and every score gets one of `folds` equal shares of the price. `score` is a metric of `score`.

        Guarantee: a unit's fold depends on its keyed hash alone; charged before a row is read, for all fits but one and one score.
        """
        from deniable.models.cross_validation import folds_family

        asked = folds_family(self.codebook, model, score=score, folds=folds, floor=floor, confidence=confidence)
        found: FoldScores = self.release(asked, epsilon=epsilon, rho=rho, delta=delta, request=request)
        return found

    def teachers(self, model: Estimator, *, parts: int) -> Teachers:
        """Teachers of one estimator on disjoint parts of the people, whose noisy votes label public rows (PATE).

        Guarantee: every unit is in one part, by its keyed hash alone; nothing is read before `label` is charged.
        """
        from deniable.models.teachers import Teachers

        return Teachers(self, model, parts)
