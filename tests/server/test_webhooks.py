"""Webhooks: signed messages without numbers, to configured addresses alone, told again until they are taken."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from deniable.errors import InvalidArgument
from deniable.server.settings import ServerSettings
from deniable.server.webhooks import SIGNATURE, Messenger, Webhook, post, sign, verify_signature
from tests.server.made_up import configured

SECRET = b"a secret of the receiver"


class Receiver:
    """A real HTTP server on this machine that keeps what it was sent and answers with one status."""

    def __init__(self, status: int = 204, headers: dict[str, str] | None = None) -> None:
        receiver = self
        self.got: list[tuple[bytes, str]] = []
        self.status = status

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((body, self.headers[SIGNATURE]))
                self.send_response(receiver.status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(5)


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.close()


def messenger(server, *hooks, **more):
    return Messenger(hooks, server.client.app.state.counters, server.settings.folder, **more)


def states(receiver):
    return [json.loads(body)["state"] for body, _ in receiver.got]


def test_every_step_is_told_once_signed_and_without_numbers(server, receiver):
    told = messenger(server, Webhook(receiver.url, SECRET), clock=lambda: 1000.7)
    assert told.tell() == 0
    server.ask(epsilon=0.125)
    assert told.tell() == 1
    server.grant()
    assert (told.tell(), told.tell()) == (1, 0)
    server.work()
    assert told.tell() == 1
    assert states(receiver) == ["pending", "approved", "released"]
    for body, header in receiver.got:
        assert set(json.loads(body)) == {"dataset", "account", "request", "state"}
        assert verify_signature(body, header, secret=SECRET, now=1000)
    again = messenger(server, Webhook(receiver.url, SECRET))
    assert again.tell() == 0  # a new process knows what was told


def test_a_signature_is_of_this_body_this_secret_and_about_now():
    header = sign(b"body", secret=SECRET, moment=1000)
    assert verify_signature(b"body", header, secret=SECRET, now=1299)
    assert not verify_signature(b"bodY", header, secret=SECRET, now=1000)
    assert not verify_signature(b"body", header, secret=b"another", now=1000)
    assert not verify_signature(b"body", header, secret=SECRET, now=1301)
    assert not verify_signature(b"body", header.replace("t=1000", "t=1001"), secret=SECRET, now=1000)
    assert not verify_signature(b"body", "nonsense", secret=SECRET, now=1000)


def test_who_is_away_is_told_later_and_others_meanwhile(server, receiver):
    receiver.status = 503
    other = Receiver()
    told = messenger(server, Webhook(receiver.url, SECRET), Webhook(other.url, SECRET))
    try:
        server.ask()
        assert told.tell() == 1
        assert states(other) == ["pending"]
        receiver.status = 200
        assert told.tell() == 1
        assert states(other) == ["pending"]
    finally:
        other.close()
    assert not post(other.url, b"{}", {SIGNATURE: ""})  # nobody there is no error


def test_redirects_are_not_followed(server, receiver):
    elsewhere = Receiver(302, {"Location": receiver.url})
    try:
        server.ask()
        assert messenger(server, Webhook(elsewhere.url, SECRET)).tell() == 0
    finally:
        elsewhere.close()
    assert receiver.got == []


@pytest.mark.parametrize(
    ("hooks", "said"),
    [
        ([{"url": "http://example.org/x", "secret": "env:HOOK"}], "must be https"),
        ([{"url": "ftp://127.0.0.1/x", "secret": "env:HOOK"}], "must be https"),
        ([{"url": "https://me:word@example.org", "secret": "env:HOOK"}], "must be https"),
        ([{"url": "https://example.org", "secret": "in the file, and long enough"}], "env:NAME"),
        ([{"url": "https://example.org", "secret": "env:SHORT"}], "16 characters"),
        ([{"url": "https://example.org"}], "is a list of"),
        ("https://example.org", "is a list of"),
    ],
)
def test_odd_webhooks_are_refused(tmp_path, monkeypatch, hooks, said):
    monkeypatch.setenv("HOOK", "a secret that is long enough")
    monkeypatch.setenv("SHORT", "short")
    with pytest.raises(InvalidArgument, match=said):
        ServerSettings.load(configured(tmp_path / "served", webhooks=hooks))


def test_a_configured_webhook_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("HOOK", "a secret that is long enough")
    stated = [{"url": "https://example.org/hook", "secret": "env:HOOK"}]
    settings = ServerSettings.load(configured(tmp_path / "served", webhooks=stated))
    assert settings.webhooks == (("https://example.org/hook", b"a secret that is long enough"),)
