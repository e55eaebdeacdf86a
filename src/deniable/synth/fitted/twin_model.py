"""From stored measurements to a model: one function for each method. What it does is fixed by what was released."""

from __future__ import annotations

import json

from deniable.errors import InvalidArgument
from deniable.synth.fitted.aim_model import fit_aim
from deniable.synth.fitted.mwem_model import fit_mwem
from deniable.synth.fitted.network_model import fit_network, fit_quail
from deniable.synth.fitted.pair_model import fit_pairs
from deniable.synth.fitted.privbayes_model import fit_privbayes
from deniable.synth.fitted.record_model import RecordModel
from deniable.synth.fitted.stored import TwinMeasurements
from deniable.synth.fitted.twin_randomness import ReleasedWords


def fit(stored: TwinMeasurements) -> tuple[RecordModel, tuple[str, ...]]:
    """The model of these measurements, and what a reader should know about its fit. The same measurements give the same model."""
    source = ReleasedWords(json.dumps(stored.to_record(), sort_keys=True))
    match stored.method:
        case "pairs" | "tree":
            return fit_pairs(stored, source)
        case "mwem":
            return fit_mwem(stored)
        case "privbayes":
            return fit_privbayes(stored, source)
        case "aim":
            return fit_aim(stored)
        case "ctgan" | "pate-ctgan":
            return fit_network(stored, source)
        case "quail":
            return fit_quail(stored, source, fit)
        case _:
            raise InvalidArgument(f"measurements of an unknown method {stored.method!r}; this version cannot fit them")
