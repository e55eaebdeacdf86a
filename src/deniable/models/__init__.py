"""Estimators that are charged once, exact to the last bit, and stored with their release: `dp.models`."""

from deniable.models.additive import AdditiveModel, FittedAdditive
from deniable.models.clusters import FittedClusters, KMeans
from deniable.models.components import PCA, FittedComponents
from deniable.models.linear import FittedLinear, LinearRegression
from deniable.models.logistic import FittedLogistic, LogisticRegression
from deniable.models.naive_bayes import FittedNaiveBayes, NaiveBayes
from deniable.models.network import Network
from deniable.models.scores import Score
from deniable.models.training import FittedNetwork, Training
from deniable.models.trees import DecisionTree, FittedTrees, RandomForest

__all__ = [
    "PCA",
    "AdditiveModel",
    "DecisionTree",
    "FittedAdditive",
    "FittedClusters",
    "FittedComponents",
    "FittedLinear",
    "FittedLogistic",
    "FittedNaiveBayes",
    "FittedTrees",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "NaiveBayes",
    "FittedNetwork",
    "Network",
    "Training",
    "RandomForest",
    "Score",
]
