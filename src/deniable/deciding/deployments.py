"""Published deployments and their privacy parameters: public facts, each with its source, its unit and its period.

A small epsilon for one event of one day promises less than a large one for a person for ever, so two entries are
compared only where unit, period and place of the noise agree; all others are listed apart, with the reason
why they say nothing about this case.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Protected(Enum):
    """Who is protected by one deployment's epsilon."""

    PERSON = "person"
    HOUSEHOLD = "household or housing unit"
    EVENT = "single event or action"


class Trust(Enum):
    """Where the noise is added."""

    CENTRAL = "by the curator"
    LOCAL = "on each person's device"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """One published use. `period` is how long one epsilon lasts: "ever" for a single release, else the time after
    which it starts afresh.
    """

    name: str
    organisation: str
    year: int
    epsilon: float
    delta: float
    protected: Protected
    period: str
    trust: Trust
    source: str
    note: str = ""

    @property
    def terms(self) -> tuple[str, str, str]:
        """What must agree before two epsilons may be compared."""
        return (self.protected.value, self.period, self.trust.value)


def _apple(name: str, epsilon: float) -> Deployment:
    return Deployment(
        name=name,
        organisation="Apple",
        year=2017,
        epsilon=epsilon,
        delta=0.0,
        protected=Protected.PERSON,
        period="day",
        trust=Trust.LOCAL,
        source="Apple, Differential Privacy Overview (2017), donations of a day multiplied out as in Desfontaines, "
        "A list of real-world uses of differential privacy",
    )


DEPLOYMENTS: tuple[Deployment, ...] = (
    Deployment(
        name="Search Trends symptoms data set",
        organisation="Google",
        year=2020,
        epsilon=1.68,
        delta=0.0,
        protected=Protected.PERSON,
        period="day",
        trust=Trust.CENTRAL,
        source="Bavadekar et al., Google COVID-19 Search Trends Symptoms Dataset, arXiv 2009.01265, abstract",
    ),
    Deployment(
        name="Vaccination Search Insights",
        organisation="Google",
        year=2021,
        epsilon=2.19,
        delta=1e-5,
        protected=Protected.PERSON,
        period="day",
        trust=Trust.CENTRAL,
        source="Bavadekar et al., Google COVID-19 Vaccination Search Insights, arXiv 2107.01179, abstract",
    ),
    Deployment(
        name="Full URLs data set",
        organisation="Facebook and Social Science One",
        year=2020,
        epsilon=0.45,
        delta=1e-5,
        protected=Protected.EVENT,
        period="ever",
        trust=Trust.CENTRAL,
        source="Messing et al., Facebook Privacy-Protected Full URLs Data Set (2020), as read by Desfontaines, "
        "A list of real-world uses of differential privacy",
        note="one action; of each type of action 99 % of users are protected as a whole",
    ),
    Deployment(
        name="Audience Engagements API",
        organisation="LinkedIn",
        year=2020,
        epsilon=34.9,
        delta=7e-9,
        protected=Protected.PERSON,
        period="month",
        trust=Trust.CENTRAL,
        source="Rogers et al., LinkedIn's Audience Engagements API, arXiv 2002.05839",
        note="a member is protected against one querying analyst",
    ),
    Deployment(
        name="Page views by country",
        organisation="Wikimedia Foundation",
        year=2023,
        epsilon=1.0,
        delta=1e-7,
        protected=Protected.PERSON,
        period="day",
        trust=Trust.CENTRAL,
        source="Wikimedia Foundation, README of the data set country_project_page: rho 0.015, roughly epsilon 1 at delta 1e-7",
        note="the first ten pages a device sees on a day; since 2024 other values for some countries",
    ),
    _apple("Health type usage", 2.0),
    _apple("Emoji suggestions", 4.0),
    _apple("Lookup hints", 8.0),
    _apple("New words in QuickType", 16.0),
)
"""Every figure here was found again in the source it names; add a row with its source, never a number without one."""


@dataclass(frozen=True, slots=True)
class DeploymentComparison:
    """Deployments beside one's own terms: those that can be compared, and the others with what differs."""

    alike: tuple[Deployment, ...]
    unlike: tuple[tuple[Deployment, str], ...]

    @property
    def range(self) -> tuple[float, float] | None:
        """The smallest and largest epsilon among those that can be compared."""
        losses = [each.epsilon for each in self.alike]
        return (min(losses), max(losses)) if losses else None

    def __str__(self) -> str:
        if self.range is None:
            return "no published deployment in the table has the same unit, period and place of the noise"
        low, high = self.range
        names = ", ".join(f"{each.organisation} {each.name} ({each.epsilon:g})" for each in self.alike)
        if len(self.alike) == 1:
            return f"one comparable deployment: {names}"
        return f"comparable deployments lie between {low:g} and {high:g}: {names}"


def compare_deployments(
    *, protected: Protected, period: str, trust: Trust = Trust.CENTRAL, table: Iterable[Deployment] = DEPLOYMENTS
) -> DeploymentComparison:
    """The table beside a release with these terms; nothing is converted from one unit or period to another."""
    terms = (protected.value, period, trust.value)
    alike, unlike = [], []
    for each in table:
        differences = [
            f"{theirs}, not {ours}" for theirs, ours in zip(each.terms, terms, strict=True) if theirs != ours
        ]
        if differences:
            unlike.append((each, "; ".join(differences)))
        else:
            alike.append(each)
    return DeploymentComparison(tuple(alike), tuple(unlike))
