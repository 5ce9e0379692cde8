"""Users: how they come, become active, change and go. A password is set by a one-time link, never by an operator."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.authorization import LinkPurpose, OneTimeLink
from domogate.domain.ids import Id, new_id
from domogate.domain.people import Standing, User
from domogate.ports import Clock, GrantStore, Hasher, PeopleStore, PlantStore, SessionStore
from domogate.services.audit.log import COMMAND_LINE as AT_COMMAND_LINE
from domogate.services.audit.log import AuditAction, AuditLog, AuditResult, user_ref
from domogate.services.people.rules import check_email, check_name, check_password
from domogate.services.refusals import Conflict, Invalid, MailFailed, NotFound

LINK_PATH = "/auth/password?token="  # a query is never logged, a path may be
"""What a one-time link looks like: the base URL, this, and its token."""

_WITHOUT_PASSWORD_DUE = {Standing.PASSWORD_EXPIRED: Standing.GOOD, Standing.BOTH_EXPIRED: Standing.TERMS_EXPIRED}
_WITHOUT_TERMS_DUE = {Standing.TERMS_EXPIRED: Standing.GOOD, Standing.BOTH_EXPIRED: Standing.PASSWORD_EXPIRED}


class AccountStore(PeopleStore, GrantStore, SessionStore, PlantStore, Protocol):
    """Users, and what belongs to them."""


class Actor(msgspec.Struct, frozen=True):
    """Who does something, and from where. Without a user it is the command line."""

    user_id: Id | None = None
    address: str = ""


COMMAND_LINE = Actor()

By = Actor | Id | None
"""Who does it: from where, or the user's id alone, or nobody but the command line."""


class Mail(Protocol):
    """Brings links to people. False: there is no mail here, show the link to whoever asked for it. Raises OSError."""

    async def send_password_link(self, email: str, name: str, link: str, lifetime: float) -> bool: ...
    async def send_invitation(self, email: str, plant: str, link: str | None, lifetime: float) -> bool:
        """`link` is None for somebody who is active: they are in the plant already."""
        ...


class IssuedLink(msgspec.Struct, frozen=True):
    """A one-time link. Its `url` is None when it was mailed: then only its receiver is to see it."""

    url: str | None
    mailed: bool
    expires_at: float


