"""A fitted model: plain public numbers, with the release they came from. Everything here is free: nothing touches data."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from math import isfinite
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np

from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.exact.figures import short_figures, value_figures
from deniable.exact.guards import Real, open_probability
from deniable.models.encoding import GRID, Feature, Whole, public_cells, row_count
from deniable.models.inference import columns_chance
from deniable.svg import Figure, Series, horizontal_bars

_MOST_LINES = 40
"""Numbers of a model that are printed or drawn; `results` has them all."""


NO_PREDICTIONS = (
    "a torch module's training predicts nothing by itself: put its weights into the module with load(module)"
)
"""Why a module that does not run on whole numbers is neither asked nor scored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """Public numbers that a session released: a model, a score or labels."""

    release: Any = field(default=None, init=False, compare=False, repr=False)

    kind: ClassVar[str]

    def with_release(self, release: Any) -> Self:
        """The same with the release it came from: receipt, guarantee and facts."""
        known = copy(self)
        object.__setattr__(known, "release", release)
        return known

    @property
    def guarantee(self) -> str:
        """The promise in one sentence."""
        return "" if self.release is None else str(self.release.guarantee)

    @property
    def receipt(self) -> Any:
        """The ledger's receipt."""
        return None if self.release is None else self.release.receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedModel(ModelAnswer):
    """What every fitted model has: who made it, from which columns, with which settings, and its release.

    Guarantee: it was computed from noisy answers that were charged before any row was read; `guarantee` states the loss.
    """

    estimator: str
    features: tuple[Feature, ...]
    target: Feature | None
    settings: Mapping[str, Any]
    noise: str
    """What was added to what, in one sentence."""
    kind: ClassVar[str] = "model"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            from deniable.misnamed import no_attribute

            raise no_attribute(self, name)

    @property
    def cost(self) -> Any:
        """What it cost, as a record."""
        return None if self.release is None else self.release.cost

    def release_table(self) -> Any:
        """The table a reader needs to judge this release."""
        return self._released().release_table()

    def extended_table(self) -> Any:
        """Every fact about this release, with what the ledger knows."""
        return self._released().extended_table()

    def _released(self) -> Any:
        if self.release is None:
            raise InvalidArgument("this model was not released by a session, so there is no table about it")
        return self.release

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes of the target, from the codebook; none for a number."""
        return () if self.target is None else self.target.values

    @property
    def predicts(self) -> bool:
        """Whether `outputs` answers."""
        return True

    def outputs(self, codes: Mapping[str, Whole], count: int) -> Whole:
        """For every row of codes the chance of each class, or the predicted number between its bounds, in steps of 1/GRID.

        Guarantee: whole numbers, each row's from that row alone, so private rows may be scored with them.
        """
        raise NotImplementedError

    def public_outputs(self, frame: Any) -> Whole:
        """The same of a public frame; a value the codebook does not know is no error."""
        cells = {each.name: each.codes(public_cells(frame, each.name)) for each in self.features}
        lengths = {len(column) for column in cells.values()}
        if len(lengths) > 1:
            raise InvalidArgument(f"the columns of the frame have different lengths: {sorted(lengths)}")
        return self.outputs(cells, lengths.pop() if lengths else row_count(frame))

    def probabilities(self, frame: Any) -> Any:
        """The chance of each class for every row of a public frame, one column for each class."""
        if not self.classes:
            raise InvalidArgument(f"a {self.estimator} has no classes; use predict")
        return self.public_outputs(frame) / GRID

    def predict(self, frame: Any) -> Any:
        """For every row of a public frame the likeliest class, or the predicted number."""
        found = self.public_outputs(frame)
        if self.classes:
            return [self.classes[place] for place in found.argmax(axis=1)]
        assert self.target is not None
        return self.target.middle + self.target.half_width * found[:, 0] / GRID

    def results(self) -> Mapping[str, float]:
        """The numbers by name that a card and a table of this model show."""
        return {}

    def interval(self, confidence: Real = 0.95) -> Mapping[str, tuple[float, float]]:
        """An interval for each number of `results`; none where the estimator states no error."""
        open_probability(confidence=confidence)
        return {}

    def expression(self, *, of: Any = None) -> Any:
        """What this model predicts for a row, as an expression of the plan: `query.derive(p=fitted.expression())`.

        Of a classifier it is the chance of the class `of`, the last one if not given.

        Guarantee: a row map; what is computed from it costs what the query costs.
        """
        raise InvalidArgument(
            f"a {self.estimator} with {len(self.classes)} classes is no expression of the plan; linear regression, trees, "
            "additive models, and of up to five classes logistic regression and naive Bayes are"
        )

    def odds(self, *, of: Any = None) -> Mapping[str, Any]:
        """Log odds of a class as columns to derive first, for a model that is too large as one expression:
        `query.derive(**fitted.odds()).derive(p=fitted.chance())`.
        """
        raise InvalidArgument(f"a {self.estimator} has no log odds as columns; use expression()")

    def chance(self, *, of: Any = None) -> Any:
        """The chance of a class from the columns of `odds`."""
        return columns_chance(len(self.odds(of=of)))

    def class_place(self, of: Any) -> int:
        """The place of a class, the last one if none is named."""
        if of is not None and of not in self.classes:
            raise InvalidArgument(f"of must be one of the classes {list(self.classes)}, got {of!r}")
        return len(self.classes) - 1 if of is None else self.classes.index(of)

    @property
    def sampler(self) -> str:
        """Which rows each noisy answer was about."""
        return "none: every answer is about all rows"

    def card(self) -> ModelCard:
        """What a reader of this model needs to know, one row each."""
        target = [] if self.target is None else [("Target", self.target.name)]
        set_by = "; ".join(f"{name} = {value}" for name, value in self.settings.items() if value is not None)
        facts = [] if self.release is None else _facts(self.release.facts)
        rows = [
            ("Estimator", self.estimator),
            *target,
            ("Features", ", ".join(each.name for each in self.features)),
            ("Settings", set_by or "defaults"),
            ("Sampler", self.sampler),
            ("Noise", self.noise),
            ("Guarantee", self.guarantee.removeprefix("Guarantee: ") or "none: not released by a session"),
            *facts,
        ]
        return ModelCard(tuple(rows))

    def plot(self, *, confidence: Real = 0.95) -> Figure:
        """The numbers of the model with their intervals, one bar each."""
        if not self.results():
            raise InvalidArgument(f"a {self.estimator} has no list of numbers to draw")
        ends = self.interval(confidence)
        hidden = [name for name, pair in ends.items() if not all(map(isfinite, pair))]
        drawn = {name: value for name, value in self.results().items() if name not in hidden}
        all_hidden = not drawn
        drawn = drawn or dict(self.results())
        results = dict(list(drawn.items())[:_MOST_LINES])
        known = all(name in ends for name in results) and not all_hidden
        lower = [ends[name][0] for name in results] if known else None
        upper = [ends[name][1] for name in results] if known else None
        note = f"error bars: {float(confidence):.0%} intervals" if known else "no intervals are stated"
        note = "noise hides all of these numbers" if all_hidden else note
        note += f"; the first {_MOST_LINES} of {len(drawn)} numbers" if len(drawn) > _MOST_LINES else ""
        note += f"; {number_of(len(hidden), 'number')} that noise hides left out" if hidden and not all_hidden else ""
        return horizontal_bars(
            Series(list(results), list(results.values()), lower, upper), title=self.estimator, note=note
        )

    def __str__(self) -> str:
        lines = [f"{self.estimator}" + (f" of {self.target.name}" if self.target else "")]
        ends = self.interval()
        for name, value in list(self.results().items())[:_MOST_LINES]:
            lines.append(f"  {name}: {_shown(value, *ends[name]) if name in ends else short_figures(value)}")
        if self._unshown:
            lines.append(f"  and {number_of(self._unshown, 'more number')}: results() has them all")
        if ends:
            lines.append("Intervals hold with probability 0.95.")
        return "\n".join([*lines, *([self.guarantee] if self.guarantee else [])])

    @property
    def _unshown(self) -> int:
        """How many numbers are neither printed nor drawn."""
        return max(len(self.results()) - _MOST_LINES, 0)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclass(frozen=True, slots=True)
class ModelCard:
    """Rows of name and value about one model."""

    rows: tuple[tuple[str, str], ...]

    def markdown(self) -> str:
        """A Markdown table."""
        cells = [(name, " ".join(value.split()).replace("|", "\\|")) for name, value in self.rows]
        return "\n".join(["| Name | Value |", "|---|---|", *(f"| {name} | {value} |" for name, value in cells)]) + "\n"

    def __getitem__(self, name: str) -> str:
        return dict(self.rows)[name]

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in self.rows)


def _facts(facts: Any) -> list[tuple[str, str]]:
    return [
        ("Relation", facts.neighbours),
        ("Unit", facts.unit),
        ("Delta", f"{float(facts.delta):g}"),
        ("What delta covers", facts.failure),
        ("Composition", facts.composition),
        ("Data set", facts.dataset),
    ]


def _shown(value: float, low: float, high: float) -> str:
    return value_figures(value, low, high) if isfinite(low) and isfinite(high) else "hidden by the noise"


def normal_factor(confidence: Real) -> float:
    """How many standard errors an interval reaches to each side."""
    chance = float(open_probability(confidence=confidence))
    return NormalDist().inv_cdf((1 + chance) / 2)


def named(labels: Sequence[str], values: Any) -> dict[str, float]:
    """Numbers by their names."""
    return dict(zip(labels, (float(value) for value in values), strict=True))


def model_digest(fitted: FittedModel) -> str:
    """A model as a text that no other model has: arrays by all their numbers, which their `repr` leaves out."""
    held = {each.name: getattr(fitted, each.name) for each in fields(fitted) if each.repr}
    arrays = {name: value for name, value in held.items() if isinstance(value, np.ndarray)}
    plain = repr({name: value for name, value in held.items() if name not in arrays}) if arrays else repr(fitted)
    digest = hashlib.sha256(plain.encode())
    for name, value in arrays.items():
        digest.update(f"{name} {value.dtype} {value.shape}".encode() + value.tobytes())
    return digest.hexdigest()[:32]
