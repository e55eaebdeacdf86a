"""An estimator for scikit-learn: `fit` charges a ledger. scikit-learn is an extra; this file is imported when it is asked for.

It holds the place of a ledger, not a budget: clones, pickles and copies in other processes all pay from the same one.
Cross-validation deals rows to folds by their position. Where a row may be added or removed that moves every later row to another
fold, so clones are refused there; where rows are changed in place (the unit "changed rows") folds are sound, and fits are charged.
It has no tag of a classifier: folds would be dealt by class then, and one changed label would move other rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from deniable.cost import Neighbours
from deniable.errors import InvalidArgument
from deniable.models.estimator import Estimator
from deniable.plan.codebook import Codebook


class SklearnAdapter(BaseEstimator):  # type: ignore[misc]
    """One of our estimators with scikit-learn's `fit(X, y)`, `predict` and `predict_proba`. Made by `dp.models.for_sklearn`.

    Guarantee: every `fit` is charged to the ledger at `ledger` before a row is read, whoever made the copy that fits.
    """

    def __init__(
        self,
        model: Estimator | None = None,
        codebook: Any = None,
        ledger: str | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        budget_epsilon: float | None = None,
        budget_delta: float = 0.0,
    ) -> None:
        self.model = model
        self.codebook = codebook
        self.ledger = ledger
        self.epsilon = epsilon
        self.delta = delta
        self.budget_epsilon = budget_epsilon
        self.budget_delta = budget_delta

    def fit(self, X: Any, y: Any) -> SklearnAdapter:
        """Fit the model on a frame `X` and the target `y`, and charge the ledger."""
        from deniable import Dataset, budget

        model, book = self._model(), self._book()
        frame = {**_columns(X), model.target: _cells(y)}
        whole = budget(epsilon=self.budget_epsilon, delta=self.budget_delta)
        session = Dataset(frame, codebook=book).session(whole, ledger=self.ledger)
        # every fit has rows of its own, so it is a question of its own: its recipe is not that of the same model on other rows
        asked = model.family(book).post(_same)
        self.fitted_ = session.release(asked, epsilon=self.epsilon, delta=self.delta)
        self.n_features_in_ = len(self.fitted_.features)
        if self.fitted_.classes:
            self.classes_ = np.array(self.fitted_.classes)
        return self

    def predict(self, X: Any) -> Any:
        """Predictions for public rows."""
        check_is_fitted(self, "fitted_")
        return np.asarray(self.fitted_.predict(X))

    def predict_proba(self, X: Any) -> Any:
        """The chance of each class for public rows."""
        check_is_fitted(self, "fitted_")
        return self.fitted_.probabilities(X)

    def score(self, X: Any, y: Any) -> float:
        """Accuracy, or the share of variance explained, on public rows; on private rows use session.score."""
        found, truth = self.predict(X), np.asarray(y)
        if self.fitted_.classes:
            return float((found == truth).mean())
        return float(1 - ((found - truth) ** 2).sum() / max(float(((truth - truth.mean()) ** 2).sum()), 1e-300))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def __sklearn_clone__(self) -> SklearnAdapter:
        unit = self._book().unit
        if unit is None or unit.neighbours is not Neighbours.REPLACE:
            raise InvalidArgument(
                "folds by position are sound only for the unit 'changed rows': one row more would move all others to other folds; "
                "session.cross_validate makes folds by a keyed hash of the unit, under one charge"
            )
        return type(self)(**self.get_params(deep=False))

    def _model(self) -> Estimator:
        if not isinstance(self.model, Estimator):
            raise InvalidArgument(
                f"model must be an estimator of dp.models with a target, got {type(self.model).__name__}"
            )
        if self.ledger is None or self.epsilon is None or self.budget_epsilon is None:
            raise InvalidArgument("give ledger=, epsilon= (for each fit) and budget_epsilon= (for all of them)")
        return self.model

    def _book(self) -> Codebook:
        if isinstance(self.codebook, Codebook):
            return self.codebook
        if self.codebook is None:
            raise InvalidArgument("give codebook=, the place of the codebook's YAML file")
        return Codebook.load(self.codebook)


def _same(fitted: Any) -> Any:
    return fitted


def _cells(column: Any) -> list[Any]:
    """The cells of a column, each read by itself: an array of a plain list would give all of them one type, also by one row's."""
    if hasattr(column, "tolist"):
        return list(column.tolist())
    if isinstance(column, str) or not hasattr(column, "__iter__"):
        raise InvalidArgument(f"y must be a column of targets, one for each row, got a {type(column).__name__}")
    return list(column)


def _columns(frame: Any) -> dict[str, list[Any]]:
    if isinstance(frame, Mapping):
        return {str(name): list(column) for name, column in frame.items()}
    if not hasattr(frame, "columns"):
        raise InvalidArgument("X must be a frame with named columns, as the codebook names them")
    return {str(name): list(frame[name].tolist()) for name in frame.columns}
