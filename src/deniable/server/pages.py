"""The pages: the same steps as REST for people with a browser. A script of our own saves clicks and nothing needs it;
drawings are made here; every text is escaped.
"""

from __future__ import annotations

import base64
import hmac
from math import isfinite, nan
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from deniable.deciding import ATTACKS, Checklist, Harm, InformationFlow, choose_epsilon, dossier
from deniable.errors import DeniableError, QueryRefused
from deniable.exact.figures import NOTHING, digits, error_figures, percent_up
from deniable.ledger import Progress, verify
from deniable.server.access import (
    NotAllowed,
    check_role,
    readable_answer,
    visible_dataset,
    visible_request,
    visible_requests,
)
from deniable.server.ask_page import ask_view
from deniable.server.checklist_pages import blocking, checklist_pages
from deniable.server.codebook_pages import codebook_pages
from deniable.server.counter import Counter
from deniable.server.identity import RateLimit, ShortLived, Tokens, Visit, Visits
from deniable.server.rest import check_not_charged
from deniable.server.settings import Person, Role, ServerSettings
from deniable.server.single_sign_on import LoginFailed, SingleSignOn
from deniable.server.views import answers_view, budget_amounts, budget_view, last_release, request_view
from deniable.svg import Figure, Series, horizontal_bars

_TEMPLATES = Path(__file__).parent / "templates"
Text = Annotated[str, Form(max_length=20_000)]


class LoginNeeded(DeniableError):
    """The browser has not shown a token yet."""