class Accounts:
    """Everything that is done to a user. `by` is who does it, for the audit log, and `address` from where they do it."""

    def __init__(
        self,
        store: AccountStore,
        hasher: Hasher,
        clock: Clock,
        mail: Mail,
        *,
        base_url: str,
        link_lifetime: float = 86_400.0,
        audit: AuditLog | None = None,
    ) -> None:
        self._store = store
        self._hasher = hasher
        self._clock = clock
        self._mail = mail
        self._base_url = base_url
        self._link_lifetime = link_lifetime
        self._audit = audit

    # --- finding

    async def get_user(self, user_id: Id) -> User:
        """Raises NotFound."""
        user = await self._store.find_user(user_id)
        if user is None:
            raise NotFound(f"There is no user {user_id}.")
        return user

    async def get_user_by_email(self, email: str) -> User:
        """Raises NotFound."""
        user = await self._store.find_user_by_email(email)
        if user is None:
            raise NotFound(f"There is no user {email}.")
        return user

    # --- coming

    async def create_first_operator(self, email: str, name: str = "") -> tuple[User, IssuedLink]:
        """With a link to set their password. Refused once there is an operator: operators make each other then."""
        new = User(new_id(), check_email(email), check_name(name))
        user = await self._store.claim_operator(new)
        if user is None:
            operators = [user.email for user in await self._store.list_users() if user.operator]
            raise Conflict(
                f"There is an operator already: {', '.join(operators[:1])}. They can make others; "
                "`domogate user password-link` gives them a new link."
            )
        action = AuditAction.USER_ADDED if user.id == new.id else AuditAction.USER_CHANGED
        self.note(action, COMMAND_LINE, user_ref(user.id), operator=_yes_or_no(True))
        return user, await self._issue(user, LinkPurpose.OPERATOR, COMMAND_LINE, show=True)

    async def create_user(
        self, email: str, name: str = "", *, operator: bool = False, show_link: bool = False, by: By = COMMAND_LINE
    ) -> tuple[User, IssuedLink]:
        """Without a password: the link lets them set one, and then they are active."""
        user = await self._add(email, name, operator=operator, by=by)
        return user, await self.issue_password_link(user.id, show_link=show_link, by=by)

    async def _add(self, email: str, name: str, *, operator: bool, by: By) -> User:
        user = User(new_id(), check_email(email), check_name(name), operator=operator)
        try:
            await self._store.add_user(user)
        except ValueError:
            raise Conflict(f"There is a user {email} already.") from None
        self.note(AuditAction.USER_ADDED, by, user_ref(user.id), operator=_yes_or_no(operator))
        return user

    async def issue_password_link(
        self, user_id: Id, *, show_link: bool = False, by: By = COMMAND_LINE, address: str = ""
    ) -> IssuedLink:
        """Former links of the user are of no use any more. With `show_link` it is handed back even where there is mail."""
        doer = to_doer(by, address)
        return await self._issue(await self.get_user(user_id), LinkPurpose.PASSWORD, doer, show=show_link)

    async def _issue(self, user: User, purpose: LinkPurpose, by: By, *, show: bool) -> IssuedLink:
        def send(url: str) -> Awaitable[bool]:
            return self._mail.send_password_link(user.email, user.name, url, self._link_lifetime)

        return await self.hand_out_link(user, purpose, by, None if show else send)

    async def hand_out_link(
        self, user: User, purpose: LinkPurpose, by: By, send: Callable[[str], Awaitable[bool]] | None
    ) -> IssuedLink:
        """Make a link and `send` it; None: it is for whoever asked. Raises MailFailed."""
        url, expires_at = await self.add_link(user, purpose, sent_to=None if send is None else user.email)
        mailed = send is not None and await self.mailed(send(url))
        if send is not None and not mailed:
            # There is no mail here: another one, which proves nothing about a mailbox, for whoever asked.
            url, expires_at = await self.add_link(user, purpose)
        self.note(AuditAction.LINK_ISSUED, by, user_ref(user.id), mailed=_yes_or_no(mailed))
        return IssuedLink(None if mailed else url, mailed, expires_at)

    async def add_link(
        self, user: User, purpose: LinkPurpose = LinkPurpose.PASSWORD, *, sent_to: str | None = None
    ) -> tuple[str, float]:
        """The link's URL, which is kept nowhere, and until when it opens. `sent_to`: the only mailbox that will see it."""
        token = new_secret()
        expires_at = self._clock.now() + self._link_lifetime
        await self._store.add_link(OneTimeLink(hash_secret(token), user.id, purpose, expires_at, sent_to))
        return f"{self._base_url}{LINK_PATH}{token}", expires_at

    async def mailed(self, sending: Awaitable[bool]) -> bool:
        """Whether it went by mail; raises MailFailed."""
        try:
            return await sending
        except OSError as error:
            raise MailFailed(
                f"The mail could not be sent ({error}). Put the mail settings right and ask for a link again, "
                "or have the link shown instead."
            ) from error

    # --- passwords

    async def find_link(self, token: str) -> tuple[OneTimeLink, User] | None:
        """Whom the link is for, while it opens; it is not used up by looking."""
        link = await self._store.find_link(hash_secret(token))
        if link is None or link.expires_at <= self._clock.now():
            return None
        user = await self._store.find_user(link.user_id)
        return None if user is None else (link, user)

    async def redeem_link(self, token: str, password: str, *, address: str = "") -> User:
        """Set the password by the link, which opens nothing afterwards. A password that is refused leaves it as it is."""
        found = await self.find_link(token)
        if found is None:
            raise NotFound("This link has been used or is too old. Ask for a new one.")
        await self._check_new_password(found[1], password)
        password_hash = await self._hasher.hash_password(password)
        link = await self._store.take_link(hash_secret(token))
        if link is None:
            raise NotFound("This link has been used or is too old. Ask for a new one.")
        return await self._keep_password(link.user_id, password_hash, None, address, read_at=link.sent_to)

    async def set_password(
        self,
        user_id: Id,
        password: str,
        *,
        instead_of: str | None = None,
        keep_session: Id | None = None,
        address: str = "",
    ) -> User:
        """By the user, who has proved who they are. Ends their other sessions, mends a standing that wanted this.

        `instead_of`: the hash of the password by which they have. One that was renewed meanwhile, by a link perhaps because
        somebody else knows it, is not replaced: Conflict.
        """
        await self._check_new_password(await self.get_user(user_id), password)
        password_hash = await self._hasher.hash_password(password)
        return await self._keep_password(user_id, password_hash, keep_session, address, instead_of=instead_of)

    async def _check_new_password(self, user: User, password: str) -> None:
        check_password(password, user.email)
        if user.standing.password_is_due and await self._hasher.verify_password(password, user.password_hash):
            raise Invalid("This is the password that is to be renewed. Choose another.")

    async def _keep_password(
        self,
        user_id: Id,
        password_hash: str,
        keep_session: Id | None,
        address: str,
        *,
        instead_of: str | None = None,
        read_at: str | None = None,
    ) -> User:
        """`read_at`: the mailbox in which whoever does this has read mail of ours (Decision 0029)."""

        def change(user: User) -> User:
            if instead_of is not None and user.password_hash != instead_of:
                raise ValueError("the password was renewed meanwhile")
            standing = _WITHOUT_PASSWORD_DUE.get(user.standing, user.standing)
            # The user may have got another e-mail since the mail was sent.
            proved = read_at is not None and read_at.casefold() == user.email.casefold()
            verified = user.email_verified or proved
            return msgspec.structs.replace(user, password_hash=password_hash, standing=standing, email_verified=verified)

        user = await self.change_user(user_id, change)
        await self._store.end_sessions(user_id, keep_session)
        # A link that still lies in a mailbox would undo what was just set; adding one that opens nothing withdraws it.
        for purpose in LinkPurpose:
            await self._store.add_link(OneTimeLink(hash_secret(new_secret()), user_id, purpose, self._clock.now()))
        self.note(AuditAction.PASSWORD_SET, Actor(user_id, address), user_ref(user_id))
        return user

    # --- changing

    async def change_user(self, user_id: Id, change: Callable[[User], User]) -> User:
        """Of the user as they are in that moment, so that no change undoes another's. Raises NotFound, Conflict."""
        try:
            changed = await self._store.change_user(user_id, change)
        except ValueError as error:
            raise Conflict(f"{error}.") from None
        if changed is None:
            raise NotFound(f"There is no user {user_id}.")
        return changed

    async def set_name(self, user_id: Id, name: str, *, by: By = COMMAND_LINE) -> User:
        check_name(name)
        changed = await self.change_user(user_id, lambda user: msgspec.structs.replace(user, name=name))
        self.note(AuditAction.USER_CHANGED, by, user_ref(user_id), field="name")
        return changed

    async def set_standing(self, user_id: Id, standing: Standing, *, by: By = COMMAND_LINE) -> User:
        changed = await self.change_user(user_id, lambda user: msgspec.structs.replace(user, standing=standing))
        self.note(AuditAction.USER_CHANGED, by, user_ref(user_id), standing=standing)
        return changed

    async def accept_terms(self, user_id: Id, *, address: str = "") -> User:
        def change(user: User) -> User:
            return msgspec.structs.replace(user, standing=_WITHOUT_TERMS_DUE.get(user.standing, user.standing))

        changed = await self.change_user(user_id, change)
        self.note(AuditAction.TERMS_ACCEPTED, Actor(user_id, address), user_ref(user_id))
        return changed

    async def set_operator(self, user_id: Id, operator: bool, *, by: By = COMMAND_LINE) -> User:
        """Refused for the last operator: nobody could manage this gateway any more."""
        changed = await self.change_user(user_id, lambda user: msgspec.structs.replace(user, operator=operator))
        self.note(AuditAction.USER_CHANGED, by, user_ref(user_id), operator=_yes_or_no(operator))
        return changed

    async def reset_second_factor(self, user_id: Id, *, by: By = COMMAND_LINE) -> User:
        """For somebody who lost theirs; they log in again everywhere, with the password alone."""
        if (await self.get_user(user_id)).totp_secret is None:
            raise Conflict("This user has no second factor.")
        changed = await self.change_user(user_id, lambda user: msgspec.structs.replace(user, totp_secret=None))
        await self._store.end_sessions(user_id)
        self.note(AuditAction.SECOND_FACTOR_CHANGED, by, user_ref(user_id), second_factor="no")
        return changed

    async def end_sessions(self, user_id: Id, *, by: By = COMMAND_LINE, address: str = "") -> int:
        """Log them out of every browser; applications they let in stay in."""
        await self.get_user(user_id)
        ended = await self._store.end_sessions(user_id)
        self.note(AuditAction.SESSION_ENDED, to_doer(by, address), user_ref(user_id), sessions=str(ended))
        return ended

    # --- going

    async def revoke_grant(self, user_id: Id, grant_id: Id, *, by: By = COMMAND_LINE, address: str = "") -> None:
        """Throw an application out: its tokens are refused from the next request on."""
        grant = await self._store.find_grant(grant_id)
        if grant is None or grant.user_id != user_id:
            raise NotFound(f"The user has no grant {grant_id}.")
        await self._store.revoke_grant(grant_id, self._clock.now())
        self.note(AuditAction.REVOCATION, to_doer(by, address), user_ref(user_id), client=grant.client_id, grant=grant_id)

    async def revoke_grants(
        self, user_id: Id, client_id: str | None = None, *, by: By = COMMAND_LINE, address: str = ""
    ) -> int:
        """Throw all applications out, or one; how many grants that were."""
        await self.get_user(user_id)
        revoked = await self._store.revoke_grants(user_id, client_id, self._clock.now())
        self.note(
            AuditAction.REVOCATION, to_doer(by, address), user_ref(user_id), client=client_id or "any", grants=str(revoked)
        )
        return revoked

    async def delete_user(self, user_id: Id, *, by: By = COMMAND_LINE) -> None:
        """With their sessions, grants, tokens, memberships and invitations. Refused while they own plants."""
        user = await self.get_user(user_id)
        owned = [plant.name for plant in (await self._store.list_plants_of(user_id))[0] if plant.owner.user_id == user_id]
        if owned:
            raise Conflict(
                f"{user.email} owns {', '.join(owned)}: every plant has an owner. "
                "Give these plants another owner first, in the estate file and `domogate estate import`."
            )
        if self._audit is not None:
            await self._audit.know(user_id)  # their pseudonym is forgotten with them
        try:
            await self._store.delete_user(user_id)
        except ValueError as error:  # the last operator, or one who was given a plant meanwhile
            raise Conflict(f"{error}.") from error
        self.note(AuditAction.USER_DELETED, by, user_ref(user_id))

    def note(self, action: AuditAction, by: By, what: str, **detail: str) -> None:
        if self._audit is not None:
            doer = to_doer(by)
            who = AT_COMMAND_LINE if doer.user_id is None else doer.user_id
            self._audit.note(action, who=who, what=what, result=AuditResult.OK, address=doer.address, detail=detail)


def to_doer(by: By, address: str = "") -> Actor:
    """`address`: from where, unless `by` says it."""
    doer = by if isinstance(by, Actor) else Actor(by)
    return doer if doer.address or not address else Actor(doer.user_id, address)


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"
