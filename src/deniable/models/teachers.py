"""PATE: teachers trained on disjoint people vote on public rows; only noisy votes leave (docs/theory/confident-votes.md).

Every unit is in the part of one teacher, by its keyed hash. So one unit changes one teacher, and with it, of every public row, one
vote: it moves from one class to another. Who answers is counted beforehand: there is a hard cap on answers, and the account does
not depend on how far the teachers agreed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import erf, pi, sqrt
from typing import Any, ClassVar

import numpy as np

from deniable.core.compositor import Compositor, grouped
from deniable.core.mechanism import Mechanism
from deniable.core.step import MechanismFamily
from deniable.cost import Cost, DiscreteLaplace, Gaussian
from deniable.engines.engine import RowTable
from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.exact import sqrt as exact_root
from deniable.exact.guards import Real, integer, positive
from deniable.models.encoding import Whole, public_cells
from deniable.models.estimator import Door, Estimator, FitPrice, RowsReading
from deniable.models.fitted import ModelAnswer
from deniable.models.task import planned_task
from deniable.models.trees import part_of_row
from deniable.models.unit_totals import PrivateRows
from deniable.noise import Entropy, discrete_laplaces, rounded_gaussians

QUIET = Fraction(1, 1 << 30)
"""The noise multiplier of a teacher: so small that its noise is always rounded to nothing."""
_HEARD = 0.9
"""Where noise outvotes teachers that all agree more often than in the rest of cases, a price says so."""


@dataclass(frozen=True, slots=True)
class Teachers:
    """Teachers of one estimator on `parts` disjoint parts of a session's people. Made by `session.teachers`."""

    session: Door
    model: Estimator
    parts: int

    def __post_init__(self) -> None:
        integer(parts=self.parts, least=1, greatest=100_000)
        if not isinstance(self.model, Estimator):
            raise InvalidArgument(f"teachers need an estimator with a target, got {type(self.model).__name__}")

    def price(
        self,
        frame: Any,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real | None = None,
        confident: bool = False,
        threshold: Real = Fraction(3, 5),
        answers: int | None = None,
        law: str = "gaussian",
    ) -> FitPrice:
        """What labels for this frame cost, and how often noise would outvote all teachers; nothing is spent or looked at."""
        asked = votes_family(self, frame, confident=confident, threshold=threshold, answers=answers, law=law)
        bought = self.session.quote(asked.family, epsilon=epsilon, rho=rho, delta=delta)
        multiplier = bought.mechanism.parameter or 0
        plan = asked.plan(multiplier)
        return FitPrice(
            estimator="votes of teachers",
            steps=plan.answers + (plan.rows if confident else 0),
            multiplier=float(multiplier),
            cost=bought.cost,
            epsilon=bought.epsilon,
            delta=bought.delta,
            forecast=plan.forecast(self.parts, asked.classes),
        )

    def label(
        self,
        frame: Any,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real | None = None,
        confident: bool = False,
        threshold: Real = Fraction(3, 5),
        answers: int | None = None,
        law: str = "gaussian",
        request: str | None = None,
    ) -> Labels:
        """A noisy majority of the teachers' votes for each row of a public frame.

        With `confident` a row is answered only where the noisy largest vote reaches `threshold` of the teachers, and at most
        `answers` rows are (half of them unless said otherwise); the others get None. `law` is "gaussian", or "laplace", which
        needs no delta.

        Guarantee: one charge for all votes, the same whatever the teachers say.
        """
        asked = votes_family(self, frame, confident=confident, threshold=threshold, answers=answers, law=law)
        found: Labels = self.session.release(asked.family, epsilon=epsilon, rho=rho, delta=delta, request=request)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels(ModelAnswer):
    """Labels of public rows, None where the teachers were not sure enough or the cap was reached."""

    labels: tuple[Any, ...]
    parts: int
    noise: str

    kind: ClassVar[str] = "score"

    @property
    def answered(self) -> list[int]:
        """The places of the rows that have a label."""
        return [place for place, label in enumerate(self.labels) if label is not None]

    def __str__(self) -> str:
        said = f"labels of {len(self.answered):,} of {number_of(len(self.labels), 'row')}: {self.noise}"
        return "\n".join(filter(None, (said, self.guarantee)))

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class VotePlan:
    """The noise on the largest votes and on the votes themselves, and how many of each are released."""

    rows: int
    answers: int
    check: Fraction | None
    vote: Fraction
    law: str

    @classmethod
    def of(cls, rows: int, answers: int, confident: bool, law: str, multiplier: Real) -> VotePlan:
        """Scales such that all answers together cost as one with this multiplier (Gaussian), or 1/multiplier (Laplace)."""
        whole = positive(multiplier=multiplier)
        if law == "laplace":
            return cls(rows, answers, None, 2 * answers * whole, law)
        share = 2 if confident else 1
        check = whole * exact_root(share * rows, 40).upper if confident else None
        return cls(rows, answers, check, whole * exact_root(2 * share * answers, 40).upper, law)

    @property
    def check_cost(self) -> Cost:
        """The largest vote of every row: one unit moves each by at most one."""
        assert self.check is not None
        return Gaussian(scale=self.check, sensitivity=1).repeated(self.rows)

    @property
    def vote_cost(self) -> Cost:
        """The votes of each answered row: one unit takes one from a class and gives one to another."""
        if self.law == "laplace":
            return DiscreteLaplace(scale=self.vote, sensitivity=2, coordinates=2).repeated(self.answers)
        return Gaussian(scale=self.vote, squared_sensitivity=2).repeated(self.answers)

    @property
    def costs(self) -> list[Cost]:
        """The whole plan, in order."""
        return [self.vote_cost] if self.check is None else [self.check_cost, self.vote_cost]

    def forecast(self, parts: int, classes: int) -> str:
        """What the noise does to votes, from public facts."""
        kept = unanimous(parts, float(self.vote), classes, self.law)
        said = f"noise of scale {float(self.vote):.4g} on the votes of {number_of(parts, 'teacher')}: "
        said += f"where all of them agree, a label is theirs in {kept:.0%} of cases"
        return f"{said}; take more teachers or fewer rows" if kept < _HEARD else said


