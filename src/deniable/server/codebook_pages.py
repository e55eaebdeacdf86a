"""The codebook's page and REST routes: a curator reads every bound with its source, edits, previews, and proposes an amendment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from deniable.errors import DeniableError, InvalidArgument
from deniable.ledger import ProposedCodebook
from deniable.ledger.proposals import MOST_CODEBOOK
from deniable.server.access import check_role, visible_dataset
from deniable.server.codebook_desk import bounds_table, drafted, unit_sentence
from deniable.server.counter import Counter
from deniable.server.settings import Person, Role

Written = Annotated[str, Form(max_length=2 * MOST_CODEBOOK)]
"""A text area's content: browsers send every line end as two characters."""


class ProposedText(BaseModel):
    """A whole codebook in YAML."""

    model_config = ConfigDict(extra="forbid")
    codebook: str = Field(min_length=1, max_length=MOST_CODEBOOK)


class AskedAmendment(ProposedText):
    """A whole codebook in YAML, and why it should be in force."""

    reason: str = Field(max_length=200)


def proposal_view(proposal: ProposedCodebook) -> dict[str, Any]:
    """A proposal and what became of it."""
    told = {name: proposal.body[name] for name in ("reason", "by", "at")}
    return {"proposal": proposal.count, "state": proposal.state, "why": proposal.why, **told}


def codebook_view(counter: Counter) -> dict[str, Any]:
    """The codebook in force as text, its unit in a sentence, every bound with its source, and what was proposed."""
    book = counter.data.codebook
    return {
        "codebook": book.to_yaml(),
        "unit": unit_sentence(book.unit),
        "bounds": bounds_table(book),
        "proposals": [proposal_view(each) for each in counter.ledger.desk.proposals()],
    }


def draft_view(counter: Counter, text: str) -> dict[str, Any]:
    """What a proposed codebook would change; nothing is written."""
    draft = drafted(counter.data.codebook, text)
    book = draft.codebook
    return {"unit": unit_sentence(book.unit), "changes": list(draft.changes), "bounds": bounds_table(book)}


def proposed(counter: Counter, text: str, *, reason: str, by: str) -> ProposedCodebook:
    """Write the proposal into the chain, for the worker to take up."""
    draft = drafted(counter.data.codebook, text)
    if not reason:
        raise InvalidArgument("say why: the reason of an amendment is part of the chain")
    return counter.ledger.desk.propose(draft.text, codebook=draft.print, reason=reason, by=by)


def codebook_routes(routes: APIRouter, counters: dict[str, Counter], me: Any) -> None:
    """The same in REST; `me` proves who asks."""

    def curated(person: Person, name: str) -> Counter:
        counter = visible_dataset(person, name, counters)
        check_role(person, counter, Role.CURATOR)
        return counter

    @routes.get("/datasets/{name}/codebook")
    def codebook(name: str, person: Person = me) -> dict[str, Any]:
        """For curators: the codebook in force as text, its unit in a sentence, every bound with its source, and proposals."""
        return codebook_view(curated(person, name))

    @routes.post("/datasets/{name}/codebook/preview")
    def preview(name: str, said: ProposedText, person: Person = me) -> dict[str, Any]:
        """For curators: what a codebook would change, or the line of its mistake; nothing is written."""
        return draft_view(curated(person, name), said.codebook)

    @routes.post("/datasets/{name}/codebook", status_code=201)
    def propose(name: str, said: AskedAmendment, person: Person = me) -> dict[str, Any]:
        """For curators: propose an amendment, with a reason; the worker takes it up where the data opens under it."""
        return proposal_view(proposed(curated(person, name), said.codebook, reason=said.reason, by=person.name))


def codebook_pages(
    routes: APIRouter,
    counters: dict[str, Counter],
    *,
    person: Callable[[Request], Person],
    posting: Callable[[Request, str], Person],
    page: Callable[..., HTMLResponse],
) -> None:
    """The page of the codebook; without a script, for curators alone."""

    def shown(request: Request, counter: Counter, *, status: int = 200, **told: Any) -> Response:
        known = {"name": counter.data.name, "text": counter.data.codebook.to_yaml(), "reason": "", "error": ""}
        told = {"book": codebook_view(counter), "draft": None, **known, **told}
        return page(request, "codebook.html", status=status, **told)

    @routes.get("/data/{name}/codebook")
    def codebook(request: Request, name: str) -> Response:
        known = person(request)
        counter = visible_dataset(known, name, counters)
        check_role(known, counter, Role.CURATOR)
        return shown(request, counter)

    @routes.post("/data/{name}/codebook")
    def edit(
        request: Request,
        name: str,
        csrf: Annotated[str, Form(max_length=400)],
        codebook: Written,
        reason: Annotated[str, Form(max_length=400)] = "",
        action: Annotated[str, Form(max_length=40)] = "preview",
    ) -> Response:
        known = posting(request, csrf)
        counter = visible_dataset(known, name, counters)
        check_role(known, counter, Role.CURATOR)
        text, why = codebook.replace("\r\n", "\n"), " ".join(reason.split())
        try:
            if action != "propose":
                return shown(request, counter, text=text, reason=why, draft=draft_view(counter, text))
            proposed(counter, text, reason=why, by=known.name)
        except DeniableError as error:
            return shown(request, counter, status=422, text=text, reason=why, error=str(error))
        return RedirectResponse(f"/data/{name}/codebook", status_code=303)
