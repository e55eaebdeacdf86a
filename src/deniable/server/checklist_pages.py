"""The checklist and the context form of a request: read by whoever sees the request, signed item by item, field by field.

A signature is an event of the chain: item, role, person, date, remark, and as evidence a link or the hash of a file. The file
itself stays where it is; the server takes none. What the release shows by itself is filled in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from deniable.deciding import Checklist
from deniable.deciding.information_flow import FIELDS, SIGNED, signed_fields
from deniable.errors import DeniableError, InvalidArgument
from deniable.ledger import Application, Progress
from deniable.server.access import check_role, visible_dataset, visible_request
from deniable.server.codebook_desk import unit_sentence
from deniable.server.counter import Counter
from deniable.server.settings import Person, Role
from deniable.server.workloads import is_workload

Short = Annotated[str, Form(max_length=2000)]


class Signing(BaseModel):
    """One item, answered by a person in a role they have; a link or a file's SHA-256 are the evidence."""

    model_config = ConfigDict(extra="forbid")
    item: str = Field(min_length=1, max_length=100)
    role: str = Field(min_length=1, max_length=40)
    text: str = Field(min_length=1, max_length=1000)
    applies: bool = True
    link: str = Field(default="", max_length=520)
    file_hash: str = Field(default="", max_length=64)


def checklist_of(counter: Counter, known: Application) -> Checklist:
    """The checklist as it was signed, with what the release itself shows."""
    signed = Checklist().signed(event.body for event in known.signatures)
    if known.progress not in (Progress.RELEASED, Progress.PUBLISHED) or is_workload(known):
        return signed
    facts, receipt = counter.facts(known)
    return signed.filled(facts, receipt=receipt)


def context_of(known: Application) -> dict[str, dict[str, str]]:
    """Every field of the context form that was signed: what it says, who says so, and when."""
    signed = signed_fields(event.body for event in known.signatures)
    return {
        name: {**{part: str(body[part]) for part in ("text", "by", "role")}, "on": str(body["at"])[:10]}
        for name, body in signed.items()
    }


def blocking(counter: Counter, known: Application) -> list[str]:
    """What must be signed before the answer is published: items of the checklist, fields of the context form."""
    items = [item.id for item in checklist_of(counter, known).blocking]
    said = context_of(known)
    return [*items, *(f"{SIGNED}{name}" for name in FIELDS if name not in said)]


def checklist_view(counter: Counter, known: Application) -> dict[str, Any]:
    """Every item with its state and evidence, the context form, what still blocks publication, and all signatures."""
    return {
        "items": checklist_of(counter, known).to_record(),
        "context": context_of(known),
        "blocking": blocking(counter, known),
        "signatures": [dict(event.body) for event in known.signatures],
    }


def sign(counter: Counter, known: Application, person: Person, said: Signing) -> Application:
    """Write one signature into the chain; the person is the one who was proved, the role one of theirs."""
    _check_item(said)
    if said.role not in [role.value for role in Role]:
        raise InvalidArgument(f"role is one of {', '.join(role.value for role in Role)}, got {said.role[:40]!r}")
    check_role(person, counter, Role(said.role))
    more = {"applies": said.applies, "link": said.link, "file_hash": said.file_hash}
    signed = {"by": person.name, "role": said.role, "item": said.item, "text": said.text}
    return counter.ledger.desk.sign(known.account, known.request, **signed, **more)


def _check_item(said: Signing) -> None:
    if not said.item.startswith(SIGNED):
        Checklist()[said.item]
        return
    name = said.item.removeprefix(SIGNED)
    if name not in FIELDS:
        raise InvalidArgument(f"the context form has no field {name[:40]!r}; it has {', '.join(FIELDS)}")
    if not said.applies:
        raise InvalidArgument(f"{name} of the context form is always asked; say what holds, if only that nothing does")


def checklist_routes(routes: APIRouter, counters: dict[str, Counter], me: Any) -> None:
    """The same in REST; `me` proves who asks."""

    @routes.get("/datasets/{name}/requests/{account}/{request}/checklist")
    def checklist(name: str, account: str, request: str, person: Person = me) -> dict[str, Any]:
        """The checklist and context form of a request: what is signed, what the release shows by itself, and what still blocks."""
        counter = visible_dataset(person, name, counters)
        return checklist_view(counter, visible_request(person, counter, account, request))

    @routes.post("/datasets/{name}/requests/{account}/{request}/checklist", status_code=201)
    def signed(name: str, account: str, request: str, said: Signing, person: Person = me) -> dict[str, Any]:
        """Sign an item, or a field of the context form (`context.subject`), in a role one has. The last counts; all stay."""
        counter = visible_dataset(person, name, counters)
        known = visible_request(person, counter, account, request)
        return checklist_view(counter, sign(counter, known, person, said))