def unanimous(parts: int, scale: float, classes: int, law: str) -> float:
    """How often the class that all teachers vote for has the largest noisy vote, about."""
    z = np.linspace(-40, 40, 16_001)  # in scales of the noise
    at = np.clip(z + parts / scale, -40, 40)
    if law == "laplace":
        density = np.exp(-abs(z)) / 2
        below = np.where(at < 0, np.exp(np.minimum(at, 0)) / 2, 1 - np.exp(-np.maximum(at, 0)) / 2)
    else:
        density = np.exp(-(z**2) / 2) / sqrt(2 * pi)
        below = np.array([1 + erf(each / sqrt(2)) for each in at.tolist()]) / 2
    return min(float((density * below ** (classes - 1)).sum() * (z[1] - z[0])), 1.0)


@dataclass(frozen=True, slots=True)
class Votes:
    """The labels for every noise multiplier, what they then cost, and how many classes there are."""

    family: MechanismFamily
    plan: Callable[[Real], VotePlan]
    classes: int


def votes_family(
    teachers: Teachers, frame: Any, *, confident: bool, threshold: Real, answers: int | None, law: str
) -> Votes:
    """The labels for every noise multiplier, as mechanisms on the session's tables."""
    reading = teachers.model.reading(teachers.session.codebook)
    if reading.open:
        raise InvalidArgument(
            f"teachers need declared bounds, {reading.open[0]!r} has none; declare them in the codebook"
        )
    classes = len(reading.target_classes())
    teachers.model.at(reading, QUIET)  # a model that cannot be a teacher here is refused now, and not after the charge
    codes = {each.name: each.codes(public_cells(frame, each.name)) for each in reading.features}
    lengths = {len(column) for column in codes.values()}
    if len(lengths) > 1:
        raise InvalidArgument(f"the columns of the frame have different lengths: {sorted(lengths)}")
    rows = lengths.pop()
    if rows < 1:
        raise InvalidArgument("the frame to label has no rows")
    if law not in ("gaussian", "laplace") or (confident and law == "laplace"):
        raise InvalidArgument(f"law must be gaussian, or laplace without confident, got {law!r}")
    least = positive(threshold=threshold) * teachers.parts
    most = (max(rows // 2, 1) if confident else rows) if answers is None else integer(answers=answers, least=1)
    most = min(most, rows)
    if not confident and most < rows:
        raise InvalidArgument("answers is a cap for confident votes; without confident every row is answered")
    decided = hashlib.sha256(repr([(name, column.tolist()) for name, column in codes.items()]).encode()).hexdigest()

    def plan_at(multiplier: Real) -> VotePlan:
        return VotePlan.of(rows, most, confident, law, multiplier)

    def at(multiplier: Real) -> Mechanism:
        plan = plan_at(multiplier)

        def count(held: PrivateRows, entropy: Entropy) -> Whole:
            if "votes" not in held.kept:
                held.kept["votes"] = votes(held, teachers, reading, codes, entropy=entropy).astype(np.float64)
            return held.kept["votes"].astype(np.int64)

        def run(compositor: Compositor) -> Labels:
            return _labelled(compositor, reading, plan, count, least, teachers.parts)

        recipe = f"teachers(parts={teachers.parts}, model={teachers.model.recipe()}, rows={decided}, law={law}, "
        recipe += f"confident={confident}, threshold={threshold}, answers={most})"
        return planned_task(reading.space, costs=plan.costs, run=run, recipe=recipe)

    return Votes(MechanismFamily(reading.space, at).after(reading.rows), plan_at, classes)


def votes(
    rows: PrivateRows, teachers: Teachers, reading: RowsReading, codes: dict[str, Whole], *, entropy: Entropy
) -> Whole:
    """How many teachers vote for each class of each public row; every teacher is trained on its part alone.

    A teacher's own noise is rounded to nothing: what protects people is the noise on the votes.
    """
    count = len(next(iter(codes.values())))
    total = np.zeros((count, len(reading.target_classes())), dtype=np.int64)
    place = part_of_row(rows, teachers.parts)
    for part in range(teachers.parts):
        inside = place == part
        absent = {name: np.zeros(int(inside.sum()), dtype=bool) for name in rows.codes}
        columns = {name: column[inside] for name, column in rows.codes.items()}
        table = RowTable(None if rows.labels is None else rows.labels[inside], columns, absent)
        found = teachers.model.at(reading, QUIET).function(table, entropy).outputs(codes, count)
        total[np.arange(count), found.argmax(axis=1)] += 1
    return total


def _labelled(
    compositor: Compositor, reading: RowsReading, plan: VotePlan, count: Count, least: Fraction, parts: int
) -> Labels:
    classes = reading.target_classes()
    chosen = list(range(plan.rows))
    if plan.check is not None:
        largest = _asked(reading, plan.check_cost, count, lambda rows: rows.max(axis=1), _normal(plan.check))
        sure = compositor.release(largest) >= float(least)
        chosen = [int(place) for place in np.flatnonzero(sure)][: plan.answers]
    draw = _normal(plan.vote) if plan.law == "gaussian" else _laplace(plan.vote)
    answered = compositor.release(_asked(reading, plan.vote_cost, count, lambda rows: rows[chosen], draw))
    labels: list[Any] = [None] * plan.rows
    for place, row in zip(chosen, answered, strict=True):
        labels[place] = classes[int(row.argmax())]
    said = f"{plan.law} {plan.forecast(parts, len(classes))}; {number_of(plan.answers, 'row')} at most"
    return Labels(labels=tuple(labels), parts=parts, noise=said)


Draw = Callable[[int, Entropy], Whole]
Count = Callable[[PrivateRows, Entropy], Whole]


def _normal(scale: Fraction) -> Draw:
    return lambda count, entropy: rounded_gaussians(scale, count, entropy)


def _laplace(scale: Fraction) -> Draw:
    return lambda count, entropy: discrete_laplaces(scale, count, entropy)


def _asked(reading: RowsReading, cost: Cost, count: Count, of: Callable[[Whole], Whole], draw: Draw) -> Mechanism:
    def function(rows: PrivateRows, entropy: Entropy) -> Whole:
        exact = of(count(rows, entropy))
        return exact + draw(exact.size, entropy).reshape(exact.shape)

    return Mechanism(reading.space, function, lambda d_in: grouped(cost, d_in))
