"""Made-up data for the demonstration: hospital visits and browser logs, from a fixed seed.

Nothing here is secret and nothing here is noise for privacy, so an ordinary seeded generator is the right tool.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SPECIALTIES = (
    "cardiology",
    "dermatology",
    "general",
    "oncology",
    "orthopaedics",
    "paediatrics",
    "psychiatry",
    "radiology",
)

VISITS_CODEBOOK = """\
format: 1
name: visits
description: made-up hospital visits
unit: {id: patient_id, groups: 4, rows_per_group: 5}
tables:
  visits:
    variables:
      patient_id: {type: integer}
      specialty:
        type: string
        categories: [cardiology, dermatology, general, oncology, orthopaedics, paediatrics, psychiatry, radiology]
      day: {type: date, bounds: [2025-01-01, 2025-12-31], provenance: the reporting year}
      age: {type: integer, bounds: [0, 110], provenance: demographic tables}
      duration: {type: number, bounds: [0, 240], step: 0.25, provenance: the longest bookable slot in minutes}
"""

LOGS_CODEBOOK = """\
format: 1
name: logs
description: made-up browser logs
unit: {id: user, groups: 6, rows_per_group: 4}
tables:
  logs:
    variables:
      user: {type: string}
      domain: {type: string}
      seconds: {type: integer, bounds: [0, 600], provenance: pages left open are cut after ten minutes}
"""


def visits(patients: int = 20_000, seed: int = 1) -> dict[str, Any]:
    """Hospital visits: most patients come a few times, a few come very often."""
    random = np.random.default_rng(seed)  # noqa: TID251 - public made-up data
    times = 1 + random.geometric(0.6, patients)
    patient = np.repeat(np.arange(1, patients + 1), times)
    count = len(patient)
    usual = random.integers(0, len(SPECIALTIES), patients)[patient - 1]
    other = random.choice(len(SPECIALTIES), count, p=[0.1, 0.12, 0.36, 0.06, 0.12, 0.12, 0.05, 0.07])
    specialty = np.where(random.random(count) < 0.6, usual, other)
    age = np.clip(random.gamma(4.5, 11, patients), 0, 110).astype(int)[patient - 1]
    centre = np.array([35, 15, 18, 50, 28, 20, 52, 24])[specialty]
    duration = np.round(random.gamma(4, centre / 4) * 4) / 4
    day = np.datetime64("2025-01-01") + random.integers(0, 365, count)
    return {
        "patient_id": patient,
        "specialty": np.array(SPECIALTIES, dtype=object)[specialty],
        "day": day.astype("datetime64[us]"),
        "age": age,
        "duration": duration,
    }


def logs(users: int = 8_000, seed: int = 2) -> dict[str, Any]:
    """Browser logs: a few domains everybody visits, many that hardly anyone does."""
    random = np.random.default_rng(seed)  # noqa: TID251 - public made-up data
    times = 1 + random.geometric(0.35, users)
    user = np.repeat(np.arange(users), times)
    rank = 1 + random.zipf(1.5, len(user)) % 20_000
    seconds = np.minimum(random.exponential(150, len(user)).astype(int), 600)
    return {
        "user": np.array([f"u{number:06}" for number in user], dtype=object),
        "domain": np.array([f"site{number}.example" for number in rank], dtype=object),
        "seconds": seconds,
    }


def true_counts(rows: dict[str, Any]) -> dict[tuple[Any, ...], dict[str, float]]:
    """Visits and patients of every specialty."""
    chosen = {name: rows["patient_id"][rows["specialty"] == name] for name in SPECIALTIES}
    return {(name,): {"n": len(ids), "patients": len(np.unique(ids))} for name, ids in chosen.items()}


def true_lengths(rows: dict[str, Any]) -> dict[tuple[Any, ...], dict[str, float]]:
    """Mean and median length of visits."""
    chosen = {name: rows["duration"][rows["specialty"] == name] for name in SPECIALTIES}
    return {(name,): {"avg": float(v.mean()), "median": float(np.median(v))} for name, v in chosen.items()}


def true_months(rows: dict[str, Any]) -> dict[tuple[Any, ...], dict[str, float]]:
    """Visits in every month."""
    months, counts = np.unique(rows["day"].astype("datetime64[M]"), return_counts=True)
    starts = months.astype("datetime64[D]").tolist()
    return {(start,): {"n": int(count)} for start, count in zip(starts, counts, strict=True)}


def true_logs(rows: dict[str, Any]) -> dict[tuple[Any, ...], dict[str, float]]:
    """Users of every domain."""
    domains, place = np.unique(rows["domain"].astype(str), return_inverse=True)
    pairs = np.unique(np.stack([place, np.unique(rows["user"].astype(str), return_inverse=True)[1]]), axis=1)
    users = np.bincount(pairs[0], minlength=len(domains))
    return {(str(name),): {"users": int(users[i])} for i, name in enumerate(domains.tolist())}
