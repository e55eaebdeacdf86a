"""E-mail, if it is configured: whoever a step concerns is told that a request moved on. No numbers, no question, no reason.

An allocator is told that something waits, and who asked what became of it. A message names the data set, the request and its
state, and where to look; all else is behind the log-in. Only the configured server is called; a failure is in the log alone.
"""

from __future__ import annotations

import logging
import smtplib
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage

from deniable.ledger import Application, Progress

_SECONDS = 5.0
_PAUSE = 60.0
"""Seconds for which a server that failed is left alone."""
_log = logging.getLogger("deniable.mail")


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """An SMTP server and how it is spoken to; `tls` is starttls, tls or, on this machine alone, none."""

    host: str
    port: int
    sender: str
    tls: str = "starttls"
    user: str = ""
    password: str = field(default="", repr=False)

    def send(self, letter: EmailMessage) -> None:
        """Hand one letter over; raises what the connection raises. A password is sent under TLS or on this machine alone."""
        context = ssl.create_default_context()
        place = (self.host, self.port)
        wrapped = self.tls == "tls"
        with (
            smtplib.SMTP_SSL(*place, timeout=_SECONDS, context=context)
            if wrapped
            else smtplib.SMTP(*place, timeout=_SECONDS)
        ) as server:
            if self.tls == "starttls":
                server.starttls(context=context)
            if self.user:
                server.login(self.user, self.password)
            server.send_message(letter)


class Postman:
    """Tells people by e-mail; one of the channels of a `Messenger`. What happened before it was configured it does not tell."""

    url, fresh = "mail:", False

    def __init__(
        self,
        server: MailServer,
        *,
        people: Callable[[str, Application], Mapping[str, str]],
        address: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`people` says whom a request concerns, by name with their address; `address` is the server's public URL."""
        self._server, self._people, self._address, self._clock = server, people, address.rstrip("/"), clock
        self._rest_until = 0.0

    def deliver(self, dataset: str, known: Application) -> bool:
        """Everybody it concerns was told, or never can be; else it is tried again later."""
        if self._clock() < self._rest_until:
            return False
        try:
            for to in self._people(dataset, known).values():
                self._post(self._letter(to, dataset, known))
        except (OSError, smtplib.SMTPException) as error:
            _log.warning("mail was not taken (%s); it is sent later", type(error).__name__)
            self._rest_until = self._clock() + _PAUSE
            return False
        return True

    def _post(self, letter: EmailMessage) -> None:
        """Send; an address that the server refuses for good is written off, so that it holds up nobody else."""
        try:
            self._server.send(letter)
        except smtplib.SMTPRecipientsRefused as refused:
            if any(code < 500 for code, _ in refused.recipients.values()):
                raise
            _log.warning("an address was refused for good; it is not tried again")

    def _letter(self, to: str, dataset: str, known: Application) -> EmailMessage:
        letter = EmailMessage()
        letter["From"], letter["To"] = self._server.sender, to
        letter["Subject"] = f"{dataset}: a request is {known.progress.value}"
        path = f"/data/{dataset}/requests/{known.account}/{known.request}"
        letter.set_content(
            f"The request {known.request} of {known.account} is {known.progress.value}.\n{self._address}{path}\n"
        )
        return letter


def concerns(known: Application) -> str:
    """Whose turn it is: an allocator's while it is pending, else that of who asked."""
    return "allocator" if known.progress is Progress.PENDING else "account"
