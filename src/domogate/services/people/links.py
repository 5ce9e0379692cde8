"""One-time links for setting a password or for a new e-mail address.

A link is mailed to the user, or shown to the operator who asked for it.
"""

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.authorization import SETS_PASSWORD, LinkPurpose, OneTimeLink
from domogate.domain.formats import email_key
from domogate.domain.ids import Id
from domogate.domain.people import User
from domogate.ports import Clock, PeopleStore, SessionStore
from domogate.services.audit import AuditAction, user_ref
from domogate.services.people.actors import Actor, Note, yes_or_no
from domogate.services.refusals import MailFailed, NotFound, Reason

LINK_PATH = "/auth/password?token="  # the token is in the query, because paths may be logged and queries are not
"""The path of a one-time link to set a password. The token is appended."""
EMAIL_LINK_PATH = "/auth/account/email/confirm?token="


class LoginStore(PeopleStore, SessionStore, Protocol):
    """The parts of the store with users, sessions and one-time links."""


class IssuedLink(msgspec.Struct, frozen=True):
    """A one-time link. `url` is None if the link was mailed: then only the person who gets the mail may see the link."""

    url: str | None
    mailed: bool
    expires_at: float


class DeadLink(StrEnum):
    """The reason why a link does not work."""

    USED = "used"
    """The link was used, replaced by a newer link, or mailed to a former address of the user. Or it never existed."""
    EXPIRED = "expired"


class OneTimeLinks:
    """Makes, finds and withdraws one-time links. The store keeps only a hash of the token in the link."""

    def __init__(self, store: LoginStore, clock: Clock, note: Note, *, base_url: str, lifetime: float) -> None:
        self._store = store
        self._clock = clock
        self._note = note
        self.base_url = base_url
        self.lifetime = lifetime

    async def issue_for_email(self, user: User, email: str, by: Actor, send: Callable[[str], Awaitable[bool]]) -> None:
        """Make a link to confirm a new e-mail address, and mail the link to this address with `send`. Raises MailFailed."""
        token = new_secret()
        mailed = await report_failure(send(f"{self.base_url}{EMAIL_LINK_PATH}{token}"))
        await self._add(token, user, LinkPurpose.EMAIL, sent_to=email)
        self._note(AuditAction.LINK_ISSUED, by, user_ref(user.id), mailed=yes_or_no(mailed))

    async def issue(
        self, user: User, purpose: LinkPurpose, by: Actor, send: Callable[[str], Awaitable[bool]] | None
    ) -> IssuedLink:
        """Make a link to set a password and mail it with `send`. If `send` is None or there is no mail server, the result
        contains the URL.

        Raises MailFailed.
        """
        token = new_secret()
        url = f"{self.base_url}{LINK_PATH}{token}"
        mailed = send is not None and await report_failure(send(url))
        # A shown link does not prove that the user can read the mailbox.
        expires_at = await self._add(token, user, purpose, sent_to=user.email if mailed else None)
        self._note(AuditAction.LINK_ISSUED, by, user_ref(user.id), mailed=yes_or_no(mailed))
        return IssuedLink(None if mailed else url, mailed, expires_at)

    async def _add(self, token: str, user: User, purpose: LinkPurpose, *, sent_to: str | None) -> float:
        """Store a link and return its expiry.

        The user's earlier links of the same kind become invalid. The two kinds are: links that set a password, and links that
        confirm an e-mail address.

        Call this method after the mail was sent: if the mail fails, the earlier link must stay valid. `sent_to` is the only
        e-mail address that gets the link. It is None if the link is shown and not mailed. Raises NotFound if the user has just
        been deleted.
        """
        expires_at = self._clock.now() + self.lifetime
        try:
            await self._store.add_link(OneTimeLink(hash_secret(token), user.id, purpose, expires_at, sent_to))
        except ValueError:
            raise NotFound(f"There is no user {user.id}.") from None
        return expires_at

    async def find(self, token: str, purposes: Sequence[LinkPurpose] = SETS_PASSWORD) -> tuple[OneTimeLink, User] | DeadLink:
        """Return the link and its user, or the reason why the link does not work. The link stays valid."""
        link = await self._store.find_link(hash_secret(token))
        user = None if link is None else await self._store.find_user(link.user_id)
        if link is None or user is None or link.purpose not in purposes:
            return DeadLink.USED
        if link.purpose in SETS_PASSWORD and link.sent_to is not None and email_key(link.sent_to) != email_key(user.email):
            return DeadLink.USED  # The link is in a mailbox that the user had before.
        return DeadLink.EXPIRED if link.expires_at <= self._clock.now() else (link, user)

    async def use(self, token: str) -> OneTimeLink | None:
        """Consume and return the link, even if it has expired. Return None if it does not exist or was used before."""
        return await self._store.take_link(hash_secret(token))

    async def withdraw(self, user_id: Id) -> None:
        """Make all links of the user invalid. So an old link from a mailbox cannot replace a new password."""
        for purpose in LinkPurpose:
            await self._store.add_link(OneTimeLink(hash_secret(new_secret()), user_id, purpose, self._clock.now()))


async def report_failure(sending: Awaitable[bool]) -> bool:
    """Await the sending of a mail. Return False if there is no mail server. Raises MailFailed if the sending failed."""
    try:
        return await sending
    except OSError as error:
        raise MailFailed(
            f"The mail could not be sent ({error}). Correct the mail settings and ask for a link again, "
            "or have the link shown instead.",
            Reason.MAIL_FAILED,
        ) from error
