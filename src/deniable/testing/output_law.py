"""Exact output laws: kept by the auditor, used by tests under this name."""

from deniable.audit.exact_law import (
    PLACES,
    Chance,
    OutputLaw,
    _choice_branches,
    _flip_branches,
    chance,
    grouped_flip_branches,
    output_law,
    times,
)

__all__ = [
    "PLACES",
    "Chance",
    "OutputLaw",
    "_choice_branches",
    "_flip_branches",
    "chance",
    "grouped_flip_branches",
    "output_law",
    "times",
]
