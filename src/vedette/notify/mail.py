"""Mail by SMTP.  The server is the operator's own infrastructure: it is not the guard's business."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime

from vedette.contracts.alerts import Delivery, Letter, Notice
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.lanes.outcomes import OWN_LACK
from vedette.notify import templates

PORTS = {"starttls": 587, "tls": 465, "none": 25}
# First match wins.  An answer in the 400s is for now, one in the 500s for good (RFC 5321 section 4.2.1).
_MEANING: tuple[tuple[type[BaseException], Outcome], ...] = (
    (smtplib.SMTPAuthenticationError, Outcome.LOGIN_WALL),
    (smtplib.SMTPNotSupportedError, Outcome.TLS_ERROR),  # the server has no STARTTLS
    (smtplib.SMTPServerDisconnected, Outcome.CONNECT_ERROR),
    (TimeoutError, Outcome.TIMEOUT),
    (ssl.SSLError, Outcome.TLS_ERROR),
    (OSError, Outcome.CONNECT_ERROR),  # smtplib's own errors are OSErrors too: they come last
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    host: str
    port: int
    tls: str = "starttls"  # starttls | tls | none
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout: float = 15.0
    tls_context: Callable[[], ssl.SSLContext] = ssl.create_default_context


@dataclass(frozen=True, slots=True, kw_only=True)
class MailChannel:
    server: MailServer
    sender: str
    to: tuple[str, ...]
    template: str | None = None

    @property
    def lane(self) -> LaneKey:
        return LaneKey(f"notify:{self.server.host}")

    async def send(self, notice: Notice, *, at: datetime) -> Delivery:
        return await asyncio.to_thread(_deliver, self.server, self.letter(notice, at))

    async def send_letter(self, given: Letter) -> Delivery:
        letter = self._addressed(given.subject, given.id, given.at)
        letter.set_content(given.text)
        letter.add_alternative(given.html, subtype="html")
        return await asyncio.to_thread(_deliver, self.server, letter)

    def letter(self, notice: Notice, at: datetime) -> EmailMessage:
        """The Message-ID is the notice's: a mailbox that has seen it may drop the second one."""
        letter = self._addressed(templates.subject(notice), notice.id, at)
        template = self.template
        if template is not None:
            letter.set_content(templates.of_operator(template, notice))
            return letter
        letter.set_content(templates.text(notice))
        letter.add_alternative(templates.html(notice), subtype="html")
        return letter

    def _addressed(self, subject: str, name: str, at: datetime) -> EmailMessage:
        letter = EmailMessage()
        letter["Subject"] = subject
        letter["From"] = self.sender
        letter["To"] = ", ".join(self.to)
        letter["Date"] = format_datetime(at)
        letter["Message-ID"] = f"<{name}@{self.sender.rpartition('@')[2] or 'vedette'}>"
        letter["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's holiday answer comes back
        return letter


def _deliver(server: MailServer, letter: EmailMessage) -> Delivery:
    try:
        with _connected(server) as line:
            if server.username is not None:
                line.login(server.username, server.password or "")
            line.send_message(letter)
    except smtplib.SMTPRecipientsRefused as error:
        code = max((code for code, _ in error.recipients.values()), default=550)
        return Delivery(outcome=_by_code(code), detail="every recipient was refused")
    except smtplib.SMTPResponseException as error:
        is_login = isinstance(error, smtplib.SMTPAuthenticationError)
        outcome = Outcome.LOGIN_WALL if is_login else _by_code(error.smtp_code)
        return Delivery(outcome=outcome, detail=f"{error.smtp_code} {_words(error.smtp_error)}")
    except (OSError, UnicodeError) as error:
        return Delivery(outcome=_outcome(error), detail=_words(error))
    return Delivery(outcome=Outcome.OK)


def _connected(server: MailServer) -> smtplib.SMTP:
    if server.tls == "tls":
        return smtplib.SMTP_SSL(
            server.host, server.port, timeout=server.timeout, context=server.tls_context()
        )
    with ExitStack() as unless_ready:
        line = smtplib.SMTP(server.host, server.port, timeout=server.timeout)
        unless_ready.callback(line.close)
        if server.tls == "starttls":
            line.starttls(context=server.tls_context())
        unless_ready.pop_all()
    return line


def _by_code(code: int) -> Outcome:
    return Outcome.SERVER_ERROR if 400 <= code < 500 else Outcome.CLIENT_ERROR


def _outcome(error: BaseException) -> Outcome:
    if isinstance(error, OSError) and error.errno in OWN_LACK:
        return Outcome.NO_SOCKETS
    return next((outcome for kind, outcome in _MEANING if isinstance(error, kind)), Outcome.PROTOCOL_ERROR)


def _words(error: object) -> str:
    raw = error.decode("utf-8", "replace") if isinstance(error, bytes) else str(error)
    return " ".join(raw.split())[:200]
