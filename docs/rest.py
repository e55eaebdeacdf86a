"""The REST reference: `python -m docs.rest` writes docs/rest.md from the description the server gives of itself."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deniable.server.settings import ServerSettings
from deniable.server.web import web_application

PAGE = Path(__file__).parent / "rest.md"
_BOOK = "name: visits\nunit: rows\ntables: {visits: {variables: {ward: {type: string, categories: [A, B]}}}}\n"
_SERVER = (
    "data: {visits: {source: visits.csv, codebook: visits.yaml, ledger: visits.ledger, budget: {epsilon: 1}}}\n"
    "people: {owner: {roles: [owner]}}\n"
)
_OPENING = """\
# REST

Made from the server's own description (`/api/v1/openapi.json`) by `python -m docs.rest`. Every call carries
`Authorization: Bearer <token>`. Errors are JSON with `code`, `message` and, for SQL, `rewrite`; what one may not see looks like
what is not there. Roles and steps: [the server](server.md).
"""


def description() -> Mapping[str, Any]:
    """What a server says of itself; no data is opened for it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "visits.yaml").write_text(_BOOK, encoding="utf-8")
        (folder / "server.yaml").write_text(_SERVER, encoding="utf-8")
        return web_application(ServerSettings.load(folder / "server.yaml")).openapi()


def reference(described: Mapping[str, Any]) -> str:
    """The page, in Markdown."""
    calls = [
        line
        for path, methods in described["paths"].items()
        if path.startswith("/api/v1/")
        for method, call in methods.items()
        for line in _call(method, path, call)
    ]
    bodies = [line for name, schema in described["components"]["schemas"].items() for line in _body(name, schema)]
    return "\n".join([_OPENING, "## Calls", "", *calls, "## Bodies", "", *bodies]).rstrip() + "\n"


def _call(method: str, path: str, call: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {method.upper()} {path}"
    yield ""
    yield call.get("description", call["summary"])
    yield ""
    content = call.get("requestBody", {}).get("content", {}).get("application/json")
    if content:
        yield f"Body: `{_kind(content['schema'])}`."
        yield ""


def _body(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    if "Validation" in name:
        return
    yield f"### {name}"
    yield ""
    yield schema.get("description", "")
    yield ""
    yield "| field | type | needed |"
    yield "|---|---|---|"
    for field, kind in schema.get("properties", {}).items():
        yield f"| `{field}` | {_kind(kind)} | {'yes' if field in schema.get('required', ()) else 'no'} |"
    yield ""


def _kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"] if each.get("type") != "null")
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"name to {_kind(schema['additionalProperties'])}"
    bounds = {"exclusiveMinimum": "above", "minimum": "from", "maximum": "to", "maxLength": "at most letters:"}
    limits = [f"{word} {schema[key]:g}" for key, word in bounds.items() if key in schema]
    return ", ".join([str(schema.get("type", "anything")), *limits])


if __name__ == "__main__":
    PAGE.write_text(reference(description()), encoding="utf-8")
