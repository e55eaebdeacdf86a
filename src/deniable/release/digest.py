"""What decides an answer, as one hash: equal questions at equal prices share one stored answer. Nothing in it is private."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction

from deniable.plan.canonical import identity
from deniable.query import Lowered, Price
from deniable.release.payment import Purchase


def value_digest(bought: Purchase, confidence: Fraction) -> str:
    """Everything public that decides the answer of a mechanism: its recipe, its space, its cost and how its error is stated."""
    mechanism = bought.mechanism
    decided = [mechanism.recipe, repr(mechanism.source), repr(bought.cost), str(confidence)]
    return hashlib.sha256(json.dumps(decided).encode()).hexdigest()


def query_digest(ready: Lowered, price: Price) -> str:
    """Everything public that decides the answer: the plan, what is computed from it, the noise and the threshold.

    What the outputs are called decides nothing: asked under another name it is the same answer.
    """
    bill = price.bill
    decided = {
        "plan": identity(ready.plan),
        "outputs": repr([output for _, output in ready.outputs]),
        "notes": ready.notes,
        "choices": repr(sorted(ready.choices.items())),
        "noises": {name: [noise.law.value, str(noise.scale)] for name, noise in bill.noises.items()},
        "etas": {name: str(eta) for name, eta in bill.etas.items()},
        "thresholds": repr(bill.thresholds),
        "labels": ready.keys.labels,
        "other": ready.other,
        "whole": ready.whole,
        "confidence": str(price.confidence),
    }
    return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()
