"""Network synthesizers as mechanisms: which there are, their settings, and what they are worth beside the marginal model."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import sqrt
from typing import Any

from deniable.core.mechanism import Mechanism
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, open_probability, positive
from deniable.synth.attribute import Attributes
from deniable.synth.measured.ctgan_rounds import GanSettings, check_ctgan, ctgan_task
from deniable.synth.measured.network_rounds import NetworkData
from deniable.synth.measured.pate_ctgan_rounds import TeacherSettings, check_pate_ctgan, pate_ctgan_task
from deniable.synth.measured.quail_rounds import BASES, QuailSettings, check_quail, quail_task

NETWORKS: Mapping[str, Mapping[str, Any]] = {
    "ctgan": {"steps": 400, "batches": 64, "hidden": 64, "clip": 1.0, "speed": 1.0},
    "pate-ctgan": {"parts": 100, "rounds": 60, "samples": 32, "hidden": 32, "speed": 1.0},
    "quail": {"target": None, "base": "ctgan", "split": 0.5, "steps": 400},
}
"""Methods that train networks, and what each may be told."""
MOST_OF_A_SETTING = 100_000
"""Steps, batches, hidden units, teachers, rounds and samples are no more, each of them."""
BESIDE_MARGINALS = {"pairs": 0.033, "ctgan": 0.067, "pate-ctgan": 0.162, "quail": 0.082}
"""Mean distance (TVD) of all pairs of columns of Adult from the data at epsilon 1, delta 1e-9: `benchmarks/synth_networks.py`."""


def network_note(method: str) -> str:
    """By how much the marginal model beats this method on the reference table."""
    best, own = BESIDE_MARGINALS["pairs"], BESIDE_MARGINALS[method]
    return (
        f"{method}: on the Adult table at epsilon 1 pairs of its columns are at a distance (TVD) of {own:.3f} from the data; with "
        f"the marginal model (method='pairs') it is {best:.3f}, {own / best:.1f} times less."
    )


def network_options(method: str, told: Mapping[str, Any], attributes: Attributes) -> dict[str, Any]:
    """The settings of a network method, each checked by name."""
    found = dict(told)
    for name in ("steps", "batches", "hidden", "parts", "rounds", "samples"):
        if name in found:
            found[name] = integer(
                least=2 if name == "batches" else 1, greatest=MOST_OF_A_SETTING, **{name: found[name]}
            )
    for name in ("clip", "speed"):
        if name in found:
            found[name] = float(positive(**{name: found[name]}))
    if method == "quail":
        if not isinstance(found["target"], str):
            raise InvalidArgument("quail needs target=, the column its classifier predicts")
        place = attributes.place(found["target"])
        if not attributes.columns[place].labels:
            raise InvalidArgument(f"quail classifies a column with categories, and {found['target']} has none")
        if len(attributes.columns) < 2:
            raise InvalidArgument("quail needs a column besides its target")
        if found["base"] not in BASES:
            raise InvalidArgument(f"base must be one of {', '.join(BASES)}, got {found['base']!r}")
        found["split"] = str(open_probability(split=found["split"]))
    return found


def _quail(options: Mapping[str, Any], attributes: Attributes) -> QuailSettings:
    place, gan = attributes.place(options["target"]), GanSettings(steps=options["steps"])
    return QuailSettings(place, options["base"], Fraction(options["split"]), gan)


def check_network_method(method: str, options: Mapping[str, Any], data: NetworkData) -> None:
    """Refuse, before there is a price, what leaves the exact range."""
    match method:
        case "ctgan":
            check_ctgan(data, GanSettings(**options))
        case "pate-ctgan":
            check_pate_ctgan(data, TeacherSettings(**options))
        case _:
            check_quail(data, _quail(options, data.attributes))


def network_task(
    method: str, options: Mapping[str, Any], data: NetworkData, multiplier: Real, recipe: str
) -> Mechanism:
    """The method with this noise multiplier, as one mechanism on tables."""
    match method:
        case "ctgan":
            return ctgan_task(data, GanSettings(**options), multiplier, recipe)
        case "pate-ctgan":
            return pate_ctgan_task(data, TeacherSettings(**options), multiplier, recipe)
        case _:
            return quail_task(data, _quail(options, data.attributes), multiplier, recipe)


def network_forecast(method: str, options: Mapping[str, Any], data: NetworkData, multiplier: Real) -> dict[str, Any]:
    """What will be measured with how much noise, from public facts."""
    sizes = data.attributes.sizes
    match method:
        case "ctgan":
            tables, step = GanSettings(**options).noises(data, multiplier)
            told = {
                "noisy gradients": options["steps"],
                "noise multiplier of a gradient": float(step.noise.scale) / _root(step.noise.square),
            }
        case "pate-ctgan":
            tables, votes = TeacherSettings(**options).noises(data, multiplier)
            told = {"votes": options["rounds"] * options["samples"], "noise of a vote": float(votes.scale)}
        case _:
            settings = _quail(options, data.attributes)
            tables, step = settings.noises(data, multiplier)
            told = {"classifier": options["target"], "its part": float(settings.split), "base": options["base"]}
            told |= {"noise multiplier of its gradients": float(step.noise.scale) / _root(step.noise.square)}
    whole: dict[str, Any] = {
        "columns": len(sizes),
        "cells": sum(sizes),
        "noise of a table": float(tables.scale),
        **told,
    }
    return {**whole, "beside the marginal model": network_note(method)}


def _root(square: int) -> float:
    return sqrt(square)
