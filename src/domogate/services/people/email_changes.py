"""Changes a user's e-mail address, at the request of the user or of an operator (Decision 0078)."""

import msgspec

from domogate.common.log import get_logger
from domogate.domain.authorization import LinkPurpose
from domogate.domain.formats import email_key
from domogate.domain.ids import Id
from domogate.domain.people import User
from domogate.ports import MailKind
from domogate.services.audit import AuditAction, user_ref
from domogate.services.people.accounts import Accounts
from domogate.services.people.actors import COMMAND_LINE, Actor
from domogate.services.people.links import DeadLink
from domogate.services.people.mails import mail_to
from domogate.services.people.rules import check_email
from domogate.services.refusals import Conflict, NotFound, Reason

_log = get_logger(__name__)
_PURPOSE = (LinkPurpose.EMAIL,)


class EmailChanges(Accounts):
    """Changes e-mail addresses.

    A user needs a link that is mailed to the new address. An operator changes the address directly.
    """

    async def mail_email_link(self, user: User, email: str, *, by: Actor) -> bool:
        """Mail a link to the new address. Return False and mail nothing if another user has the address.

        The caller must not show the result to the user. The reason: the result says whether the address has an account. Raises
        MailFailed.
        """
        other = await self._store.find_user_by_email(email)
        if other is not None and other.id != user.id:
            return False
        moved = msgspec.structs.replace(user, email=email)
        lifetime = self.links.lifetime
        await self.links.issue_for_email(
            user, email, by, lambda url: self._mail.send(mail_to(moved, MailKind.EMAIL_LINK, link=url, lifetime=lifetime))
        )
        return True

    async def find_email_link(self, user_id: Id, token: str) -> str | DeadLink:
        """Return the new e-mail address, or the reason why the link does not work.

        The link works only for the user who asked for it: if this user mistyped the address, a stranger gets the link.
        """
        found = await self.links.find(token, _PURPOSE)
        if isinstance(found, DeadLink):
            return found
        link, user = found
        return link.sent_to if link.sent_to is not None and user.id == user_id else DeadLink.USED

    async def confirm_email(self, user_id: Id, token: str, *, address: str = "") -> User:
        """Consume the link, change the e-mail address and mark it as verified.

        Raises NotFound if the link does not work. Raises Conflict if another user has the address now.
        """
        email = await self.find_email_link(user_id, token)
        if isinstance(email, DeadLink) or await self.links.use(token) is None:
            raise NotFound("This link has been used or is too old. Ask for a new one.")
        await self._replace_email(user_id, email, Actor(user_id, address))

        def verify(user: User) -> User:
            return msgspec.structs.replace(user, email_verified=email_key(user.email) == email_key(email))

        return await self.change_user(user_id, verify)

    async def check_new_email(self, user_id: Id, email: str) -> None:
        """Raises Invalid if the text is not an e-mail address. Raises Conflict if another user has this address."""
        other = await self._store.find_user_by_email(check_email(email))
        if other is not None and other.id != user_id:
            raise Conflict(f"There is a user {email} already.", Reason.USER_EXISTS)

    async def set_email(self, user_id: Id, email: str, *, by: Actor = COMMAND_LINE) -> User:
        """Change the e-mail address of the user. This method is for operators. The new address counts as not verified.

        The old address gets a mail about the change.

        Raises NotFound, Invalid, Conflict.
        """
        former = await self.get_user(user_id)
        await self.check_new_email(user_id, email)
        changed = await self._replace_email(user_id, email, by)
        if email_key(former.email) != email_key(email):
            await self.notify(former, MailKind.EMAIL_CHANGED)
        return changed

    async def _replace_email(self, user_id: Id, email: str, by: Actor) -> User:
        changed = await self.change_user(user_id, lambda user: msgspec.structs.replace(user, email=email))
        # Links that were mailed to the old address must not set a password any more.
        await self.links.withdraw(user_id)
        self.note(AuditAction.USER_CHANGED, by, user_ref(user_id), field="email")
        return changed

    async def notify(self, user: User, kind: MailKind) -> None:
        """Mail the user about a change that is already made. If the mail fails, the change stays."""
        try:
            await self._mail.send(mail_to(user, kind))
        except OSError as error:
            # The answer of a mail server may contain the address: log only the kind of failure.
            _log.error("a notice to a user was not mailed", kind=kind, reason=type(error).__name__)
