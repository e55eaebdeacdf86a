"""E-mail on a real SMTP server on loopback: who is told what, without numbers; a server that fails holds up nobody."""

from __future__ import annotations

import base64
import email
import logging
import socketserver
import threading

import pytest

from deniable.errors import InvalidArgument
from deniable.ledger import Application
from deniable.server.letters import MailServer, Postman
from deniable.server.running import postmen
from deniable.server.settings import ServerSettings
from deniable.server.webhooks import Messenger
from tests.server.made_up import PEOPLE, configured, made_up

MAILS = {name: {**entry, "mail": f"{name}@example.org"} for name, entry in PEOPLE.items() if name != "ben"}


class _Talk(socketserver.StreamRequestHandler):
    """One conversation: what RFC 5321 asks of a server that takes everything, but for addresses it is told to refuse."""

    def handle(self):
        self.say("220 loopback")
        while line := self.rfile.readline().decode().strip():
            self.server.lines.append(line)
            word = line.upper().split(":")[0].split()[0]
            refused = line.upper().startswith("RCPT") and any(each in line for each in self.server.refused)
            if word == "EHLO":
                self.say("250-loopback\r\n250 AUTH PLAIN")
            elif word == "DATA":
                self.say("354 go on")
                self.server.letters.append(self.letter())
                self.say("250 taken")
            else:
                codes = {"AUTH": "235 yes", "QUIT": "221 bye"}
                self.say(f"{self.server.refused_with} no" if refused else codes.get(word, "250 yes"))
            if word == "QUIT":
                return

    def say(self, line):
        self.wfile.write(f"{line}\r\n".encode())

    def letter(self):
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line)
        return email.message_from_bytes(b"".join(lines))


@pytest.fixture
def smtp():
    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    with Server(("127.0.0.1", 0), _Talk) as server:
        server.letters, server.lines, server.refused, server.refused_with = [], [], [], 550
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(5)


def mailing(tmp_path, smtp, monkeypatch, **more):
    monkeypatch.setenv("SMTP_PASSWORD", "correct-horse")
    port = smtp.server_address[1]
    mail = {"server": "127.0.0.1", "port": port, "tls": "none", "sender": "desk@example.org", "user": "desk"}
    people = {**MAILS, "ben": PEOPLE["ben"]}
    server = made_up(tmp_path / "served", mail={**mail, "password": "env:SMTP_PASSWORD", **more}, people=people)
    return server, Messenger(postmen(server.settings), server.client.app.state.counters, server.settings.folder)


def told(smtp):
    found = [(each["To"], each["Subject"]) for each in smtp.letters]
    smtp.letters.clear()
    return found


def test_the_story_by_mail(tmp_path, smtp, monkeypatch):
    server, messenger = mailing(tmp_path, smtp, monkeypatch)
    server.ask(request="old")
    assert messenger.tell() == 0  # what happened before is not told
    server.ask(purpose="purpose 4711", epsilon=0.25)
    server.ask("ben", request="r2")
    messenger.tell()
    letter = smtp.letters[0]
    assert told(smtp) == [("alma@example.org", "visits: a request is pending")] * 2
    assert letter.get_payload().replace("\r", "") == (
        "The request r1 of ana is pending.\nhttp://127.0.0.1:8000/data/visits/requests/ana/r1\n"
    )
    server.grant()
    server.grant("ben", request="r2")
    messenger.tell()
    assert told(smtp) == [("ana@example.org", "visits: a request is approved")]  # ben gave no address
    server.work()
    messenger.tell()
    letters = list(smtp.letters)
    assert told(smtp) == [("ana@example.org", "visits: a request is released")]
    for secret in ("4711", "0.25", "SELECT", "ward", "epsilon"):
        assert not any(secret in str(each) for each in letters)
    assert messenger.tell() == 0
    credentials = next(line.split()[2] for line in smtp.lines if line.startswith("AUTH"))
    assert base64.b64decode(credentials) == b"\0desk\0correct-horse"
    assert "correct-horse" not in repr(server.settings)


def test_a_server_that_fails_holds_up_nobody(tmp_path, smtp, monkeypatch, caplog):
    server, messenger = mailing(tmp_path, smtp, monkeypatch)
    messenger.tell()
    moment = [0.0]
    postman = messenger._hooks[0]
    postman._clock = lambda: moment[0]
    smtp.refused, smtp.refused_with = ["ana@"], 451
    assert server.ask().status_code == 201
    assert server.grant().status_code == 200  # nobody waits for the post
    with caplog.at_level(logging.INFO):
        assert messenger.tell() == 0
    assert "ana" not in "".join(record.getMessage() for record in caplog.records if record.name == "deniable.mail")
    smtp.refused = []
    assert messenger.tell() == 0  # left alone for a minute
    moment[0] = 61.0
    assert messenger.tell() == 1
    smtp.refused, smtp.refused_with = ["ana@"], 550
    server.work()
    assert messenger.tell() == 1  # refused for good: written off
    assert told(smtp) == [("ana@example.org", "visits: a request is approved")]


def test_no_password_and_no_letter_without_tls(smtp):
    """The server offers no STARTTLS: nothing is said after the greeting, and it is tried again later."""
    port = smtp.server_address[1]
    careful = MailServer(host="127.0.0.1", port=port, sender="d@example.org", user="desk", password="correct-horse")
    postman = Postman(careful, people=lambda *_: {"ana": "ana@example.org"}, address="http://127.0.0.1")

    assert not postman.deliver("visits", Application("ana", "r1", 2, {}, {}))
    assert not any(line.startswith(("AUTH", "MAIL", "RCPT")) for line in smtp.lines)
    assert smtp.letters == []


RIGHT = {"server": "127.0.0.1", "sender": "d@example.org", "tls": "none"}


@pytest.mark.parametrize(
    ("mail", "said"),
    [
        ({"server": "x"}, "needs server and sender"),
        ({**RIGHT, "tls": "no"}, "starttls or tls"),
        ({**RIGHT, "server": "smtp.example.org"}, "only for a server on this machine"),
        ({**RIGHT, "sender": "two@example.org, d@example.org"}, "one address"),
        ({**RIGHT, "user": "desk"}, "go together"),
        ({**RIGHT, "user": "desk", "password": "in the file"}, "env:NAME"),
    ],
)
def test_what_is_wrong_with_the_settings_is_told(tmp_path, mail, said):
    with pytest.raises(InvalidArgument, match=said):
        ServerSettings.load(configured(tmp_path / "served", mail=mail))


def test_addresses_are_checked_and_mail_is_off_unless_it_is_configured(tmp_path, server):
    assert postmen(server.settings) == []
    people = {"ana": {"roles": ["analyst"], "mail": "ana@example.org\nBcc: eve@example.org"}}
    with pytest.raises(InvalidArgument, match="one address"):
        ServerSettings.load(configured(tmp_path / "served", people=people))
