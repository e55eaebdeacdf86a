"""A server on made-up data for every test, and one on a real port where a test needs it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.needs import require_module

require_module("fastapi")
require_module("argon2")


@pytest.fixture(autouse=True)
def _state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "anchors"))


@pytest.fixture
def server(tmp_path: Path) -> Any:
    from tests.server.made_up import made_up

    return made_up(tmp_path / "served")


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Any]:
    """The same on a port of this machine; stopped when the test ends."""
    from tests.server.made_up import made_up

    port = free_port()
    made = made_up(tmp_path / "served", port=port, public_url=f"http://127.0.0.1:{port}")
    with on_port(made.client.app, port):
        yield made


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def on_port(app: Any, port: int) -> Iterator[str]:
    """An application on a port of this machine, until the end; its address."""
    import uvicorn

    running = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical"))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        thread.join(0.02)
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join(10)
