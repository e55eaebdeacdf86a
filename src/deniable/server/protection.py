"""What stands before every route: host, body size, security headers, padded sizes, and errors without tracebacks."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from deniable.errors import BudgetExceeded, DeniableError, NotGranted, QueryRefused
from deniable.server.access import NotAllowed, NotFound
from deniable.server.settings import ServerSettings
from deniable.server.ticks import padded_size

MOST_BODY = 64 * 1024
"""Bytes a request body may have."""

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; "
    "form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

PADDED = ("application/json", "text/html", "text/markdown", "text/plain", "text/css", "text/javascript")
"""Kinds of text that may end in blanks, and after the first two in empty lines."""

_TOLD = (
    "missing", "extra_forbidden", "greater_than", "greater_than_equal", "less_than_equal", "string_too_short",
    "string_too_long", "string_pattern_mismatch", "too_short", "too_long",
)  # fmt: skip
"""Kinds of mistakes whose words hold limits of ours and nothing of the body."""

LOG = logging.getLogger("deniable.server")

Next = Callable[[Request], Awaitable[Response]]


def problem(status: int, code: str, message: str, *, rewrite: str = "") -> JSONResponse:
    """An error in the one form all of REST uses."""
    body = {"code": code, "message": message, **({"rewrite": rewrite} if rewrite else {})}
    return JSONResponse(body, status_code=status)


def problem_of(error: DeniableError) -> JSONResponse:
    """What a refusal is in HTTP. None of these texts depends on data."""
    match error:
        case NotFound():
            return problem(404, "not-found", str(error))
        case NotAllowed():
            return problem(403, "not-allowed", str(error))
        case NotGranted():
            return problem(409, "out-of-order", str(error))
        case BudgetExceeded():
            return problem(409, "over-budget", str(error))
        case QueryRefused():
            return problem(422, error.code, error.reason, rewrite=error.rewrite)
        case _:
            return problem(422, "invalid", str(error))


def guard(app: FastAPI, settings: ServerSettings, *, pages: Callable[[Request, int, str], Response]) -> None:
    """Put the guards before an application; `pages` draws an error for a browser."""

    async def shown(request: Request, answer: JSONResponse, message: str) -> Response:
        is_page = not request.url.path.startswith(("/api/", "/health", "/metrics"))
        return pages(request, answer.status_code, message) if is_page else answer

    @app.exception_handler(DeniableError)
    async def refused(request: Request, error: DeniableError) -> Response:
        return await shown(request, problem_of(error), str(error))

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> Response:
        message = f"not understood: {'; '.join(map(_wrong, error.errors()[:3]))[:300]}"
        return await shown(request, problem(422, "malformed", message), message)

    @app.exception_handler(HTTPException)
    async def stopped(request: Request, error: HTTPException) -> Response:
        code, message = {404: ("not-found", str(NotFound()))}.get(error.status_code, ("refused", str(error.detail)))
        answer = problem(error.status_code, code, message)
        answer.headers.update(error.headers or {})
        return await shown(request, answer, message)

    @app.middleware("http")
    async def around(request: Request, call_next: Next) -> Response:
        answer = await _answered(request, call_next, settings)
        answer.headers.update(SECURITY_HEADERS)
        if settings.secure:
            answer.headers["Strict-Transport-Security"] = "max-age=31536000"
        LOG.info("%s %s", request.method, answer.status_code)
        return await _padded(answer, settings.pad)


def _wrong(each: Mapping[str, Any]) -> str:
    """What is wrong with one field, in words that quote nothing of the body."""
    place = ".".join(str(part) for part in each["loc"] if part != "body")[:100] or "the body"
    said = str(each["msg"]) if str(each["type"]) in _TOLD else "not of the right kind"
    return f"{place}: {said[:1].lower()}{said[1:]}"


async def _answered(request: Request, call_next: Next, settings: ServerSettings) -> Response:
    """The answer of the routes, or a constant text for whatever went wrong in them."""
    host = request.headers.get("host", "")
    if host.rsplit(":", 1)[0].strip("[]") != settings.host:
        return problem(400, "host", "this server does not answer under that name")
    try:
        length = int(request.headers.get("content-length", "0"))
    except ValueError:
        length = -1
    if not 0 <= length <= MOST_BODY or "chunked" in request.headers.get("transfer-encoding", "").lower():
        return problem(413, "too-large", f"a request has a stated length of at most {MOST_BODY} bytes")
    try:
        return await call_next(request)
    except RecursionError:
        return problem(400, "malformed", "nested too deeply")
    except Exception as error:
        LOG.error(
            "unexpected %s in %s", type(error).__name__, request.scope.get("route") and request.scope["route"].path
        )
        return problem(500, "failed", "something went wrong here; it was written down")


async def _padded(answer: Response, step: int) -> Response:
    """The same answer with its size at a public step: blanks or empty lines at the end, a header for CSV."""
    parts = [part async for part in _chunks(answer)]
    body = b"".join(parts)
    blanks = padded_size(len(body), step=step) - len(body)
    kind = answer.headers.get("content-type", "")
    headers = {name: value for name, value in answer.headers.items() if name.lower() != "content-length"}
    if kind.startswith(PADDED):
        body += (b" " if kind.startswith(PADDED[:2]) else b"\n") * blanks
    elif answer.status_code not in (204, 304):
        headers["X-Padding"] = "0" * min(blanks, 8000)
    padded = Response(body, status_code=answer.status_code)
    for name, value in headers.items():
        if name.lower() != "set-cookie":
            padded.headers[name] = value
    cookies = [(key, value) for key, value in answer.raw_headers if key.lower() == b"set-cookie"]
    padded.raw_headers.extend(cookies)
    return padded


async def _chunks(answer: Any) -> Any:
    if hasattr(answer, "body_iterator"):
        async for part in answer.body_iterator:
            yield part.encode() if isinstance(part, str) else bytes(part)
    else:
        yield bytes(answer.body)
