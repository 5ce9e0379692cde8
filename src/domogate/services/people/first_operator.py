"""Creates the first operator of a new gateway (Decision 0095)."""

import hmac

import msgspec

from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.authorization import LinkPurpose
from domogate.domain.ids import new_id
from domogate.domain.people import User
from domogate.services.audit import AuditAction, user_ref
from domogate.services.people.accounts import LINK_IS_DEAD, Accounts
from domogate.services.people.actors import COMMAND_LINE, Actor, yes_or_no
from domogate.services.people.links import DeadLink, IssuedLink
from domogate.services.people.rules import check_email, check_name, check_password
from domogate.services.refusals import Conflict, NotFound

FIRST_OPERATOR_PATH = "/auth/first-operator?token="
"""The path of the link that a new gateway prints at its terminal. The token is appended."""


class _Claim(msgspec.Struct, frozen=True):
    token_hash: str
    expires_at: float


class FirstOperator(Accounts):
    """Creates the first operator.

    If the e-mail address is given, the operator is created at once. If not, the gateway makes a link, and the page of this link
    asks for the e-mail address. If there is a user with this address already, this user becomes the operator.
    """

    _claim: _Claim | None = None
    """The link with which a person can become the first operator. It is not stored, so it is invalid after the process ends."""

    async def create_first_operator(self, email: str, name: str = "") -> tuple[User, IssuedLink]:
        """Create the first operator and a link to set the password.

        Raises Invalid if the e-mail address or the name is refused. Raises Conflict if there is an operator already.
        """
        user = await self._add_first_operator(email, name)
        return user, await self._issue(user, LinkPurpose.OPERATOR, COMMAND_LINE, show=True)

    async def _add_first_operator(self, email: str, name: str, *, address: str | None = None) -> User:
        """Create the first operator. `address` is the IP address of a person who uses the link. None means the command line."""
        new = User(new_id(), check_email(email), check_name(name))
        user = await self._store.claim_operator(new)
        if user is None:
            operators = [user.email for user in await self._store.list_users() if user.operator]
            raise Conflict(
                f"There is an operator already: {', '.join(operators[:1])}. An operator can make "
                "other users operators; `domogate user password-link` makes a new link to set a password."
            )
        action = AuditAction.USER_ADDED if user.id == new.id else AuditAction.USER_CHANGED
        by = COMMAND_LINE if address is None else Actor(user.id, address)
        self.note(action, by, user_ref(user.id), operator=yes_or_no(True))
        return user

    def offer_first_operator(self) -> IssuedLink:
        """Make a link with which a person can become the first operator. An earlier link of this process becomes invalid."""
        token, expires_at = new_secret(), self._clock.now() + self.links.lifetime
        self._claim = _Claim(hash_secret(token), expires_at)
        return IssuedLink(f"{self.links.base_url}{FIRST_OPERATOR_PATH}{token}", mailed=False, expires_at=expires_at)

    async def check_offer(self, token: str) -> DeadLink | None:
        """Return the reason why the link to become the first operator does not work, or None if the link works."""
        claim = self._claim
        if claim is None or not hmac.compare_digest(hash_secret(token), claim.token_hash):
            return DeadLink.USED
        if claim.expires_at <= self._clock.now():
            return DeadLink.EXPIRED
        return DeadLink.USED if await self._store.has_operator() else None

    async def accept_offer(self, token: str, email: str, password: str, *, address: str = "") -> User:
        """Create the first operator with this password. If a value is refused, the link stays valid.

        Raises NotFound if the link does not work, and Invalid if a value is refused. Raises Conflict if there is an operator
        already.
        """
        if await self.check_offer(token) is not None:
            raise NotFound(LINK_IS_DEAD)
        check_password(password, check_email(email))
        known = await self._store.find_user_by_email(email)
        if known is not None:
            await self._check_new_password(known, password)
        password_hash = await self._hasher.hash_password(password)
        user = await self._add_first_operator(email, "", address=address)
        self._claim = None
        return await self._save_password(user.id, password_hash, address)
