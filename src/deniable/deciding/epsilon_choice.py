"""Choosing epsilon: three ways to look at the number side by side, and a decision that names its reason.

The columns are attacks (what the best attacker can do), deployments (what others chose for the same unit and period)
and words (what it means for one person). None of them decides: a person does, in writing, and the record goes into
the dossier.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

from deniable.cost import Neighbours
from deniable.deciding import web_page
from deniable.deciding.attack_power import ATTACKS, AttackCurve, attack_curve, attack_named
from deniable.deciding.deployments import DeploymentComparison, Protected, Trust, compare_deployments
from deniable.deciding.plain_words import NOT_PROTECTED, EpsilonMeaning, epsilon_for_truth, explain_epsilon
from deniable.errors import InvalidArgument
from deniable.exact.figures import floor, percent_up
from deniable.exact.guards import Real, integer, positive, probability
from deniable.ledger.numbers import digits, number_from_text, number_text
from deniable.plan.codebook import Codebook
from deniable.plan.variable import Type


class Harm(Enum):
    """How bad it would be for a person if the attack succeeded, with the success that is tolerated at most: a starting point."""

    SLIGHT = "slight"
    MODERATE = "moderate"
    SERIOUS = "serious"
    GRAVE = "grave"

    @property
    def tolerated(self) -> Fraction:
        """The chance of a right guess, from one half, that is put up with."""
        return {
            Harm.SLIGHT: Fraction(95, 100),
            Harm.MODERATE: Fraction(90, 100),
            Harm.SERIOUS: Fraction(75, 100),
            Harm.GRAVE: Fraction(60, 100),
        }[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonDecision:
    """What was decided, by whom, when and why. Without a reason there is no decision."""

    epsilon: Fraction
    delta: Fraction
    reason: str
    by: str
    on: date
    harm: str
    attack: str

    def __post_init__(self) -> None:
        for name, least in (("reason", 10), ("by", 2)):
            text = getattr(self, name)
            if not (isinstance(text, str) and len(text.strip()) >= least):
                raise InvalidArgument(f"{name} must be written down, at least {least} characters, got {text!r}")

    def to_record(self) -> dict[str, str]:
        """As JSON-able text."""
        exact = {"epsilon": number_text(self.epsilon), "delta": number_text(self.delta)}
        words = {"reason": self.reason, "by": self.by, "harm": self.harm, "attack": self.attack}
        return {**exact, **words, "on": self.on.isoformat()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> EpsilonDecision:
        """The decision `to_record` wrote."""
        try:
            exact: dict[str, Any] = {name: number_from_text(record[name]) for name in ("epsilon", "delta")}
            words = {name: record[name] for name in ("reason", "by", "harm", "attack")}
            return cls(**exact, **words, on=date.fromisoformat(record["on"]))
        except (KeyError, TypeError) as problem:
            raise InvalidArgument(
                f"a decision needs epsilon, delta, reason, by, harm, attack and on: {problem}"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonChoice:
    """The three columns for one data set, and the starting points they give."""

    unit: str
    harm: Harm
    attack: str
    people: int
    delta: Fraction
    curves: tuple[AttackCurve, ...]
    comparison: DeploymentComparison
    decision: EpsilonDecision | None = None

    @property
    def curve(self) -> AttackCurve:
        """The curve of the attack that was asked about."""
        return next(each for each in self.curves if each.attack.name == self.attack)

    @property
    def by_attack(self) -> Fraction | None:
        """The largest epsilon at which the attack succeeds no more often than the harm tolerates."""
        return self.curve.largest(self.harm.tolerated)

    @property
    def by_words(self) -> Fraction:
        """The epsilon of the tolerated truth probability."""
        return epsilon_for_truth(self.harm.tolerated)

    @property
    def start(self) -> Fraction:
        """The smaller of the two computed starting points."""
        return min(each for each in (self.by_attack, self.by_words) if each is not None)

    def decide(self, epsilon: Real, *, reason: str, by: str, on: date | None = None) -> EpsilonChoice:
        """This choice with a decision. The reason is mandatory; the date is today unless given."""
        decision = EpsilonDecision(
            epsilon=positive(epsilon=epsilon),
            delta=self.delta,
            reason=reason,
            by=by,
            on=on or date.today(),
            harm=self.harm.value,
            attack=self.attack,
        )
        return EpsilonChoice(
            unit=self.unit,
            harm=self.harm,
            attack=self.attack,
            people=self.people,
            delta=self.delta,
            curves=self.curves,
            comparison=self.comparison,
            decision=decision,
        )

    def over_time(self, epsilon: Real, *, times: tuple[int, ...] = (1, 4, 12, 52, 365)) -> list[dict[str, float]]:
        """What a release repeated so often costs in all, added up: the promise of one is not the promise of a year."""
        loss = positive(epsilon=epsilon)
        return [{"releases": often, "epsilon": float(often * loss)} | _told(often * loss) for often in times]

    def larger_units(self, epsilon: Real, *, sizes: tuple[int, ...] = (1, 2, 4, 10)) -> list[dict[str, float]]:
        """What the same release promises to so many people together, such as a household."""
        loss = positive(epsilon=epsilon)
        return [{"people": size, "epsilon": float(size * loss)} | _told(size * loss) for size in sizes]

    def explained(self, epsilon: Real | None = None) -> EpsilonMeaning:
        """The decided epsilon, or another, in words."""
        chosen = epsilon if epsilon is not None else self.decision.epsilon if self.decision else self.start
        return explain_epsilon(chosen, delta=self.delta)

    def page(self, path: str | os.PathLike[str] | None = None) -> str:
        """The three columns and the decision as one HTML page, written to `path` if given."""
        return web_page.written(web_page.page("Choosing epsilon", *self._parts()), path)

    def _parts(self) -> list[str]:
        chosen = self.decision.epsilon if self.decision else self.start
        columns = "".join(
            f"<section>{part}</section>" for part in (self._attacks(chosen), self._others(), self._words(chosen))
        )
        asked = f"Who is protected: {self.unit}. Harm: {self.harm.value}. Attack: {self.attack}, among {self.people:,} people."
        return [
            web_page.paragraphs([asked]),
            self._decided(),
            f'<div class="columns">{columns}</div>',
            "<h2>Over time and for larger units</h2>",
            web_page.table(
                [
                    (f"{row['releases']:g}", digits(chosen * Fraction(row["releases"])), percent_up(row["truth"]))
                    for row in self.over_time(chosen)
                ],
                head=["releases", "epsilon in all", "right guesses, at most"],
                caption=f"The same release at epsilon = {float(chosen):g}, repeated",
            ),
            web_page.table(
                [
                    (f"{row['people']:g}", digits(chosen * Fraction(row["people"])), percent_up(row["truth"]))
                    for row in self.larger_units(chosen)
                ],
                head=["people together", "epsilon", "right guesses, at most"],
                caption="One release, for people who answer for one another",
            ),
            "<h2>What is not protected</h2>",
            web_page.bullets(NOT_PROTECTED),
        ]

    def _decided(self) -> str:
        if self.decision is None:
            return '<p class="block">Not decided yet: a decision needs an epsilon, a written reason, a name and a date.</p>'
        told = self.decision
        return web_page.table(
            [(digits(told.epsilon), digits(told.delta), told.reason, told.by, told.on.isoformat())],
            head=["epsilon", "delta", "reason", "decided by", "on"],
            caption="Decision",
        )

    def _attacks(self, chosen: Fraction) -> str:
        start = "no epsilon keeps it that low" if self.by_attack is None else f"epsilon = {float(self.by_attack):g}"
        rows = [
            (each.attack.name, f"{float(each.attack.without):.2%}", percent_up(each.at(chosen), places=2))
            for each in self.curves
        ]
        drawn = web_page.figure(self.curve.plot(marked=[chosen]), f"{self.attack} by epsilon")
        words = f"Tolerated for {self.harm.value} harm: success {float(self.harm.tolerated):.0%}; that is {start}."
        table = web_page.table(
            rows,
            head=["attack", "without the release", "with it, at most"],
            caption=f"At epsilon = {float(chosen):g}",
        )
        return f"<h2>Attacks</h2>{web_page.paragraphs([words])}{table}{drawn}"

    def _others(self) -> str:
        alike = web_page.table(
            [
                (f"{d.organisation}: {d.name}", f"{d.epsilon:g}", f"{d.delta:g}", d.source)
                for d in self.comparison.alike
            ],
            head=["deployment", "epsilon", "delta", "source"],
            caption="Same unit, period and place of the noise",
        )
        unlike = web_page.table(
            [(f"{d.organisation}: {d.name}", f"{d.epsilon:g}", why) for d, why in self.comparison.unlike],
            head=["deployment", "epsilon", "differs in"],
            caption="Not comparable, for information",
        )
        return f"<h2>Deployments</h2>{web_page.paragraphs([str(self.comparison)])}{alike}{unlike}"

    def _words(self, chosen: Fraction) -> str:
        told = self.explained(chosen)
        samples = ", ".join(map(str, told.samples(value=100)))
        drawn = web_page.figure(told.picture(), "One hundred possible releases")
        shown = f"Five releases of a true count of 100 might read: {samples}."
        words = f"{float(self.harm.tolerated):.0%} right guesses correspond to epsilon = {floor(self.by_words, 2)}."
        return f"<h2>In words</h2>{web_page.paragraphs([words, *told.sentences, shown])}{drawn}"

    def __str__(self) -> str:
        by_attack = "no epsilon" if self.by_attack is None else f"epsilon = {float(self.by_attack):g}"
        lines = [
            f"protected: {escape(self.unit, quote=False)}; harm: {self.harm.value}; attack: {self.attack}, {self.people:,} people",
            f"by attack: {by_attack} keeps success at most {float(self.harm.tolerated):.0%}",
            f"by words: epsilon = {floor(self.by_words, 2)} keeps right guesses at most {float(self.harm.tolerated):.0%}",
            f"by deployments: {self.comparison}",
        ]
        told = (
            "not decided"
            if self.decision is None
            else f"decided: {float(self.decision.epsilon):g}, {self.decision.reason}"
        )
        return "\n".join([*lines, told])

    __repr__ = __str__


def choose_epsilon(
    codebook: Codebook | Mapping[str, Any] | str | os.PathLike[str],
    *,
    harm: Harm | str,
    attack: str,
    people: int,
    delta: Real = 0,
    period: str = "ever",
    values: int | None = None,
) -> EpsilonChoice:
    """What is needed to choose epsilon for a data set, from public facts alone; `.decide(...)` records the choice.

    `harm` is slight, moderate, serious or grave; `attack` is tracing, reconstruction or linkage; `people` is how many
    the data could be about; `period` is how long one epsilon lasts ("ever", or "day", "week", "month", ... if it
    starts afresh); `values` is how many values the attacker would guess among, by default the fewest a column of the
    codebook has.

    Guarantee: nothing private is looked at; the curves are bounds for every attacker, rounded up.
    """
    book = _book(codebook)
    if book.unit is None:
        raise InvalidArgument("the codebook names no unit; add unit: {id: ..., groups: ..., rows_per_group: ...}")
    count, slip = integer(people=people, least=2), probability(delta=delta)
    among = _fewest_values(book) if values is None else integer(values=values, least=2)
    if attack not in ATTACKS:
        raise InvalidArgument(f"attack must be one of {', '.join(ATTACKS)}, got {attack!r}")
    neighbours: Neighbours = book.unit.neighbours
    curves = tuple(
        attack_curve(attack_named(name, people=count, values=among, neighbours=neighbours), delta=slip)
        for name in ATTACKS
    )
    return EpsilonChoice(
        unit=str(book.unit),
        harm=_harm(harm),
        attack=attack,
        people=count,
        delta=slip,
        curves=curves,
        comparison=compare_deployments(protected=_protected(book), period=_period(book, period), trust=Trust.CENTRAL),
    )


def _told(loss: Fraction) -> dict[str, float]:
    return {"truth": EpsilonMeaning(loss, Fraction(0)).truth}


def _book(codebook: Codebook | Mapping[str, Any] | str | os.PathLike[str]) -> Codebook:
    if isinstance(codebook, Codebook):
        return codebook
    return Codebook.from_record(codebook) if isinstance(codebook, Mapping) else Codebook.load(Path(codebook))


def _harm(harm: Harm | str) -> Harm:
    try:
        return Harm(harm)
    except ValueError:
        raise InvalidArgument(f"harm must be one of {', '.join(each.value for each in Harm)}, got {harm!r}") from None


def _protected(book: Codebook) -> Protected:
    """A named identifier is taken for a person unless it says household; a unit of rows is a single event."""
    if book.unit is None or book.unit.id is None:
        return Protected.EVENT
    return Protected.HOUSEHOLD if "house" in book.unit.id.lower() else Protected.PERSON


def _period(book: Codebook, stated: str) -> str:
    """The codebook's own period where its unit has one, else what was stated."""
    if book.unit is not None and book.unit.period is not None:
        return book.unit.period.length.value
    return stated


def _fewest_values(book: Codebook) -> int:
    """The fewest values of a private column that lists them: the easiest to guess. Two where none does."""
    private = [variable for table in book.tables if not table.public for variable in table.variables]
    counts = [2 for variable in private if variable.type is Type.BOOLEAN]
    counts += [len(variable.values) for variable in private if variable.values is not None and len(variable.values) > 1]
    return min(counts, default=2)
