"""Sends links to people through an SMTP server, if one is configured."""

import asyncio
import smtplib
import ssl
import time
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from typing import Final

from domogate.backends.mail_texts import INVITATION, INVITATION_WITH_LINK, PASSWORD_LINK, MailText

_DEADLINE: Final = 20.0
SECURITY: Final = ("starttls", "tls", "none")

# Links must not be wrapped: 998 is the longest line that RFC 5322 §2.1.1 allows.
_POLICY: Final = SMTP.clone(max_line_length=998)


class PrintedMail:
    """For a gateway without a mail server. Nothing is sent, so the caller shows the link."""

    async def send_password_link(self, email: str, name: str, link: str, lifetime: float) -> bool:  # noqa: ARG002 - arguments of the port
        return False

    async def send_invitation(self, email: str, plant: str, link: str | None, lifetime: float) -> bool:  # noqa: ARG002 - arguments of the port
        return False


class SmtpMail:
    """Sends each mail on a separate connection, in a thread. `security` is starttls, tls or none.

    Raises OSError (also the base of smtplib's errors) if the server cannot be reached, is not trusted, or refuses the mail.
    """

    def __init__(
        self,
        host: str,
        port: int,
        sender: str,
        user: str | None = None,
        password: str | None = None,
        security: str = "starttls",
        *,
        deadline: float = _DEADLINE,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        if security not in SECURITY:
            raise ValueError(f"the security of mail is one of {', '.join(SECURITY)}")
        self._host = host
        self._port = port
        self._sender = sender
        self._user = user
        self._password = password
        self._security = security
        self._deadline = deadline
        self._trust = trust or ssl.create_default_context()

    async def send_password_link(self, email: str, name: str, link: str, lifetime: float) -> bool:
        greeted = f" {_one_line(name)}" if name.strip() else ""
        await self._send(email, PASSWORD_LINK, name=greeted, link=link, lifetime=print_lifetime(lifetime))
        return True

    async def send_invitation(self, email: str, plant: str, link: str | None, lifetime: float) -> bool:
        text = INVITATION if link is None else INVITATION_WITH_LINK
        await self._send(email, text, plant=_one_line(plant), link=link or "", lifetime=print_lifetime(lifetime))
        return True

    async def _send(self, email: str, text: MailText, **filled: str) -> None:
        message = EmailMessage(policy=_POLICY)
        message["From"] = self._sender
        message["To"] = email
        message["Subject"] = text.subject.format(**filled)
        message["Date"] = formatdate(time.time())
        message["Message-ID"] = make_msgid(domain=self._domain)
        # RFC 3834 §5: prevents out-of-office replies.
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(text.body.format(**filled))
        await asyncio.to_thread(self._deliver, message)

    def _deliver(self, message: EmailMessage) -> None:
        # The domain of the sender is used as local host name: finding the name of this machine may have to wait for a name
        # server.
        if self._security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                self._host, self._port, self._domain, timeout=self._deadline, context=self._trust
            )
        else:
            server = smtplib.SMTP(self._host, self._port, self._domain, timeout=self._deadline)
        with server:
            if self._security == "starttls":
                server.starttls(context=self._trust)
            if self._user is not None:
                server.login(self._user, self._password or "")
            server.send_message(message)

    @property
    def _domain(self) -> str:
        return self._sender.rpartition("@")[2]


def print_lifetime(seconds: float) -> str:
    """A readable duration, rounded down."""
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        count = int(seconds // length)
        if count >= 2:
            return f"{count} {unit}s"
        if count == 1 and seconds < 1.5 * length:
            return f"1 {unit}"
    return f"{int(seconds)} seconds"


def _one_line(text: str) -> str:
    """A subject is a header. A line break in a name must not start another header."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
