"""Estimators that are charged once, exact to the last bit, and stored with their release: `dp.models`."""

from __future__ import annotations

from typing import Any

from deniable.errors import InvalidArgument
from deniable.lazy import named_module
from deniable.models.additive_model import AdditiveModel, FittedAdditive
from deniable.models.clusters import FittedClusters, KMeans
from deniable.models.components import PCA, FittedComponents
from deniable.models.cross_validation import FoldScores
from deniable.models.fitted_linear import FittedLinear
from deniable.models.fitted_logistic import FittedLogistic
from deniable.models.fitted_trees import FittedTrees
from deniable.models.image_layer import Convolution, Embedding
from deniable.models.linear import LinearRegression
from deniable.models.logistic import LogisticRegression
from deniable.models.naive_bayes import FittedNaiveBayes, NaiveBayes
from deniable.models.network import Network
from deniable.models.private_scores import Score
from deniable.models.recommend import Recommendation, recommend
from deniable.models.teachers import Labels, Teachers
from deniable.models.training import FittedNetwork, Training
from deniable.models.trees import DecisionTree, RandomForest

named_module(__name__)


def for_sklearn(model: Any, *, codebook: Any, ledger: str, epsilon: float, **terms: Any) -> Any:
    """The estimator for scikit-learn: `fit(X, y)` charges `epsilon` to the ledger at `ledger` (needs scikit-learn).

    Further terms: `delta` of each fit, `budget_epsilon` and `budget_delta` of the ledger, if it is new.

    Guarantee: clones and copies pay from the same ledger; folds by position are refused unless the unit is a changed row.
    """
    try:
        from deniable.models.sklearn_adapter import SklearnAdapter
    except ImportError:
        raise InvalidArgument(
            "this needs scikit-learn: pip install 'deniable[models]', or use the model's own fit(session, epsilon=...)"
        ) from None
    return SklearnAdapter(model=model, codebook=codebook, ledger=ledger, epsilon=epsilon, **terms)


__all__ = [
    "PCA",
    "AdditiveModel",
    "Convolution",
    "DecisionTree",
    "Embedding",
    "FittedAdditive",
    "FittedClusters",
    "FittedComponents",
    "FittedLinear",
    "FittedLogistic",
    "FittedNaiveBayes",
    "FittedNetwork",
    "FittedTrees",
    "FoldScores",
    "KMeans",
    "Labels",
    "LinearRegression",
    "LogisticRegression",
    "NaiveBayes",
    "Network",
    "RandomForest",
    "Recommendation",
    "Score",
    "Teachers",
    "Training",
    "for_sklearn",
    "recommend",
]
