"""What a release says about itself: a plain record that a session fills and the release table prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from deniable.errors import InvalidArgument
from deniable.exact.guards import nonnegative, probability
from deniable.ledger.numbers import number_from_text, number_text, short
from deniable.ledger.receipt import Receipt
from deniable.version import __version__

_EXACT = frozenset({"epsilon", "delta"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """The facts of one release. All of them are public; a fact left empty is printed as "not stated".

    The first eight make the short table: scope (what was published), preprocessing (what was done to the data before),
    epsilon and delta (the whole guarantee of this release, exact), unit (who is protected), mechanisms, implementation, url.
    """

    scope: str
    epsilon: Fraction
    delta: Fraction
    unit: str
    mechanisms: tuple[str, ...]
    preprocessing: tuple[str, ...] = ()
    implementation: str = f"deniable {__version__}"
    url: str = ""

    dataset: str = ""
    data_version: str = ""
    period: str = ""
    measure: str = ""
    neighbours: str = ""
    contribution: str = ""
    sampling: str = ""
    keys: str = ""
    bounds: str = ""
    composition: str = ""
    adaptivity: str = ""
    budget: str = ""
    spent: str = ""
    left: str = ""
    accuracy: tuple[str, ...] = ()
    suppression: str = ""
    failure: str = ""
    postprocessing: tuple[str, ...] = ()
    not_included: tuple[str, ...] = ()
    receipt: str = ""
    head: str = ""
    license: str = ""
    contact: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", nonnegative(epsilon=self.epsilon))
        object.__setattr__(self, "delta", probability(delta=self.delta))
        for name in ("scope", "unit"):
            if not getattr(self, name):
                raise InvalidArgument(f"{name} must be stated in a release table, got {getattr(self, name)!r}")
        if not self.mechanisms:
            raise InvalidArgument("mechanisms must name at least one, got ()")

    def with_receipt(self, receipt: Receipt) -> ReleaseFacts:
        """These facts, with what only the ledger knows: the receipt, its place in the chain, and the budget's state."""
        return replace(
            self,
            receipt=receipt.id,
            head=receipt.head,
            data_version=str(receipt.data_version),
            spent=receipt.shown(receipt.spent),
            left=receipt.shown(receipt.left, downwards=True),
        )

    def to_record(self) -> dict[str, Any]:
        """The facts as a JSON-able dictionary, exact."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: number_text(value) if name in _EXACT else _plain(value) for name, value in values.items()}

    @classmethod
    def from_record(cls, record: object) -> ReleaseFacts:
        """The facts `to_record` wrote."""
        if not isinstance(record, Mapping) or not {field.name for field in fields(cls)} >= set(record):
            raise InvalidArgument(f"a record of release facts was expected, got {short(record)}")
        if not {"scope", "unit", "mechanisms"} | _EXACT <= set(record):
            raise InvalidArgument("release facts need scope, epsilon, delta, unit and mechanisms; one is missing")
        return cls(**{name: _value(name, value) for name, value in record.items()})


def _plain(value: str | tuple[str, ...]) -> str | list[str]:
    return list(value) if isinstance(value, tuple) else value


def _value(name: str, value: Any) -> Any:
    if name in _EXACT:
        return number_from_text(value)
    return tuple(value) if isinstance(value, list) else value
