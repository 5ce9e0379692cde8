"""The port for mails to people."""

from enum import StrEnum
from typing import Protocol

import msgspec


class MailKind(StrEnum):
    """The kinds of mail. Each kind has a text in every language."""

    PASSWORD_LINK = "password_link"
    INVITATION = "invitation"
    """For a person who is invited to a home and has no password yet. The mail has a link to set one."""
    SHARED_HOME = "shared_home"
    """For a person who is invited to a home and already has an account."""
    EMAIL_LINK = "email_link"
    """Sent to a new e-mail address. The link proves that the person can read mail at this address."""
    EMAIL_CHANGED = "email_changed"
    """Sent to the old e-mail address after the person or an operator has changed the address."""
    ACCOUNT_DELETED = "account_deleted"


class OutgoingMail(msgspec.Struct, frozen=True, kw_only=True):
    kind: MailKind
    email: str
    language: str | None
    """None means the default language of the gateway."""
    name: str = ""
    plant: str = ""
    by: str = ""
    """The name of the person who invites, if it is known."""
    link: str = ""
    lifetime: float = 0.0
    """The lifetime of the link in seconds."""


class Mail(Protocol):
    """Sends mails to people."""

    async def send(self, mail: OutgoingMail, /) -> bool:
        """Send the mail and return True.

        Return False if no mail server is configured. Also return False for the address of an account with a login name: nobody
        gets mail at this address.

        Raise OSError if the mail server cannot be reached, is not trusted, or refuses the mail.
        """
        ...
