"""What decides an answer, as one hash: equal questions at equal prices share one stored answer. Nothing in it is private."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction

from deniable.kernels import ColumnNoise, HalvesNoise
from deniable.plan.canonical import identity
from deniable.query import CompiledQuery, Payment, Price
from deniable.release.purchase import Purchase


def value_digest(bought: Purchase, payment: Payment) -> str:
    """Everything public that decides the answer of a mechanism: its recipe, its space, its cost and how its error is stated."""
    mechanism = bought.mechanism
    decided = [
        mechanism.recipe,
        repr(mechanism.source),
        repr(bought.cost),
        _confidence(payment.confidence, payment.simultaneous),
    ]
    return hashlib.sha256(json.dumps(decided).encode()).hexdigest()


def query_digest(compiled: CompiledQuery, price: Price) -> str:
    """Everything public that decides the answer: the plan, what is computed from it, the noise and the threshold.

    What the outputs are called decides nothing: asked under another name it is the same answer.
    """
    allocation = price.allocation
    decided = {
        "plan": identity(compiled.plan),
        "outputs": repr([output for _, output in compiled.outputs]),
        "notes": compiled.identity_notes or compiled.notes,
        "choices": repr(sorted(compiled.choices.items())),
        "noises": {str(key): _noise(noise) for key, noise in allocation.noises.items()},
        "etas": {str(key): str(eta) for key, eta in allocation.etas.items()},
        "thresholds": repr(tuple((str(each.column), each.at, each.delta) for each in allocation.thresholds)),
        **(
            {"margins": repr([(str(m.column), m.at, m.delta) for m in allocation.margins])}
            if allocation.margins
            else {}
        ),
        "labels": compiled.keys.labels,
        "other": compiled.other,
        "whole": compiled.whole,
        "confidence": _confidence(price.confidence, price.basis.simultaneous),
    }
    return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()


def _noise(noise: ColumnNoise) -> list[str]:
    halves = [f"halves of {noise.pair}"] if isinstance(noise, HalvesNoise) else []
    return [noise.law.value, str(noise.scale), *halves]


def _confidence(confidence: Fraction, simultaneous: bool) -> str:
    return f"{confidence}, all at once" if simultaneous else str(confidence)
