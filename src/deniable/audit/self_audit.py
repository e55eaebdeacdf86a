"""The auditor's own report: every mechanism of ours, every planted fault, and what replay finds. Caught, missed, false alarms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.audit.auditor import audit_by_draws, audit_exactly
from deniable.audit.claims import curve_of
from deniable.audit.faults import PLANTED, Fault
from deniable.audit.recorder import replay
from deniable.audit.sound import SCALES, Sound, sound
from deniable.audit.subject import subject_of
from deniable.audit.verdict import Verdict
from deniable.errors import InvalidArgument
from deniable.exact.guards import open_probability
from deniable.noise import Entropy, system_entropy
from deniable.version import __version__

QUICK, FULL = 4_000, 40_000


@dataclass(frozen=True, slots=True)
class SelfReport:
    """What one self-audit found, by name."""

    caught: tuple[str, ...]
    missed: tuple[str, ...]
    replayed: tuple[str, ...]
    not_replayed: tuple[str, ...]
    cleared: tuple[str, ...]
    beyond: tuple[str, ...]
    """Sound mechanisms with a price so large that these draws could refute nothing."""
    accused: tuple[str, ...]
    level: float
    entropy: str

    @property
    def passed(self) -> bool:
        """No mechanism of ours is accused, and at most two faults are missed."""
        return not self.accused and len(self.missed) <= 2 and not self.not_replayed

    def record(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "format": "deniable self-audit 1",
            "version": __version__,
            "passed": self.passed,
            "level": self.level,
            "entropy": self.entropy,
            "planted faults": {"caught": list(self.caught), "missed": list(self.missed)},
            "found by replay": {"caught": list(self.replayed), "missed": list(self.not_replayed)},
            "our mechanisms": {
                "not refuted": list(self.cleared),
                "not refutable with so few draws": list(self.beyond),
                "accused": list(self.accused),
            },
        }

    def __str__(self) -> str:
        total = len(self.caught) + len(self.missed)
        lines = [
            f"planted faults: {len(self.caught)} of {total} caught" + _named("; missed", self.missed),
            f"found by replay alone: {len(self.replayed)}" + _named("; missed", self.not_replayed),
            f"our mechanisms: {len(self.cleared)} not refuted, {len(self.beyond)} beyond so few draws, "
            f"{len(self.accused)} accused" + _named(":", self.accused),
            f"all false alarms together have probability at most {self.level:g}; entropy: {self.entropy}",
        ]
        return "\n".join(lines)


def _named(before: str, names: tuple[str, ...]) -> str:
    return f"{before} {', '.join(names)}" if names else ""


def self_audit(
    *,
    quick: bool = True,
    level: float = 0.01,
    entropy: Entropy | None = None,
    say: Callable[[str], None] = lambda _: None,
    scales: tuple[Fraction, ...] = SCALES,
) -> SelfReport:
    """Audit every mechanism of ours at every scale, then the planted faults, by the law or by draws, then by replay."""
    level = float(open_probability(level=level))
    source, draws = entropy or system_entropy(), QUICK if quick else FULL
    cases = [(scale, case) for scale in scales for case in sound(scale)]
    found: dict[str, list[str]] = {"cleared": [], "beyond": [], "accused": []}
    for scale, case in cases:
        name = f"{case.name} at scale {scale}"
        say(name)
        found[audit_sound(case, samples=draws, error=level / len(cases), entropy=source)].append(name)
    caught, missed = _sorted(PLANTED, lambda fault: audit_fault(fault, entropy=source).broken, say)
    programs = [fault for fault in PLANTED if hasattr(fault, "program")]
    replayed, lost = _sorted(programs, lambda fault: replay_fault(fault, entropy=source), say)
    kind = f"testing: {type(source).__name__}" if source.is_testing else "system"
    return SelfReport(
        caught,
        missed,
        replayed,
        lost,
        tuple(found["cleared"]),
        tuple(found["beyond"]),
        tuple(found["accused"]),
        level,
        kind,
    )


def _sorted(
    faults: Any, is_found: Callable[[type[Fault]], bool], say: Callable[[str], None]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    sides: tuple[list[str], list[str]] = ([], [])
    for fault in faults:
        say(fault.title)
        sides[0 if is_found(fault) else 1].append(fault.title)
    return tuple(sides[0]), tuple(sides[1])


def audit_sound(case: Sound, *, samples: int, error: float, entropy: Entropy) -> str:
    """Cleared, accused, or beyond what so many draws can refute."""
    subject, curves, pair = subject_of(case), [curve_of(case.claim)], [(case.left, case.right)]
    exact = audit_exactly(subject, pair, curves, most=2_000) if case.enumerable else None
    if exact is not None:
        return "accused" if exact.broken else "cleared"
    try:
        verdict = audit_by_draws(subject, pair, curves, samples=samples, level=error, entropy=entropy)
    except InvalidArgument:
        return "beyond"
    return "accused" if verdict.broken else "cleared"


def audit_fault(fault: type[Fault], *, entropy: Entropy, level: float = 0.01) -> Verdict:
    """One planted fault with the number of draws it says it takes, or by its law."""
    subject, curves, pair = subject_of(fault()), [curve_of(fault.claim)], [(fault.left, fault.right)]
    if fault.samples is None:
        exact = audit_exactly(subject, pair, curves)
        if exact is not None:
            return exact
    return audit_by_draws(subject, pair, curves, samples=fault.samples or FULL, level=level, entropy=entropy)


def replay_fault(fault: type[Fault], *, entropy: Entropy | None = None) -> bool:
    """Whether replay alone finds it, and names the function."""
    planted: Any = fault()
    report = replay(planted.program, neighbours=(fault.left, fault.right), entropy=entropy)
    return report.broken and any(fault.__name__ in found.function for found in report.divergences)


_NAMES = {"type": "array", "items": {"type": "string"}}


def _lists(*names: str) -> dict[str, Any]:
    return {"type": "object", "required": list(names), "properties": dict.fromkeys(names, _NAMES)}


SELF_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Certificate of a self-audit",
    "type": "object",
    "required": [
        "format", "version", "passed", "level", "entropy", "planted faults", "found by replay", "our mechanisms",
    ],
    "properties": {
        "format": {"const": "deniable self-audit 1"},
        "version": {"type": "string"},
        "passed": {"type": "boolean"},
        "level": {"type": "number", "description": "the largest probability that a sound mechanism is accused"},
        "entropy": {"type": "string"},
        "planted faults": _lists("caught", "missed"),
        "found by replay": _lists("caught", "missed"),
        "our mechanisms": _lists("not refuted", "not refutable with so few draws", "accused"),
    },
}  # fmt: skip
"""The JSON schema of a self-audit's certificate."""
