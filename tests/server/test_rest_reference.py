"""The REST reference is that of the server as it is today."""

from __future__ import annotations

from docs.rest import PAGE, description, reference


def test_the_page_is_current():
    described = description()
    text = PAGE.read_text(encoding="utf-8")
    assert text == reference(described), "write it again with python -m docs.rest"
    for path, methods in described["paths"].items():
        if path.startswith("/api/v1/"):
            for method, call in methods.items():
                assert f"### {method.upper()} {path}\n" in text
                assert call.get("description"), f"{path} says nothing of itself"