class Pages:
    """Pages over the same counters as REST."""

    def __init__(
        self, settings: ServerSettings, counters: dict[str, Counter], tokens: Tokens, kept: ShortLived, limit: RateLimit
    ) -> None:
        self._settings, self._counters, self._tokens, self._visits, self._limit = (
            settings,
            counters,
            tokens,
            Visits(kept),
            limit,
        )
        self._templates = Environment(
            loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        self._templates.filters["image"] = image
        self._templates.filters["sentence"] = lambda text: text[:1].upper() + text[1:]
        self._templates.filters["moment"] = lambda at: (
            f"{at[:16].replace('T', ' ')} UTC" if at.endswith("+00:00") else at
        )
        self._templates.filters["error"] = lambda off: error_figures(off) if isfinite(off) else NOTHING
        self._templates.filters["paid"] = digits  # rounded up
        self._templates.filters["percent"] = percent_up
        # with this prefix no other host of the domain can set them
        self._cookie, self._attempt = ("__Host-visit", "__Host-attempt") if settings.secure else ("visit", "attempt")
        callback = f"{settings.public_url.rstrip('/')}/login/done"
        self._sign_on = (
            None if settings.provider is None else SingleSignOn(settings.provider, callback=callback, kept=kept)
        )

    # Who is there

    def _visit(self, request: Request) -> Visit:
        visit = self._visits.find(request.cookies.get(self._cookie))
        if visit is None or visit.person not in self._settings.people:
            raise LoginNeeded("show your token first: log in")
        if not self._limit.allows(visit.person):
            raise NotAllowed("too many requests; wait a minute")
        return visit

    def _person(self, request: Request) -> Person:
        return self._settings.people[self._visit(request).person]

    def _posting(self, request: Request, csrf: str) -> Person:
        """The person behind a form, which must carry the token that was put into it."""
        visit = self._visit(request)
        if not hmac.compare_digest(visit.csrf.encode(), csrf.encode(errors="replace")):
            raise NotAllowed("this form was not made by this server for you; open the page again")
        return self._settings.people[visit.person]

    # How a page is made

    def _page(self, request: Request, template: str, *, status: int = 200, **told: Any) -> HTMLResponse:
        visit = self._visits.find(request.cookies.get(self._cookie))
        known = self._settings.people.get(visit.person) if visit else None
        common = {
            "provider": self._sign_on is not None,
            "person": known,
            "csrf": visit.csrf if visit else "",
            "path": request.url.path,
        }
        return HTMLResponse(self._templates.get_template(template).render(**common, **told), status_code=status)

    def _set(self, answer: Response, name: str, value: str, *, samesite: Literal["lax", "strict"] = "strict") -> None:
        answer.set_cookie(name, value, httponly=True, samesite=samesite, secure=self._settings.secure, path="/")

    def _drop(self, answer: Response, name: str) -> None:
        answer.delete_cookie(name, path="/", httponly=True, secure=self._settings.secure)

    def problem(self, request: Request, status: int, message: str) -> Response:
        """An error for a browser; who is not logged in is shown the way in."""
        visit = self._visits.find(request.cookies.get(self._cookie))
        if visit is None and status != 400:
            return self._page(request, "login.html", status=401 if status < 500 else status, message="")
        return self._page(request, "message.html", status=status, title="Not done", message=message)

    def routes(self) -> APIRouter:
        """Every page."""
        routes = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
        self._entrance(routes)
        self._data(routes)
        self._requests(routes)
        for part in (codebook_pages, checklist_pages):
            part(routes, self._counters, person=self._person, posting=self._posting, page=self._page)
        return routes

    def _entrance(self, routes: APIRouter) -> None:
        @routes.get("/login")
        def login(request: Request) -> Response:
            return self._page(request, "login.html", message="")

        @routes.post("/login")
        def enter(request: Request, token: Annotated[str, Form(max_length=400)]) -> Response:
            if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                raise NotAllowed("this form was not made by this server; open the page to log in yourself")
            name = self._tokens.person(token.strip())
            if name is None or name not in self._settings.people:
                return self._page(
                    request, "login.html", status=401, message="This token is not known, or it has ended."
                )
            self._visits.end(request.cookies.get(self._cookie))
            answer = RedirectResponse("/", status_code=303)
            self._set(answer, self._cookie, self._visits.begin(name))
            return answer

        @routes.get("/login/provider")
        def provider() -> Response:
            if self._sign_on is None:
                raise LoginFailed
            id, address = self._sign_on.begin()
            answer = RedirectResponse(address, status_code=303)
            self._set(answer, self._attempt, id, samesite="lax")  # it must come back with the provider's redirect
            return answer

        @routes.get("/login/done")
        def done(request: Request, code: str = "", state: str = "") -> Response:
            if self._sign_on is None:
                raise LoginFailed
            name = self._sign_on.finish(request.cookies.get(self._attempt), state=state, code=code)
            if name not in self._settings.people:
                raise LoginFailed
            told: dict[str, Any] = {"title": "Logged in", "message": f"You are {name}.", "onward": True}
            answer = self._page(
                request, "message.html", **told
            )  # a page, since a strict cookie does not follow a redirect
            self._visits.end(request.cookies.get(self._cookie))
            self._set(answer, self._cookie, self._visits.begin(name))
            self._drop(answer, self._attempt)
            return answer

        @routes.post("/logout")
        def leave(request: Request, csrf: Text) -> Response:
            self._posting(request, csrf)
            self._visits.end(request.cookies.get(self._cookie))
            answer = RedirectResponse("/login", status_code=303)
            self._drop(answer, self._cookie)
            return answer

        @routes.get("/")
        def home(request: Request) -> Response:
            person = self._person(request)
            found = [counter for name, counter in self._counters.items() if person.may(name, *Role)]
            rows = [{"name": c.data.name, "unit": _unit_phrase(c), "budget": budget_view(c)} for c in found]
            return self._page(request, "datasets.html", rows=rows)

    def _data(self, routes: APIRouter) -> None:
        @routes.get("/data/{name}")
        def dataset(request: Request, name: str) -> Response:
            person = self._person(request)
            counter = visible_dataset(person, name, self._counters)
            told = budget_view(counter)
            return self._page(
                request,
                "dataset.html",
                name=name,
                book=counter.data.codebook,
                budget=told | budget_amounts(counter),
                gauge=_gauge(told),
                curator=person.may(name, Role.CURATOR),
            )

        @routes.get("/data/{name}/ask")
        def form(request: Request, name: str) -> Response:
            counter = visible_dataset(self._person(request), name, self._counters)
            return self._ask(request, counter, {})

        @routes.post("/data/{name}/ask")
        def ask(
            request: Request,
            name: str,
            csrf: Text,
            sql: Text,
            amount: Text,
            purpose: Text = "",
            action: Text = "preview",
        ) -> Response:
            person = self._posting(request, csrf)
            counter = visible_dataset(person, name, self._counters)
            fields = {"sql": sql, "amount": amount, "purpose": purpose}
            try:
                paid = {counter.ledger.terms.main.filters.unit: _number(amount)}
                if action != "submit":
                    return self._ask(request, counter, fields, paid=paid)
                check_role(person, counter, Role.ANALYST)
                known = counter.request(
                    sql, account=person.name, purpose=" ".join(purpose.split()), payment=paid, dialect="duckdb"
                )
            except DeniableError as error:
                return self._ask(request, counter, fields, error=error)
            return RedirectResponse(f"/data/{name}/requests/{known.account}/{known.request}", status_code=303)

        @routes.get("/data/{name}/ledger")
        def ledger(request: Request, name: str) -> Response:
            person = self._person(request)
            counter = visible_dataset(person, name, self._counters)
            check_role(person, counter, Role.AUDITOR, Role.OWNER)
            found = verify(counter.data.counter_ledger)
            return self._page(request, "ledger.html", name=name, events=list(counter.ledger.export()), found=found)

        @routes.get("/data/{name}/choose")
        def choose(
            request: Request, name: str, harm: str = "serious", attack: str = "tracing", people: int = 1000
        ) -> Response:
            counter = visible_dataset(self._person(request), name, self._counters)
            choice = choose_epsilon(counter.data.codebook, harm=harm, attack=attack, people=people)
            return self._page(
                request,
                "choose.html",
                name=name,
                choice=choice,
                meaning=choice.explained(),
                curve=choice.curve.plot(marked=[choice.start]),
                points=[(each, choice.curve.at(each)) for each in (0.1, 0.5, 1, 2, 3, 4, 6, 8)],
                harms=[each.value for each in Harm],
                attacks=ATTACKS,
            )

    def _ask(
        self,
        request: Request,
        counter: Counter,
        fields: dict[str, str],
        *,
        paid: dict[str, float] | None = None,
        error: DeniableError | None = None,
    ) -> Response:
        told = ask_view(counter, fields, paid)
        told["error"] = "" if error is None else _in_words(error)
        return self._page(request, "ask.html", status=422 if error else 200, **told)

    def _requests(self, routes: APIRouter) -> None:
        @routes.get("/data/{name}/requests")
        def requests(request: Request, name: str) -> Response:
            person = self._person(request)
            counter = visible_dataset(person, name, self._counters)
            rows = [request_view(each) for each in reversed(visible_requests(person, counter))]
            return self._page(request, "requests.html", name=name, rows=rows)

        @routes.get("/data/{name}/requests/{account}/{id}")
        def one(request: Request, name: str, account: str, id: str) -> Response:
            return self._one(request, name, account, id)

        @routes.get("/data/{name}/requests/{account}/{id}/dossier")
        def whole(request: Request, name: str, account: str, id: str) -> Response:
            person = self._person(request)
            counter = visible_dataset(person, name, self._counters)
            known = readable_answer(person, counter, account, id)
            release = counter.release(known, reader=person.name)
            signed = [each.body for each in known.signatures]
            told, flow = dossier(release).checklist(Checklist().signed(signed)), InformationFlow.signed(signed)
            text = (told if flow is None else told.context(flow)).to_markdown()
            headers = {"Content-Disposition": 'attachment; filename="dossier.md"'}
            return Response(text, media_type="text/markdown", headers=headers)

        @routes.post("/data/{name}/requests/{account}/{id}")
        def decide(
            request: Request,
            name: str,
            account: str,
            id: str,
            csrf: Text,
            action: Text,
            days: Text = "7",
            part: Text = "",
            reason: Text = "",
        ) -> Response:
            person = self._posting(request, csrf)
            counter = visible_dataset(person, name, self._counters)
            known = visible_request(person, counter, account, id)
            try:
                if action == "grant":
                    check_role(person, counter, Role.ALLOCATOR)
                    amount = _number(part) if part.strip() else None
                    most = self._settings.longest_grant
                    counter.grant(account, id, by=person.name, days=_days(days), most=most, part=amount)
                elif action == "refuse":
                    check_role(person, counter, Role.ALLOCATOR)
                    check_not_charged(known.charge)
                    counter.ledger.desk.refuse(account, id, by=person.name, reason=" ".join(reason.split()))
                elif action == "publish":
                    check_role(person, counter, Role.OWNER, Role.CURATOR)
                    counter.ledger.desk.publish(account, id, by=person.name)
                else:
                    raise NotAllowed("a request is granted, refused or published")
            except DeniableError as error:
                return self._one(request, name, account, id, error=error)
            return RedirectResponse(f"/data/{name}/requests/{account}/{id}", status_code=303)

    def _one(
        self, request: Request, name: str, account: str, id: str, *, error: DeniableError | None = None
    ) -> Response:
        person = self._person(request)
        counter = visible_dataset(person, name, self._counters)
        known = visible_request(person, counter, account, id)
        answers = answers_view(person, counter, known)
        may = {
            "grant": person.may(name, Role.ALLOCATOR) and known.progress is Progress.PENDING and account != person.name,
            "refuse": person.may(name, Role.ALLOCATOR) and known.progress in (Progress.PENDING, Progress.APPROVED),
            "publish": person.may(name, Role.OWNER, Role.CURATOR) and known.progress is Progress.RELEASED,
        }
        told: dict[str, Any] = {"name": name, "known": request_view(known), "may": may, "answers": answers}
        told["blocking"] = len(blocking(counter, known))
        told["last"] = last_release(person, counter, known, answers[0]["release"]) if len(answers) == 1 else None
        status = 200 if error is None else 403 if isinstance(error, NotAllowed) else 422
        words = "" if error is None else _in_words(error)
        return self._page(request, "request.html", status=status, error=words, **told)


def image(figure: Figure) -> str:
    """A drawing as an address that an `img` can show; nothing in it can run."""
    return "data:image/svg+xml;base64," + base64.b64encode(figure.svg.encode()).decode()


def _unit_phrase(counter: Counter) -> str:
    """Who is protected, in the words of a sentence."""
    unit = counter.data.codebook.unit
    return "nobody" if unit is None else unit.phrase


def _gauge(told: dict[str, Any]) -> Figure:
    parts = ["spent", "granted", "pending", "left"]
    bars = Series(parts, [float(told[part]) for part in parts])
    return horizontal_bars(bars, title=f"Budget: {told['whole']}", note="granted and pending reserve nothing")


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise QueryRefused("number", f"expected a number, got {text[:40]!r}")
    return number


def _days(text: str) -> int:
    number = _number(text)
    if number != int(number):
        raise QueryRefused("number", f"expected a whole number of days, got {text[:40]!r}")
    return int(number)


def _in_words(error: DeniableError) -> str:
    if isinstance(error, QueryRefused):
        return f"{error.reason}" + (f"; {error.rewrite}" if error.rewrite else "")
    return str(error)
