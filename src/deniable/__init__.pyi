"""Made by `python -m docs.stub` from the table in `__init__.py`."""

from deniable import accounting as accounting
from deniable import attacks as attacks
from deniable import audit as audit
from deniable import calculus as calculus
from deniable import cost as costs
from deniable import errors as errors
from deniable import ledger as ledger
from deniable import models as models
from deniable import noise as noise
from deniable.accounting import Bracket as Bracket
from deniable.accounting import Budget as Budget
from deniable.accounting import budget as budget
from deniable.accounting import calibrate as calibrate
from deniable.accounting import delta as delta
from deniable.accounting import detection_power as detection_power
from deniable.accounting import epsilon as epsilon
from deniable.accounting import explain as explain
from deniable.accounting import implied_guarantee as implied_guarantee
from deniable.accounting import loss_distribution as loss_distribution
from deniable.accounting import odds as odds
from deniable.accounting import per_query as per_query
from deniable.accounting import posterior as posterior
from deniable.accounting import profile as profile
from deniable.accounting import tradeoff as tradeoff
from deniable.accounting import truth_probability as truth_probability
from deniable.cli.notebook import load_ipython_extension as load_ipython_extension
from deniable.deciding import choose_epsilon as choose_epsilon
from deniable.deciding import dossier as dossier
from deniable.engines.text.file import TextFile as TextFile
from deniable.errors import DeniableError as DeniableError
from deniable.ledger.receipt import Receipt as Receipt
from deniable.plan.codebook import Codebook as Codebook
from deniable.plan.smartnoise import from_smartnoise as from_smartnoise
from deniable.plan.unit import row_unit as row_unit
from deniable.plan.unit import unit as unit
from deniable.query.aggregates import correlation as correlation
from deniable.query.aggregates import count as count
from deniable.query.aggregates import count_distinct as count_distinct
from deniable.query.aggregates import covariance as covariance
from deniable.query.aggregates import histogram as histogram
from deniable.query.aggregates import maximum as maximum
from deniable.query.aggregates import mean as mean
from deniable.query.aggregates import median as median
from deniable.query.aggregates import minimum as minimum
from deniable.query.aggregates import mode as mode
from deniable.query.aggregates import quantile as quantile
from deniable.query.aggregates import std as std
from deniable.query.aggregates import sum as sum
from deniable.query.aggregates import top_k as top_k
from deniable.query.aggregates import variance as variance
from deniable.release.answer import Release as Release
from deniable.release.dataset import Dataset as Dataset
from deniable.release.dataset import Rehearsal as Rehearsal
from deniable.release.release_table import extended_release_table as extended_release_table
from deniable.release.release_table import release_table as release_table
from deniable.release.session import Session as Session
from deniable.release.value import ValueRelease as ValueRelease
from deniable.server.client import connect as connect
from deniable.version import __version__ as __version__

__all__ = [
    "Bracket",
    "Budget",
    "Codebook",
    "Dataset",
    "DeniableError",
    "Receipt",
    "Rehearsal",
    "Release",
    "Session",
    "TextFile",
    "ValueRelease",
    "__version__",
    "accounting",
    "attacks",
    "audit",
    "budget",
    "calculus",
    "calibrate",
    "choose_epsilon",
    "connect",
    "correlation",
    "costs",
    "count",
    "count_distinct",
    "covariance",
    "delta",
    "detection_power",
    "dossier",
    "epsilon",
    "errors",
    "explain",
    "extended_release_table",
    "from_smartnoise",
    "histogram",
    "implied_guarantee",
    "ledger",
    "load_ipython_extension",
    "loss_distribution",
    "maximum",
    "mean",
    "median",
    "minimum",
    "mode",
    "models",
    "noise",
    "odds",
    "per_query",
    "posterior",
    "profile",
    "quantile",
    "release_table",
    "row_unit",
    "std",
    "sum",
    "top_k",
    "tradeoff",
    "truth_probability",
    "unit",
    "variance",
]
