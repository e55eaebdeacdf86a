"""The REST routes: SQL text and codebook names are the only language; everything is checked for each object and person."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

from deniable.errors import NotGranted
from deniable.ledger import verify
from deniable.server.access import (
    OVERSEERS,
    check_role,
    readable_answer,
    visible_dataset,
    visible_request,
    visible_requests,
)
from deniable.server.checklist_pages import checklist_routes
from deniable.server.codebook_pages import codebook_routes
from deniable.server.counter import Counter
from deniable.server.settings import Person, Role, ServerSettings
from deniable.server.views import budget_view, price_view, release_csv, release_view, request_view, workload_view
from deniable.server.workloads import MOST_QUESTIONS, is_workload

Name = Field(max_length=200)
"""Too short a text, and an amount or a time below its least, are refused where pages refuse them, in the same words."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", str_max_length=20_000)


class AskedPrice(_Body):
    """A question and what is offered for it: epsilon, rho or accuracy, one of them."""

    sql: str = Field(min_length=1, max_length=20_000)
    epsilon: float | None = Field(default=None, le=1000)
    rho: float | None = Field(default=None, le=1000)
    accuracy: dict[str, float] | None = None
    dialect: str = Field(default="duckdb", max_length=40)

    @property
    def payment(self) -> dict[str, Any]:
        """The offer alone."""
        return {"epsilon": self.epsilon, "rho": self.rho, "accuracy": self.accuracy}


class AskedFor(AskedPrice):
    """A question that is asked for, with its purpose and, if wanted, an id of one's own."""

    purpose: str = Name
    request: str | None = Field(default=None, min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_.-]+$")


class AskedWorkload(_Body):
    """Several questions by name under one epsilon or rho: evenly, by weights, or by wanted errors such as 2.0 or "5%"."""

    questions: dict[str, str] = Field(min_length=1, max_length=MOST_QUESTIONS)
    epsilon: float | None = Field(default=None, le=1000)
    rho: float | None = Field(default=None, le=1000)
    by: str = Field(default="even", max_length=40)
    weights: dict[str, float] | None = None
    wanted: dict[str, float | str | dict[str, float | str]] | None = None
    locked: dict[str, float] | None = None
    dialect: str = Field(default="duckdb", max_length=40)

    @property
    def shares(self) -> dict[str, Any]:
        """How the amount is shared out, as `Session.workload` is told."""
        return {name: getattr(self, name) for name in ("epsilon", "rho", "by", "weights", "wanted", "locked")}


class WorkloadAskedFor(AskedWorkload):
    """Several questions that are asked for as one request, with their purpose and, if wanted, an id of one's own."""

    purpose: str = Name
    request: str | None = Field(default=None, min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_.-]+$")


class Granting(_Body):
    """How long a grant lasts, and if it is for less than was asked, for how much."""

    days: int
    part: float | None = Field(default=None, le=1000)


class Refusing(_Body):
    """Why a request is refused."""

    reason: str = Name


class Publishing(_Body):
    """What is written down beside a publication."""

    note: str = Field(default="published", max_length=200)


