"""A synthesizer as a mechanism: what is measured, under one charge; its answer is the stored measurements.

Guarantee: the family's member at a scale costs its allowance, whatever is chosen along the way; a filter inside refuses the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from deniable.accounting import RuleKind
from deniable.accounting.spend import round_down
from deniable.core.compositor import grouped
from deniable.core.gate import PrivacyFilter
from deniable.core.mechanism import Mechanism
from deniable.core.step import MechanismFamily
from deniable.engines.table_space import table_space
from deniable.errors import InvalidArgument
from deniable.exact import sqrt as exact_root
from deniable.exact.figures import counted
from deniable.exact.guards import Real, integer, positive, shown
from deniable.noise import Entropy
from deniable.plan.codebook import Codebook
from deniable.plan.facts import Kind
from deniable.plan.nodes import ByOrder, Relation, UnitAgg
from deniable.plan.provenance import sources_of
from deniable.plan.relation import shape
from deniable.synth.attribute import Attributes
from deniable.synth.fitted.stored import TwinMeasurements
from deniable.synth.measured.aim_rounds import measure_aim
from deniable.synth.measured.allowance import Allowance
from deniable.synth.measured.cells_of_codebook import column_facts, column_names, private_rows, synthesizable
from deniable.synth.measured.coded import CellReading, Contribution, cell_rows, row_order, unit_rows
from deniable.synth.measured.mwem_rounds import measure_mwem
from deniable.synth.measured.network_rounds import NetworkData
from deniable.synth.measured.open_categories import OPENING, OpenColumn, open_columns, opened_attributes
from deniable.synth.measured.pair_rounds import ONES, SCORES, measure_pairs, pairs_of
from deniable.synth.measured.private_cuts import FINE, PREPROCESSING, cut_by_quantiles
from deniable.synth.measured.privbayes_rounds import STRUCTURE, TOTAL, measure_privbayes
from deniable.synth.measured.table_noise import Measurer
from deniable.synth.network_synthesis import (
    NETWORKS,
    check_network_method,
    network_forecast,
    network_note,
    network_options,
    network_task,
)
from deniable.synth.resources import check_size, most_groups, resources

METHODS = ("pairs", "tree", "mwem", "privbayes", "aim", *NETWORKS)
GAUSSIAN = ("pairs", "tree", *NETWORKS)
"""Methods whose every step is Gaussian noise: they need a delta."""
OPTIONS: dict[str, dict[str, Any]] = {
    "pairs": {"apart": None},
    "tree": {"apart": None},
    "mwem": {"rounds": None, "degree": 2},
    "privbayes": {"degree": 2, "score": "mi", "most_rows": 1_000_000, "network": None},
    "aim": {"rounds": None, "degree": 3},
    **{method: dict(settings) for method, settings in NETWORKS.items()},
}
"""What each method may be told, and what it does if not; None is chosen from the number of columns."""


MOST_ROUNDS = 10_000
"""Rounds of a method: with more the shares of each are too small to be told apart."""
MOST_ROWS = 10**12
"""The largest `most_rows`: a score of more is not exact to a row."""


@dataclass(frozen=True, slots=True)
class Synthesis:
    """What is to be synthesized and how: public facts only. `kept` says of which of a unit's rows `order` keeps the first."""

    codebook: Codebook
    source: Relation
    attributes: Attributes
    method: str
    focus: tuple[int, ...]
    read: CellReading
    moved: Contribution
    reading: str
    options: Mapping[str, Any]
    quantiles: tuple[tuple[int, int], ...] = ()
    opened: tuple[OpenColumn, ...] = ()
    rows: int | None = None
    order: ByOrder | None = None
    kept: str = ""

    def kind(self, delta: Fraction) -> RuleKind:
        """What is added up inside: squares of mu, rho where choices are exponential, epsilon where there is no delta."""
        if self.method in GAUSSIAN:
            return RuleKind.GAUSSIAN
        return RuleKind.CONCENTRATED if delta > 0 else RuleKind.PURE

    def leak(self, delta: Fraction) -> Fraction:
        """The part of a delta that thresholds of open columns have, to whole parts of what a filter adds up: half of it."""
        return len(self.opened) * round_down(delta / (2 * len(self.opened))) if self.opened else Fraction(0)

    def family(self, kind: RuleKind) -> MechanismFamily:
        """One mechanism for every scale; a smaller scale measures better and costs more. Thresholds are not part of it."""
        if self.method in NETWORKS:
            return MechanismFamily(table_space(self.codebook), lambda scale: self._network_at(kind, scale))
        return MechanismFamily(table_space(self.codebook), lambda scale: self.at(kind, positive(scale=scale)))

    def _network_at(self, kind: RuleKind, scale: Real) -> Mechanism:
        recipe = f"{self.reading} >> {self.recipe(kind)}"
        task = network_task(self.method, self.options, self.network_data, scale, recipe)
        noted = task.post(lambda found: replace(found, notes=(*found.notes, network_note(self.method))))
        return replace(noted, recipe=recipe)

    @property
    def bounded(self) -> str:
        """What is done to units with several rows, in a few words; nothing where every row is a unit."""
        unit = self.codebook.unit
        if unit is None or unit.is_row:
            return ""
        summed = "rows of one unit summed up, " if _sums_up(self.source) else ""
        return f"{summed}at most {counted(self.moved.rows, 'row')} of {unit}{self.kept}"

    @property
    def tables(self) -> list[str]:
        """The private tables whose rows are read."""
        return sorted(shape(self.source).tables)

    @property
    def mechanisms(self) -> str:
        """What adds the noise, in a few words."""
        if self.method not in NETWORKS:
            return f"noisy tables, method {self.method}"
        return f"noisy one-way tables, then noisy {'votes' if self.method == 'pate-ctgan' else 'gradients'}, method {self.method}"

    @property
    def network_data(self) -> NetworkData:
        """What a network synthesizer reads."""
        return NetworkData(table_space(self.codebook), self.read, self.attributes, self.moved)

    def at(self, kind: RuleKind, scale: Fraction, delta: Fraction = Fraction(0)) -> Mechanism:
        """The mechanism at one scale; `delta` is what the thresholds of open columns leak together."""
        allowance = Allowance.at(kind, scale, delta)

        def function(data: Any, entropy: Entropy) -> TwinMeasurements:
            return self.measure(self._measurer(data, allowance, entropy))

        return Mechanism(
            table_space(self.codebook),
            function,
            lambda d_in: grouped(allowance.cost, d_in),
            recipe=f"{self.reading} >> {self.recipe(kind)}",
        )

    def _measurer(self, data: Any, allowance: Allowance, entropy: Entropy) -> Measurer:
        """What measures the tables; first, where columns are open, their values are found behind the same filter."""
        gate, space = PrivacyFilter(allowance.rule), table_space(self.codebook)
        attributes, read, spent = self.attributes, self.read, 0.0
        if self.opened:
            found = opened_attributes(self.opened, data, space, allowance, gate, entropy)
            columns = [found.get(place, column) for place, column in enumerate(attributes.columns)]
            attributes, spent = Attributes(tuple(columns)), OPENING
            read, _, _ = cell_rows(self.codebook, self.source, attributes, rows=self.rows, order=self.order)
        cells = read.tables(data)
        if self.method in ("pairs", "tree"):
            cells.fetch(pairs_of(attributes, self.options["apart"] or ()) or [(0,)])
        return Measurer(cells, space, attributes, allowance, self.moved, entropy, gate, spent)

    def measure(self, measurer: Measurer) -> TwinMeasurements:
        """Everything the method asks of the data; first, where it is asked for, cells cut by private quantiles."""
        told = self.options
        if self.quantiles:
            measurer = cut_by_quantiles(measurer, self.quantiles)
        match self.method:
            case "mwem":
                return measure_mwem(measurer, rounds=told["rounds"], degree=told["degree"])
            case "privbayes":
                return measure_privbayes(
                    measurer,
                    degree=told["degree"],
                    score=told["score"],
                    most_rows=told["most_rows"],
                    network=None if told["network"] is None else [(child, tuple(of)) for child, of in told["network"]],
                )
            case "aim":
                return measure_aim(measurer, rounds=told["rounds"], degree=told["degree"], focus=self.focus)
            case _:
                return measure_pairs(measurer, method=self.method, focus=self.focus, apart=told.get("apart") or ())

    def recipe(self, kind: RuleKind) -> str:
        """The method and everything that decides what it measures, as text."""
        cells = [each.to_record() for each in self.attributes.columns]
        decided = {"cells": cells, "focus": self.focus, "kind": kind.value, "options": dict(self.options)}
        decided |= {"quantiles": self.quantiles}
        if self.opened:  # plans without open columns keep the text they had
            decided["open"] = [(each.place, each.most) for each in self.opened]
        return f"synthesizer({self.method}, {json.dumps(decided, sort_keys=True)})"

    def forecast(self, allowance: Allowance) -> dict[str, Any]:
        """What will be measured with how much noise, from public facts."""
        if self.method in NETWORKS:
            scale = exact_root(1 / allowance.whole, 80).upper
            told = network_forecast(self.method, self.options, self.network_data, scale)
            return {**told, **self._unit(), **self._resources}
        left = (1 - PREPROCESSING if self.quantiles else 1.0) * (1 - OPENING if self.opened else 1.0)
        told = self._forecast(Allowance(allowance.kind, allowance.whole * Fraction(left)))
        told |= self._unit()
        if self.opened:
            told["open categories: share of the whole"] = OPENING
            told["open categories: delta"] = f"{float(allowance.delta):.3g}"
            told["open categories: noisy number of units that shows a value"] = {
                each.name: each.threshold(allowance, len(self.opened)) for each in self.opened
            }
        if self.quantiles:
            share = PREPROCESSING / len(self.quantiles) * (1 - OPENING if self.opened else 1.0)
            told["preprocessing: share of the whole"] = PREPROCESSING
            told["preprocessing: noise of a fine table"] = float(allowance.noise(share, self.moved.table).scale)
        return told | self._resources

    def _unit(self) -> dict[str, Any]:
        """How many rows of one unit are kept, and what keeping one would save."""
        told: dict[str, Any] = {"rows of one unit": self.moved.rows}
        if self.moved.rows > 1:
            kept = "one row of each unit (first=, last= or any; its rows summed up: query().per_unit(...))"
            told["with rows=1"] = f"{kept}, {self.moved.rows} times less noise"
        return told

    @property
    def _resources(self) -> dict[str, Any]:
        return resources(self.method, self.options, self._sizes, self._most_groups)

    @property
    def _most_groups(self) -> list[int]:
        return [
            most_groups(size, each.ordered) for size, each in zip(self._sizes, self.attributes.columns, strict=True)
        ]

    @property
    def _sizes(self) -> list[int]:
        """How many cells each column may have at most."""
        most = dict(self.quantiles) | {each.place: each.widest().size for each in self.opened}
        return [most.get(place, size) for place, size in enumerate(self.attributes.sizes)]

    def _forecast(self, allowance: Allowance) -> dict[str, Any]:
        sizes = self._sizes
        if self.method in ("mwem", "privbayes"):
            tables = self.options["rounds"] if self.method == "mwem" else len(sizes)
            share = (1 - TOTAL) / (2 * tables) if self.method == "mwem" else (1 - TOTAL - STRUCTURE) / tables
            noise = float(allowance.noise(share, self.moved.table).scale)
            return {"columns": len(sizes), "cells": sum(sizes), "tables": tables, "noise of a table": noise}
        pairs = len(sizes) * (len(sizes) - 1) // 2
        weights = [size ** (2 / 3) for size in sizes]
        ones = [allowance.noise(ONES * weight / sum(weights), self.moved.table).scale for weight in weights]
        told: dict[str, Any] = {
            "columns": len(sizes),
            "cells": sum(sizes),
            "noise of one-way tables": {name: float(s) for name, s in zip(self.attributes.names, ones, strict=True)},
        }
        if pairs:
            score = allowance.noise(SCORES, self.moved.total, tables=pairs)
            told |= {"pairs scored": pairs, "noise of a score": float(score.scale)}
        return told


