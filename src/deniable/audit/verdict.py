"""What an audit found: whether a claim is refuted, by which event, and a lower bound on epsilon that holds at a stated level.

An audit refutes; it never proves. `broken` false means that these draws, on these neighbours, refute nothing.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deniable.audit.answer_events import AnswerEvent
from deniable.audit.claims import claim_text
from deniable.audit.two_halves import Trial
from deniable.cost import Cost
from deniable.exact import number_of
from deniable.ledger.costs_json import cost_record
from deniable.version import __version__

_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class EventReplay:
    """The found event on new draws, tested alone; `shown`: it refutes the claim again. `script` shows it to somebody else."""

    trial: Trial | None
    level: float
    script: str

    @property
    def shown(self) -> bool:
        """Whether these draws refute the claim by themselves."""
        return self.trial is not None and self.trial.broken

    def __str__(self) -> str:
        return self.script


@dataclass(frozen=True, slots=True)
class Verdict:
    """Everything one audit can say.

    Guarantee: all lower bounds of one verdict hold together with probability at least 1 - `level` over the draws; an exact
    verdict (`method` is "exact") has no level and holds always.
    """

    subject: str
    claims: tuple[Cost, ...]
    method: str
    broken: bool
    epsilon_at_least: float
    delta: float
    event: AnswerEvent | None
    trials: tuple[Trial, ...]
    level: float
    samples: int
    pairs: int
    entropy: str
    notes: tuple[str, ...]
    draw_again: Callable[[int | None, Any], Trial | None]
    found_on: tuple[Any, Any] | None = None
    """The pair of data sets that the event was found on; it is in the script, never in the certificate."""
    rates: tuple[float, float] | None = None
    """How often the event happens on the first data set of its pair and on the second: of the tested draws, or by the law."""
    kept: bool = False
    """Of exact laws: the claim holds on these neighbours, up to the tails that were cut off. Draws never say so."""

    def replay(self, *, samples: int | None = None, entropy: Any = None) -> EventReplay:
        """The found event once more, on new draws, and a script that does it; nothing is chosen this time."""
        return EventReplay(self.draw_again(samples, entropy) if self.event else None, self.level, self.script)

    @property
    def script(self) -> str:
        """A small program that counts the found event on both data sets; what cannot be written down is left to whoever runs it."""
        module, _, name = self.subject.partition(":")
        importable = bool(name) and name.isidentifier() and all(part.isidentifier() for part in module.split("."))
        shown = repr(self.found_on)
        ready = importable and self.found_on is not None and _is_literal(shown)
        run = f"print(dp.audit.event_counts({name}, event, neighbours={shown}, draws={max(self.samples // 2, 1):_}))"
        return "\n".join(
            [
                "import deniable as dp",
                "from deniable.audit import AnswerEvent",
                f"from {module} import {name}" if importable else f"# audited: {self.subject}",
                "inf = float('inf')",
                f"event = {self.event!r}" if self.event else "event = None  # no event was found",
                run
                if ready
                else "# print(dp.audit.event_counts(what_was_audited, event, neighbours=(left, right), draws=10_000))",
                "",
            ]
        )

    def certificate(self) -> dict[str, Any]:
        """The verdict as plain JSON; `dp.audit.SCHEMA` is its schema."""
        return {
            "format": "deniable audit 1",
            "version": __version__,
            "subject": self.subject,
            "claims": [cost_record(claim) for claim in self.claims],
            "method": self.method,
            "broken": self.broken,
            "epsilon_at_least": self.epsilon_at_least if math.isfinite(self.epsilon_at_least) else None,
            "delta": self.delta,
            "level": self.level,
            "samples": self.samples,
            "pairs": self.pairs,
            "entropy": self.entropy,
            "event": self.event.record() if self.event else None,
            "trials": [_record(trial) for trial in self.trials],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The certificate as text."""
        return json.dumps(self.certificate(), indent=1, sort_keys=True, allow_nan=False)

    def __str__(self) -> str:
        claimed = ", ".join(map(claim_text, self.claims))
        how = "exactly" if self.method == "exact" else f"with {number_of(self.samples, 'draw')} at level {self.level:g}"
        if not self.broken:
            return (
                f"{self.subject}: {claimed} is not refuted {how} on {number_of(self.pairs, 'pair')}; "
                f"epsilon is at least {self.epsilon_at_least:.4g} at delta = {self.delta:g}"
            )
        bound = "is infinite" if math.isinf(self.epsilon_at_least) else f"is at least {self.epsilon_at_least:.4g}"
        shares = "{:.3g} % of the answers about the first data set, {:.3g} % about the second"
        often = f" ({shares.format(*(100 * rate for rate in self.rates))})" if self.rates else ""
        broken = f"{claimed} is BROKEN {how}: epsilon {bound} at delta = {self.delta:g}"
        return f"{self.subject}: {broken}; event: {self.event}{often}"


