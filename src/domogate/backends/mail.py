"""Sends mails to people through an SMTP server, if one is configured."""

import asyncio
import smtplib
import ssl
import time
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from typing import Final

from domogate.backends.mail_texts import TEXTS
from domogate.domain.languages import DEFAULT_LANGUAGE
from domogate.domain.login_names import is_login_name_email
from domogate.ports import OutgoingMail

_DEADLINE: Final = 20.0
SECURITY: Final = ("starttls", "tls", "none")

# Links must not be wrapped: 998 is the longest line that RFC 5322 §2.1.1 allows.
_POLICY: Final = SMTP.clone(max_line_length=998)


class SmtpMail:
    """Sends each mail on a separate connection, in a thread. `security` is starttls, tls or none.

    If the name of the operator is given, it is in the header From, in the subject and at the end of each mail.
    `send` raises OSError if the server cannot be reached, is not trusted, or refuses the mail. OSError is the base class of
    smtplib's errors.
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
        operator_name: str | None = None,
        default_language: str = DEFAULT_LANGUAGE,
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
        self._operator_name = operator_name
        self._default_language = default_language
        self._deadline = deadline
        self._trust = trust or ssl.create_default_context()

    async def send(self, mail: OutgoingMail) -> bool:
        if is_login_name_email(mail.email):
            return False  # Nobody gets mail at this address.
        texts = TEXTS[mail.language or self._default_language]
        text = texts.mails[mail.kind]
        filled = {
            "name": f" {_one_line(mail.name)}" if mail.name.strip() else "",
            "plant": _one_line(mail.plant),
            "by": texts.by.format(name=_one_line(mail.by)) if mail.by.strip() else "",
            "link": mail.link,
            "lifetime": texts.print_lifetime(mail.lifetime),
        }
        subject, body = text.subject.format_map(filled), text.body.format_map(filled)
        if self._operator_name is not None:
            subject, body = f"{subject} · {self._operator_name}", f"{body}\n{self._operator_name}\n"
        message = EmailMessage(policy=_POLICY)
        local, _, domain = self._sender.rpartition("@")
        message["From"] = Address(self._operator_name or "", local, domain)
        message["To"] = mail.email
        message["Subject"] = subject
        message["Date"] = formatdate(time.time())
        message["Message-ID"] = make_msgid(domain=self._domain)
        # RFC 3834 §5: prevents out-of-office replies.
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(body)
        message["Content-Language"] = mail.language or self._default_language
        await asyncio.to_thread(self._deliver, message)
        return True

    async def try_connection(self) -> None:
        """Connect and log in as for a mail, without sending a mail. Raises OSError if this fails."""
        await asyncio.to_thread(self._deliver, None)

    def _deliver(self, message: EmailMessage | None) -> None:
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
            if message is not None:
                server.send_message(message)

    @property
    def _domain(self) -> str:
        return self._sender.rpartition("@")[2]


def _one_line(text: str) -> str:
    """Return the text without line breaks.

    The text becomes a part of a header, and a line break in the text would start another header.
    """
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