def synthesis(
    codebook: Codebook,
    table: str | Relation | None,
    *,
    columns: str | Sequence[str],
    method: str,
    focus: Sequence[str],
    rows: int | None,
    bins: Mapping[str, int] | None,
    options: Mapping[str, Any],
    quantiles: Mapping[str, int] | None = None,
    opened: Mapping[str, int] | Sequence[str] | str = (),
    first: str | None = None,
    last: str | None = None,
) -> Synthesis:
    """What these words ask for; whatever cannot work is refused here, before there is a price."""
    if method not in METHODS:
        raise InvalidArgument(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    _check_by_name(bins=bins or {}, quantiles=quantiles or {})
    if not isinstance(opened, Mapping | Sequence):
        raise InvalidArgument(
            f"open must be a list of columns, or how many values of each by name, got {shown(opened)}"
        )
    source = private_rows(codebook, table)
    cuts = _quantiles(quantiles or {}, bins or {})
    named = column_names(source, columns)
    for name in cuts:
        if name in named and column_facts(source, name).kind is not Kind.NUMBER:
            raise InvalidArgument(f"quantiles= is for numbers, and {name} is none")
    found = open_columns(source, named, opened, rows=unit_rows(source, rows))
    open_at = {each.name: each.attribute() for each in found}
    widest = {each.name: each.widest() for each in found}
    nominal = synthesizable(codebook, source, columns, {**(bins or {}), **cuts}, widest)
    attributes = synthesizable(codebook, source, columns, {**(bins or {}), **dict.fromkeys(cuts, FINE)}, open_at)
    wanted = [focus] if isinstance(focus, str) else list(focus)
    places = tuple(attributes.place(name) for name in wanted)
    told = _options(method, options, attributes)
    check_size(nominal, attributes, method, told)
    order = row_order(codebook, source, first, last)
    kept = "" if order is None else f", the {'last' if order.last else 'first'} by {last or first}"
    read, moved, reading = cell_rows(codebook, source, attributes, rows=rows, order=order)
    by = tuple((attributes.place(name), count) for name, count in cuts.items())
    asked = Synthesis(
        codebook, source, attributes, method, places, read, moved, reading, told, by, found, rows, order, kept
    )
    if method in NETWORKS:
        if cuts or places or found:
            raise InvalidArgument(
                f"method {method!r} takes neither quantiles=, focus= nor open=; it finds modes by itself"
            )
        check_network_method(method, told, asked.network_data)
    return asked


def _sums_up(source: Relation) -> bool:
    return isinstance(source, UnitAgg) or any(map(_sums_up, sources_of(source)))


def _check_by_name(**told: object) -> None:
    for name, numbers in told.items():
        if not isinstance(numbers, Mapping):
            raise InvalidArgument(f"{name} must say how many by column, such as {{'age': 10}}, got {shown(numbers)}")


def _quantiles(quantiles: Mapping[str, int], bins: Mapping[str, int]) -> dict[str, int]:
    both = sorted(set(quantiles) & set(bins))
    if both:
        raise InvalidArgument(f"{both[0]} is named in bins= and in quantiles=; its cells come from one of them")
    return {name: integer(least=2, **{f"quantiles of {name}": count}) for name, count in quantiles.items()}


def _options(method: str, options: Mapping[str, Any], attributes: Attributes) -> dict[str, Any]:
    known = OPTIONS[method]
    for name in options:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise InvalidArgument(f"method {method!r} has no option {name!r}; it has {listed}")
    told = {**known, **options}
    if method in NETWORKS:
        return network_options(method, told, attributes)
    if "rounds" in known:
        count = 2 * len(attributes.columns) if told["rounds"] is None else told["rounds"]
        told["rounds"] = integer(rounds=count, least=1, greatest=MOST_ROUNDS)
    if told.get("apart") is not None:
        told["apart"] = _apart(told["apart"], attributes)
    if "degree" in known:
        told["degree"] = integer(degree=told["degree"], least=1)
    if method == "privbayes":
        told["most_rows"] = integer(most_rows=told["most_rows"], least=1, greatest=MOST_ROWS)
        if told["score"] not in ("mi", "r"):
            raise InvalidArgument(f'score must be "mi" or "r", got {told["score"]!r}')
        told["network"] = None if told["network"] is None else _network(told["network"], attributes)
    return told


def _apart(given: Sequence[Sequence[str]], attributes: Attributes) -> list[list[int]]:
    """Sets of columns fitted apart; columns that are in none of them make one more."""
    parts = [list(attributes.places(part)) for part in given]
    named = [place for part in parts for place in part]
    if len(set(named)) != len(named):
        raise InvalidArgument("apart= names a column twice; every column is in one set")
    rest = [place for place in range(len(attributes.columns)) if place not in named]
    return [*parts, *([rest] if rest else [])]


def _network(given: Mapping[str, Sequence[str]], attributes: Attributes) -> list[tuple[int, tuple[int, ...]]]:
    """A network that is given: every column with its parents, in an order in which parents come first."""
    if not isinstance(given, Mapping) or set(given) != set(attributes.names):
        raise InvalidArgument("network must name every column with the list of its parents, {} for none")
    left = {attributes.place(name): {attributes.place(parent) for parent in parents} for name, parents in given.items()}
    ordered: list[tuple[int, tuple[int, ...]]] = []
    while left:
        ready = [place for place, parents in left.items() if not parents & set(left)]
        if not ready:
            raise InvalidArgument("network has a circle: no column in it can be drawn before its parents")
        ordered.append((ready[0], tuple(sorted(left.pop(ready[0])))))
    return ordered


def allowance_of(kind: RuleKind, scale: Real, delta: Fraction = Fraction(0)) -> Allowance:
    """What the member of a family at this scale may spend."""
    return Allowance.at(kind, positive(scale=scale), delta)