def _is_literal(text: str) -> bool:
    """Whether a text of Python says a value by itself, and is short enough to be shown."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return len(text) <= _LONGEST


def _record(trial: Trial) -> dict[str, Any]:
    return {
        "event": trial.event.record(),
        "likelier_on": "second" if trial.reversed else "first",
        "draws_each_side": trial.pairs.draws,
        "seen": [trial.pairs.often, trial.pairs.seldom],
        "slope": trial.pairs.slope,
        "error": trial.pairs.error,
        "probability_at_least": trial.pairs.at_least,
        "probability_at_most": trial.pairs.at_most,
        "excess": trial.excess,
        "epsilon_at_least": trial.epsilon if math.isfinite(trial.epsilon) else None,
    }


_NUMBER, _TEXT, _WHOLE = {"type": "number"}, {"type": "string"}, {"type": "integer"}
_EVENT = {
    "type": "object",
    "required": ["column", "intervals", "names", "text"],
    "properties": {
        "column": _TEXT,
        "text": _TEXT,
        "names": {"type": "array", "items": _TEXT},
        "intervals": {"type": "array", "items": {"type": "array", "items": {"type": ["number", "null"]}}},
    },
}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Certificate of an audit",
    "type": "object",
    "required": [
        "format", "version", "subject", "claims", "method", "broken", "epsilon_at_least", "delta", "level", "samples",
        "pairs", "entropy", "event", "trials", "notes",
    ],
    "properties": {
        "format": {"const": "deniable audit 1"},
        "version": _TEXT,
        "subject": _TEXT,
        "claims": {"type": "array", "items": {"type": "object"}},
        "method": {"enum": ["samples", "exact"]},
        "broken": {"type": "boolean"},
        "epsilon_at_least": {"type": ["number", "null"], "description": "null: no finite epsilon is possible"},
        "delta": _NUMBER,
        "level": _NUMBER,
        "samples": _WHOLE,
        "pairs": _WHOLE,
        "entropy": _TEXT,
        "event": {"anyOf": [_EVENT, {"type": "null"}]},
        "trials": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["event", "seen", "probability_at_least", "probability_at_most"],
                "properties": {
                    "event": _EVENT,
                    "likelier_on": {"enum": ["first", "second"]},
                    "draws_each_side": _WHOLE,
                    "seen": {"type": "array", "items": _WHOLE},
                    "slope": {"type": "number", "description": "X - slope * Y is the statistic, fixed before the counts"},
                    "error": {"type": "number", "description": "this trial's share of the level"},
                    "probability_at_least": _NUMBER,
                    "probability_at_most": _NUMBER,
                    "excess": _NUMBER,
                    "epsilon_at_least": {"type": ["number", "null"]},
                },
            },
        },
        "notes": {"type": "array", "items": _TEXT},
    },
}  # fmt: skip
"""The JSON schema of a certificate."""
