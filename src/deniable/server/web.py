"""The web application: identity, guards, REST and pages put together. It holds no data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import time
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import PlainTextResponse, Response

from deniable.server.counter import Counter
from deniable.server.identity import RateLimit, ShortLived, Tokens
from deniable.server.pages import Pages
from deniable.server.protection import guard
from deniable.server.rest import rest_routes
from deniable.server.settings import Person, Role, ServerSettings
from deniable.version import __version__

STATIC = Path(__file__).parent / "templates"


def web_application(
    settings: ServerSettings, *, tokens: Tokens | None = None, clock: Callable[[], float] = time
) -> FastAPI:
    """The application for these settings."""
    known = tokens or Tokens(settings.tokens)
    counters = {name: Counter(data) for name, data in settings.data.items()}
    limit = RateLimit(settings.rate, clock=clock)
    kept = ShortLived(settings.folder / "visits.db", clock=clock)
    app = FastAPI(
        title="deniable",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        redirect_slashes=False,  # such a redirect names a scheme and port that the proxy before us may not have
    )
    pages = Pages(settings, counters, known, kept, limit)

    def who(request: Request) -> Person:
        """The person whose token the request carries, in the header alone."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        name = known.person(token.strip()) if scheme.lower() == "bearer" and len(token) < 400 else None
        person = settings.people.get(name or "")
        if person is None:
            raise HTTPException(401, "a valid token is needed", headers={"WWW-Authenticate": "Bearer"})
        if not limit.allows(person.name):
            raise HTTPException(429, "too many requests; wait a minute", headers={"Retry-After": "60"})
        return person

    guard(app, settings, pages=pages.problem)
    app.include_router(rest_routes(settings, counters, who))
    app.include_router(pages.routes())

    @app.get("/health")
    def health() -> dict[str, str]:
        """Alive; nothing of the data."""
        return {"state": "up", "version": __version__}

    @app.get("/metrics", response_class=PlainTextResponse)
    def metrics(person: Person = Depends(who)) -> str:  # noqa: B008
        """Counts of public steps: requests by state, of the data sets one has a role for."""
        lines = []
        for name, counter in counters.items():
            if not person.may(name, *Role):
                continue
            states = [each.progress.value for each in counter.ledger.desk.all()]
            lines += [
                f'deniable_requests{{dataset="{name}",state="{state}"}} {states.count(state)}'
                for state in sorted(set(states))
            ]
        return "\n".join([*lines, ""])

    @app.get("/style.css")
    def style() -> Response:
        """The look of the pages."""
        return Response((STATIC / "style.css").read_text(encoding="utf-8"), media_type="text/css")

    @app.get("/pages.js")
    def script() -> Response:
        """The pages' own script: live previews, and the hash of a file that stays where it is."""
        return Response((STATIC / "pages.js").read_text(encoding="utf-8"), media_type="text/javascript")

    app.state.pages, app.state.counters = pages, counters
    return app


__all__: list[Any] = ["web_application"]
