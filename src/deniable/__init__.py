"""deniable: publish numbers about people without exposing any one of them (differential privacy in exact arithmetic).

`import deniable as dp` holds what a curator, an analyst or a modeller uses, and the readings of a cost. Spaces, transformations,
mechanisms and compositors live in `dp.calculus`, errors in `dp.errors`. Nothing is loaded before it is used: no engine, no SQL
compiler and no command line come along. Every public name stands once in the table, with the place it lives.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from deniable.version import __version__

_PUBLIC = {
    # rooms
    "accounting": "deniable.accounting",
    "attacks": "deniable.attacks",
    "audit": "deniable.audit",
    "calculus": "deniable.calculus",
    "costs": "deniable.cost",
    "errors": "deniable.errors",
    "ledger": "deniable.ledger",
    "models": "deniable.models",
    "noise": "deniable.noise",
    # private tables: data sets, sessions, what they release
    "Codebook": "deniable.plan.codebook:Codebook",
    "Dataset": "deniable.release.dataset:Dataset",
    "Receipt": "deniable.ledger.receipt:Receipt",
    "Rehearsal": "deniable.release.dataset:Rehearsal",
    "Release": "deniable.release.answer:Release",
    "Session": "deniable.release.session:Session",
    "TextFile": "deniable.engines.text.file:TextFile",
    "ValueRelease": "deniable.release.value:ValueRelease",
    "extended_release_table": "deniable.release.release_table:extended_release_table",
    "from_smartnoise": "deniable.plan.smartnoise:from_smartnoise",
    "load_ipython_extension": "deniable.cli.notebook:load_ipython_extension",
    "release_table": "deniable.release.release_table:release_table",
    "row_unit": "deniable.plan.unit:row_unit",
    "unit": "deniable.plan.unit:unit",
    # aggregates of a table
    "correlation": "deniable.query.aggregates:correlation",
    "count": "deniable.query.aggregates:count",
    "count_distinct": "deniable.query.aggregates:count_distinct",
    "covariance": "deniable.query.aggregates:covariance",
    "histogram": "deniable.query.aggregates:histogram",
    "maximum": "deniable.query.aggregates:maximum",
    "mean": "deniable.query.aggregates:mean",
    "median": "deniable.query.aggregates:median",
    "minimum": "deniable.query.aggregates:minimum",
    "mode": "deniable.query.aggregates:mode",
    "quantile": "deniable.query.aggregates:quantile",
    "std": "deniable.query.aggregates:std",
    "sum": "deniable.query.aggregates:sum",
    "top_k": "deniable.query.aggregates:top_k",
    "variance": "deniable.query.aggregates:variance",
    # budgets and the readings of a cost
    "Bracket": "deniable.accounting:Bracket",
    "Budget": "deniable.accounting:Budget",
    "budget": "deniable.accounting:budget",
    "calibrate": "deniable.accounting:calibrate",
    "delta": "deniable.accounting:delta",
    "detection_power": "deniable.accounting:detection_power",
    "epsilon": "deniable.accounting:epsilon",
    "explain": "deniable.accounting:explain",
    "implied_guarantee": "deniable.accounting:implied_guarantee",
    "loss_distribution": "deniable.accounting:loss_distribution",
    "odds": "deniable.accounting:odds",
    "per_query": "deniable.accounting:per_query",
    "posterior": "deniable.accounting:posterior",
    "profile": "deniable.accounting:profile",
    "tradeoff": "deniable.accounting:tradeoff",
    "truth_probability": "deniable.accounting:truth_probability",
    # deciding: which epsilon and why, what is published about a release
    "choose_epsilon": "deniable.deciding:choose_epsilon",
    "connect": "deniable.server.client:connect",
    "dossier": "deniable.deciding:dossier",
    # the root of all errors
    "DeniableError": "deniable.errors:DeniableError",
}
"""Public name -> "module:attribute", or "module" for a room."""

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        from deniable.misnamed import refusal

        raise refusal(name, [*_PUBLIC])
    module, _, attribute = _PUBLIC[name].partition(":")
    value = import_module(module)
    if attribute:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
