"""Contextual integrity: the five parameters of an information flow, what the release disrupts, and what
differential privacy mends of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from deniable.deciding.yaml_records import yaml_record
from deniable.errors import InvalidArgument

FIELDS = {
    "subject": "Whom is the information about?",
    "sender": "Who holds it and passes it on?",
    "recipient": "Who will get what is released?",
    "type": "What kind of information is it?",
    "principle": "On which terms was it given: consent, a law, a promise?",
    "disrupted": "What does this release change of the flow that people expect?",
    "mended": "Which of that does differential privacy bound?",
    "not_mended": "What remains, and why is it put up with?",
}
"""Every field of the form, as a question."""
SIGNED = "context."
"""How the item of a signature under one of the fields begins."""


def signed_fields(signatures: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The last signature under each field of the form, as the ledger keeps it."""
    last = {str(each["item"]).removeprefix(SIGNED): each for each in signatures if each["item"].startswith(SIGNED)}
    return {name: last[name] for name in FIELDS if name in last}


@dataclass(frozen=True, slots=True, kw_only=True)
class InformationFlow:
    """One flow of information, as it was expected and as it will be.

    subject, sender, recipient, type and principle describe the flow people expect; `disrupted` says what the release changes of it;
    `mended` says which of that differential privacy bounds, and `not_mended` what remains and why it is put up with.
    """

    subject: str
    sender: str
    recipient: str
    type: str
    principle: str
    disrupted: str
    mended: str
    not_mended: str

    def __post_init__(self) -> None:
        for field in fields(self):
            text = getattr(self, field.name)
            if not (isinstance(text, str) and text.strip()):
                raise InvalidArgument(f"{field.name} must be written down in the context form, got {text!r}")

    def to_record(self) -> dict[str, str]:
        """As JSON-able text."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> InformationFlow:
        """The form a mapping fills in; all of it, and nothing else."""
        known = [field.name for field in fields(cls)]
        missing, unknown = [name for name in known if name not in record], sorted(set(record) - set(known) - {"format"})
        if missing or unknown:
            raise InvalidArgument(
                f"the context form has the fields {', '.join(known)}; missing {missing}, unknown {unknown}"
            )
        return cls(**{name: record[name] for name in known})

    @classmethod
    def signed(cls, signatures: Iterable[Mapping[str, Any]]) -> InformationFlow | None:
        """The form as it was signed at a server, field by field; None while a field is open."""
        said = signed_fields(signatures)
        return cls(**{name: str(each["text"]) for name, each in said.items()}) if len(said) == len(FIELDS) else None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> InformationFlow:
        """The form in a YAML file."""
        return cls.from_record(yaml_record(path, "context form"))