def rest_routes(settings: ServerSettings, counters: dict[str, Counter], who: Callable[[Request], Person]) -> APIRouter:
    """Every route under /api/v1. `who` proves the identity or refuses."""
    routes = APIRouter(prefix="/api/v1")
    me: Any = Depends(who)

    @routes.get("/datasets")
    def datasets(person: Person = me) -> list[str]:
        """The data sets one has a role for."""
        return [name for name in counters if person.may(name, *Role)]

    @routes.get("/datasets/{name}")
    def dataset(name: str, person: Person = me) -> dict[str, Any]:
        """What is public about a data set: its codebook, who is protected, and where the budget stands."""
        counter = visible_dataset(person, name, counters)
        book = counter.data.codebook
        return {"name": name, "unit": str(book.unit), "codebook": book.to_record(), "budget": budget_view(counter)}

    @routes.post("/datasets/{name}/price")
    def price(name: str, asked: AskedPrice, person: Person = me) -> dict[str, Any]:
        """What a question would cost; at once, from public facts alone."""
        counter = visible_dataset(person, name, counters)
        offer = counter.offer(asked.sql, dialect=asked.dialect, payment=asked.payment)
        return price_view(offer)

    @routes.post("/datasets/{name}/requests", status_code=201)
    def ask(name: str, asked: AskedFor, person: Person = me) -> dict[str, Any]:
        """Ask for a question. The account is the identity that was proved, never a field."""
        counter = visible_dataset(person, name, counters)
        check_role(person, counter, Role.ANALYST)
        known = counter.request(
            asked.sql,
            account=person.name,
            purpose=asked.purpose,
            payment=asked.payment,
            dialect=asked.dialect,
            request=asked.request,
        )
        return request_view(known)

    @routes.post("/datasets/{name}/workloads/price")
    def workload_price(name: str, asked: AskedWorkload, person: Person = me) -> dict[str, Any]:
        """The prices of several questions under one amount; nothing is spent."""
        counter = visible_dataset(person, name, counters)
        return counter.offer_workload(asked.questions, dialect=asked.dialect, shares=asked.shares).view()

    @routes.post("/datasets/{name}/workloads", status_code=201)
    def workload(name: str, asked: WorkloadAskedFor, person: Person = me) -> dict[str, Any]:
        """Ask for several questions as one request: one grant, one charge, all answered or none."""
        counter = visible_dataset(person, name, counters)
        check_role(person, counter, Role.ANALYST)
        known = counter.request_workload(
            asked.questions,
            account=person.name,
            purpose=asked.purpose,
            shares=asked.shares,
            dialect=asked.dialect,
            request=asked.request,
        )
        return request_view(known)

    @routes.get("/datasets/{name}/requests")
    def requests(name: str, person: Person = me) -> list[dict[str, Any]]:
        """The requests one may see."""
        counter = visible_dataset(person, name, counters)
        return [request_view(each) for each in visible_requests(person, counter)]

    @routes.get("/datasets/{name}/requests/{account}/{request}")
    def one(name: str, account: str, request: str, person: Person = me) -> dict[str, Any]:
        """One request."""
        counter = visible_dataset(person, name, counters)
        return request_view(visible_request(person, counter, account, request))

    @routes.post("/datasets/{name}/requests/{account}/{request}/grant")
    def grant(name: str, account: str, request: str, said: Granting, person: Person = me) -> dict[str, Any]:
        """Grant a request, in full or in part. Nobody grants one's own."""
        counter = visible_dataset(person, name, counters)
        visible_request(person, counter, account, request)
        check_role(person, counter, Role.ALLOCATOR)
        most = settings.longest_grant
        return request_view(counter.grant(account, request, by=person.name, days=said.days, most=most, part=said.part))

    @routes.post("/datasets/{name}/requests/{account}/{request}/refuse")
    def refuse(name: str, account: str, request: str, said: Refusing, person: Person = me) -> dict[str, Any]:
        """Refuse a request or withdraw its grant, with a reason."""
        counter = visible_dataset(person, name, counters)
        known = visible_request(person, counter, account, request)
        check_role(person, counter, Role.ALLOCATOR)
        check_not_charged(known.charge)
        return request_view(counter.ledger.desk.refuse(account, request, by=person.name, reason=said.reason))

    @routes.post("/datasets/{name}/requests/{account}/{request}/publish")
    def publish(name: str, account: str, request: str, said: Publishing, person: Person = me) -> dict[str, Any]:
        """Make an answer readable by everybody who has a role for the data set."""
        counter = visible_dataset(person, name, counters)
        visible_request(person, counter, account, request)
        check_role(person, counter, Role.OWNER, Role.CURATOR)
        return request_view(counter.ledger.desk.publish(account, request, by=person.name, note=said.note))

    @routes.get("/datasets/{name}/requests/{account}/{request}/release")
    def release(name: str, account: str, request: str, person: Person = me) -> dict[str, Any]:
        """The answer, the same bytes every time."""
        counter = visible_dataset(person, name, counters)
        known = readable_answer(person, counter, account, request)
        if is_workload(known):
            return workload_view(counter.workload_release(known, reader=person.name))
        return release_view(counter.release(known, reader=person.name))

    @routes.get("/datasets/{name}/requests/{account}/{request}/release.csv", response_class=PlainTextResponse)
    def table(name: str, account: str, request: str, person: Person = me) -> PlainTextResponse:
        """The answer's table as CSV; no cell can be read as a formula."""
        counter = visible_dataset(person, name, counters)
        text = release_csv(counter.release(readable_answer(person, counter, account, request), reader=person.name))
        headers = {"Content-Disposition": 'attachment; filename="release.csv"'}
        return PlainTextResponse(text, media_type="text/csv", headers=headers)

    @routes.get("/datasets/{name}/ledger")
    def ledger(name: str, person: Person = me) -> dict[str, Any]:
        """The chain of events, answers not included, and what verifying it found."""
        counter = visible_dataset(person, name, counters)
        check_role(person, counter, Role.AUDITOR, Role.OWNER)
        return {
            "events": list(counter.ledger.export()),
            "verification": verify(counter.data.counter_ledger).to_record() | {"place": ""},
        }

    checklist_routes(routes, counters, me)
    codebook_routes(routes, counters, me)
    return routes


def check_not_charged(charge: int | None) -> None:
    """A person cannot say of a charged request that it is refused: the worker answers it or says that it did not."""
    if charge is not None:
        raise NotGranted("this request was charged already; it can no longer be withdrawn")


__all__ = ["OVERSEERS", "rest_routes"]