def checklist_pages(
    routes: APIRouter,
    counters: dict[str, Counter],
    *,
    person: Callable[[Request], Person],
    posting: Callable[[Request, str], Person],
    page: Callable[..., HTMLResponse],
) -> None:
    """The page of the checklist; without a script, an item at a time."""

    def shown(
        request: Request,
        who: Person,
        counter: Counter,
        known: Application,
        fields: dict[str, str],
        *,
        status: int = 200,
        error: str = "",
    ) -> Response:
        found = checklist_of(counter, known)
        steps: dict[str, list[Any]] = {}
        for item in found.items:
            steps.setdefault(item.step, []).append(item)
        common = {
            "name": counter.data.name,
            "known": known,
            "steps": steps,
            "roles": _roles(who, counter),
            "found": found,
        }
        written = {**dict.fromkeys(("item", "role", "text", "link", "file_hash", "answer"), ""), **fields}
        return page(request, "checklist.html", status=status, error=error, fields=written, **common)

    @routes.get("/data/{name}/requests/{account}/{id}/checklist")
    def checklist(request: Request, name: str, account: str, id: str, item: str = "") -> Response:
        who = person(request)
        counter = visible_dataset(who, name, counters)
        return shown(request, who, counter, visible_request(who, counter, account, id), {"item": item})

    @routes.post("/data/{name}/requests/{account}/{id}/checklist")
    def signing(
        request: Request,
        name: str,
        account: str,
        id: str,
        csrf: Short,
        item: Short,
        role: Short = "",
        text: Short = "",
        answer: Short = "done",
        link: Short = "",
        file_hash: Short = "",
    ) -> Response:
        who = posting(request, csrf)
        counter = visible_dataset(who, name, counters)
        known = visible_request(who, counter, account, id)
        fields = {"item": item, "role": role, "text": text, "link": link, "file_hash": file_hash, "answer": answer}
        try:
            asked = Signing.model_construct(
                item=item,
                role=role,
                text=text,
                applies=answer != "not applicable",
                link=link.strip(),
                file_hash=file_hash.strip().lower(),
            )
            sign(counter, known, who, asked)
        except DeniableError as error:
            return shown(request, who, counter, known, fields, status=422, error=str(error))
        return RedirectResponse(f"/data/{name}/requests/{account}/{id}/checklist#{item}", status_code=303)

    def context_shown(
        request: Request, who: Person, counter: Counter, known: Application, fields: dict[str, str], error: str = ""
    ) -> Response:
        said = context_of(known)
        written = {name: fields.get(name, said.get(name, {}).get("text", "")) for name in FIELDS}
        told = {"questions": FIELDS, "said": said, "fields": written, "role": fields.get("role", ""), "error": error}
        common = {"name": counter.data.name, "known": known, "roles": _roles(who, counter)}
        unit = unit_sentence(counter.data.codebook.unit)
        return page(request, "context.html", status=422 if error else 200, unit=unit, **common, **told)

    @routes.get("/data/{name}/requests/{account}/{id}/context")
    def context(request: Request, name: str, account: str, id: str) -> Response:
        who = person(request)
        counter = visible_dataset(who, name, counters)
        return context_shown(request, who, counter, visible_request(who, counter, account, id), {})

    @routes.post("/data/{name}/requests/{account}/{id}/context")
    def context_signing(
        request: Request,
        name: str,
        account: str,
        id: str,
        csrf: Short,
        role: Short = "",
        subject: Short = "",
        sender: Short = "",
        recipient: Short = "",
        type: Short = "",
        principle: Short = "",
        disrupted: Short = "",
        mended: Short = "",
        not_mended: Short = "",
        was: Annotated[list[str] | None, Form()] = None,
    ) -> Response:
        who = posting(request, csrf)
        counter = visible_dataset(who, name, counters)
        known = visible_request(who, counter, account, id)
        texts = subject, sender, recipient, type, principle, disrupted, mended, not_mended
        before = dict(zip(FIELDS, was or (), strict=False))  # what this person left as it was they did not write
        fields = {
            name: text for name, text in zip(FIELDS, texts, strict=True) if text.split() != before.get(name, "").split()
        }
        said = {field: each["text"] for field, each in context_of(known).items()}
        try:
            for field, text in fields.items():
                if text.strip() and " ".join(text.split()) != said.get(field):
                    asked = Signing.model_construct(item=f"{SIGNED}{field}", role=role, text=text)
                    sign(counter, known, who, asked)
        except DeniableError as error:
            return context_shown(request, who, counter, known, {**fields, "role": role}, str(error))
        return RedirectResponse(f"/data/{name}/requests/{account}/{id}/context", status_code=303)


def _roles(who: Person, counter: Counter) -> list[str]:
    return [role.value for role in Role if who.may(counter.data.name, role)]
