"""Proposals to amend the codebook: written by a curator who holds no data, taken up or rejected by whoever does.

A proposal carries the whole public text of the codebook, its fingerprint, and the fingerprint of the one it was edited from.
It changes nothing by itself: the amendment that takes it up names it, and so does a rejection.

Guarantee: a proposal moves no sum and no term; at most one event answers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deniable.errors import InvalidArgument, NotGranted
from deniable.ledger.chain import Event, EventKind
from deniable.ledger.terms import named

MOST_CODEBOOK = 48_000
"""Characters a proposed codebook may have."""


@dataclass(frozen=True, slots=True)
class ProposedCodebook:
    """One proposed codebook and what became of it. `answer` is the amendment or the rejection, if there is one."""

    count: int
    body: Mapping[str, Any]
    answer: Event | None = None

    @property
    def state(self) -> str:
        """Open, amended or rejected."""
        if self.answer is None:
            return "open"
        return "amended" if self.answer.kind is EventKind.AMEND else "rejected"

    @property
    def why(self) -> str:
        """Why it was rejected, if it was."""
        return str(self.answer.body["reason"]) if self.answer is not None and self.state == "rejected" else ""


def proposal_body(*, text: str, codebook: str, base: str, reason: str, by: str) -> dict[str, Any]:
    """What a proposal says: the codebook's text and fingerprint, the one it was edited from, why and by whom."""
    if not (isinstance(text, str) and 0 < len(text.strip()) <= MOST_CODEBOOK):
        raise InvalidArgument(f"a codebook is a text of at most {MOST_CODEBOOK:,} characters, got {len(str(text)):,}")
    return {
        "text": text,
        "codebook": named(codebook=codebook),
        "base": named(base=base),
        "reason": named(reason=reason),
        "by": named(by=by),
    }


def open_proposal(proposals: Mapping[int, ProposedCodebook], count: int) -> ProposedCodebook:
    """The proposal of this event, while nobody has answered it."""
    found = proposals.get(count)
    if found is None:
        raise InvalidArgument(f"event {count} is no proposal; check its number")
    if found.answer is not None:
        raise NotGranted(f"the proposal of event {count} was {found.state} already")
    return found


def proposal_fault(found: ProposedCodebook | None, event: Event) -> str | None:
    """What is wrong with this event as the answer to that proposal, if anything."""
    if found is None:
        return f"event {event.count} answers a proposal that nobody made"
    if found.answer is not None:
        return f"event {event.count} answers a proposal that was {found.state} already"
    if event.kind is EventKind.AMEND and event.body["terms"]["codebook"] != found.body["codebook"]:
        return f"event {event.count} amends to another codebook than was proposed"
    return None
