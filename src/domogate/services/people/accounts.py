"""Accounts of users: create, change, delete.

Operators do not set passwords. Users set their own passwords through one-time links.
"""

from collections.abc import Awaitable, Callable

import msgspec

from domogate.domain.authorization import LinkPurpose
from domogate.domain.formats import email_key
from domogate.domain.ids import Id, new_id
from domogate.domain.people import Standing, User
from domogate.ports import Clock, Hasher, LastOperator, Mail, MailKind
from domogate.services.audit import GATEWAY, AuditAction, AuditLog, AuditResult, user_ref
from domogate.services.people.actors import COMMAND_LINE, Actor, build_note, yes_or_no
from domogate.services.people.links import DeadLink, IssuedLink, OneTimeLinks
from domogate.services.people.mails import mail_to
from domogate.services.people.rules import check_email, check_language, check_name, check_password
from domogate.services.people.store import PeopleServiceStore
from domogate.services.refusals import Conflict, Invalid, NotFound, Reason

_WITHOUT_PASSWORD_DUE = {Standing.PASSWORD_EXPIRED: Standing.GOOD, Standing.BOTH_EXPIRED: Standing.TERMS_EXPIRED}
_WITHOUT_TERMS_DUE = {Standing.TERMS_EXPIRED: Standing.GOOD, Standing.BOTH_EXPIRED: Standing.PASSWORD_EXPIRED}
LINK_IS_DEAD = "This link has been used or is too old. Ask for a new one."


class Accounts:
    """Changes users. `by` is the actor for the audit log.

    `address` is the IP address of a request in which a user changes their own account. `homes_url` is the URL of the page "My
    homes", for mails. `homes_url` is empty if the gateway does not serve pages.
    """

    def __init__(
        self,
        store: PeopleServiceStore,
        hasher: Hasher,
        clock: Clock,
        mail: Mail,
        *,
        base_url: str,
        homes_url: str = "",
        link_lifetime: float = 86_400.0,
        audit: AuditLog | None = None,
    ) -> None:
        self._store = store
        self._hasher = hasher
        self._clock = clock
        self._mail = mail
        self._audit = audit
        self._homes_url = homes_url
        self.note = build_note(audit)
        self.links = OneTimeLinks(store, clock, self.note, base_url=base_url, lifetime=link_lifetime)

    # --- find

    async def get_user(self, user_id: Id) -> User:
        """Return the user. Raises NotFound if there is no user with this id."""
        return _existing(user_id, await self._store.find_user(user_id))

    async def get_user_by_email(self, email: str) -> User:
        """Return the user. Raises NotFound if there is no user with this e-mail address."""
        return _existing(email, await self._store.find_user_by_email(email))

    # --- create

    async def create_user(
        self, email: str, name: str = "", *, operator: bool = False, show_link: bool = False, by: Actor = COMMAND_LINE
    ) -> tuple[User, IssuedLink]:
        """Create a user without a password, and a link with which the user sets a password (see `issue_password_link`).

        The user becomes active when the password is set. Raises Invalid if the e-mail address or the name is refused. Raises
        Conflict if there is a user with this address. Raises MailFailed if the mail fails; the new user stays.
        """
        user = await self._add(email, name, operator=operator, by=by)
        return user, await self.issue_password_link(user.id, show_link=show_link, by=by)

    async def _add(self, email: str, name: str, *, operator: bool, by: Actor) -> User:
        user = User(new_id(), check_email(email), check_name(name), operator=operator)
        try:
            await self._store.add_user(user)
        except ValueError:
            raise Conflict(f"There is a user {email} already.", Reason.USER_EXISTS) from None
        self.note(AuditAction.USER_ADDED, by, user_ref(user.id), operator=yes_or_no(operator))
        return user

    # --- passwords

    async def issue_password_link(self, user_id: Id, *, show_link: bool = False, by: Actor = COMMAND_LINE) -> IssuedLink:
        """Make a new link to set the password. Earlier links to set the password of this user become invalid.

        The link is mailed if mail is configured, and returned if not. If `show_link` is true, it is returned and never mailed.
        Raises NotFound if there is no such user, and MailFailed if the mail fails.
        """
        return await self._issue(await self.get_user(user_id), LinkPurpose.PASSWORD, by, show=show_link)

    async def _issue(self, user: User, purpose: LinkPurpose, by: Actor, *, show: bool) -> IssuedLink:
        def send(url: str) -> Awaitable[bool]:
            return self._mail.send(mail_to(user, MailKind.PASSWORD_LINK, link=url, lifetime=self.links.lifetime))

        return await self.links.issue(user, purpose, by, None if show else send)

    async def redeem_link(self, token: str, password: str, *, address: str = "") -> User:
        """Set the password and consume the link. If the password is refused (Invalid), the link stays valid.

        Raises NotFound if the link does not work.
        """
        found = await self.links.find(token)
        if isinstance(found, DeadLink):
            raise NotFound(LINK_IS_DEAD)
        await self._check_new_password(found[1], password)
        password_hash = await self._hasher.hash_password(password)
        link = await self.links.use(token)
        if link is None:
            raise NotFound(LINK_IS_DEAD)
        return await self._save_password(link.user_id, password_hash, address, mailbox=link.sent_to)

    async def set_password(
        self, user_id: Id, password: str, *, instead_of: str | None = None, keep_session: Id | None = None, address: str = ""
    ) -> User:
        """Set the password of a user. End the user's sessions except `keep_session`, and make the user's one-time links
        invalid. The password does not count as expired any more.

        `instead_of` is the hash of the password that the user has just confirmed. If another request has replaced that password
        since then, this raises Conflict. The reason: a person who knows only the old password must not set a new one. Raises
        Invalid if the new password is refused.
        """
        await self._check_new_password(await self.get_user(user_id), password)
        password_hash = await self._hasher.hash_password(password)
        return await self._save_password(user_id, password_hash, address, keep_session=keep_session, instead_of=instead_of)

    async def _check_new_password(self, user: User, password: str) -> None:
        check_password(password, user.email)
        if user.standing.password_is_due and await self._hasher.verify_password(password, user.password_hash):
            raise Invalid("This is the password that has to be replaced. Choose another.")

    async def _save_password(
        self,
        user_id: Id,
        password_hash: str,
        address: str,
        *,
        keep_session: Id | None = None,
        instead_of: str | None = None,
        mailbox: str | None = None,
    ) -> User:
        """Store the password hash, end the user's sessions except `keep_session`, and make the user's links invalid.

        Raises Conflict if `instead_of` is given and is not the stored hash. Then another request has changed the password.
        `mailbox` is the e-mail address to which the one-time link was mailed. It is None if no mail was sent. A person who used
        a mailed link can read mail there. So the e-mail address of the user becomes verified, if it is still the same (Decision
        0029). `address` is the IP address for the audit log.
        """

        def change(user: User) -> User:
            if instead_of is not None and user.password_hash != instead_of:
                raise ValueError("the password was changed by another request")
            standing = _WITHOUT_PASSWORD_DUE.get(user.standing, user.standing)
            # The user's e-mail may have changed since the mail was sent.
            proved = mailbox is not None and email_key(mailbox) == email_key(user.email)
            verified = user.email_verified or proved
            return msgspec.structs.replace(user, password_hash=password_hash, standing=standing, email_verified=verified)

        user = await self.change_user(user_id, change)
        await self._store.end_sessions(user_id, keep_session)
        await self.links.withdraw(user_id)
        self.note(AuditAction.PASSWORD_SET, Actor(user_id, address), user_ref(user_id))
        return user

    # --- change

    async def change_user(self, user_id: Id, change: Callable[[User], User]) -> User:
        """Replace the user by `change(user)` and return the new user.

        Raises NotFound if there is no such user. Raises Conflict if `change` or the store raises ValueError. `change` gets the
        stored user. So concurrent changes do not undo each other.
        """
        try:
            changed = await self._store.change_user(user_id, change)
        except ValueError as error:
            raise Conflict(f"{error}.", Reason.LAST_OPERATOR if isinstance(error, LastOperator) else None) from None
        return _existing(user_id, changed)

    async def set_name(self, user_id: Id, name: str, *, by: Actor = COMMAND_LINE) -> User:
        check_name(name)
        changed = await self.change_user(user_id, lambda user: msgspec.structs.replace(user, name=name))
        self.note(AuditAction.USER_CHANGED, by, user_ref(user_id), field="name")
        return changed

    async def set_language(self, user_id: Id, language: str | None, *, by: Actor = COMMAND_LINE) -> User:
        """Set the language of pages and mails.

        If the language is None, pages use the language of the browser. Mails then use the language of the pages at the last
        login.
        """
        check_language(language)
        changed = await self.change_user(user_id, lambda user: msgspec.structs.replace(user, language=language))
        self.note(AuditAction.USER_CHANGED, by, user_ref(user_id), field="language")
        return changed

    async def remember_page_language(self, user: User, language: str) -> None:
        """Remember the language of the pages, for mails to a person who has not chosen a language."""
        if user.page_language != language:
            await self._store.change_user(user.id, lambda stored: msgspec.structs.replace(stored, page_language=language))

    async def set_standing(self, user_id: Id, standing: Standing, *, by: Actor = COMMAND_LINE) -> User:
        def change(user: User) -> User:
            # The operator waives the terms: the next start must not ask for them again.
            waived = user.standing.terms_are_due and not standing.terms_are_due
            return msgspec.structs.replace(user, standing=standing, terms_version=None if waived else user.terms_version)

        changed = await self.change_user(user_id, change)
        self.note(AuditAction.USER_CHANGED, by, user_ref(user_id), standing=standing)
        return changed

    async def accept_terms(self, user_id: Id, version: str, *, address: str = "") -> User:
        """Store that the person accepted the terms. `version` is the version of the text that the person saw."""

        def change(user: User) -> User:
            standing = _WITHOUT_TERMS_DUE.get(user.standing, user.standing)
            return msgspec.structs.replace(user, standing=standing, terms_version=version)

        changed = await self.change_user(user_id, change)
        self.note(AuditAction.TERMS_ACCEPTED, Actor(user_id, address), user_ref(user_id), version=version)
        return changed

    async def ask_for_changed_terms(self, version: str) -> int:
        """Require users to accept the terms again if they accepted another version of the terms than `version`.

        Return the number of these users.
        """
        asked = await self._store.expire_terms(version)
        if asked and self._audit is not None:
            detail = {"terms": version, "users": str(asked)}
            self._audit.note(AuditAction.USER_CHANGED, who=GATEWAY, what="terms", result=AuditResult.OK, detail=detail)
        return asked

    async def set_operator(self, user_id: Id, operator: bool, *, by: Actor = COMMAND_LINE) -> User:
        """Give or take away the role of operator.

        Raises Conflict if the last operator would lose the role. The gateway needs at least one operator.
        """
        changed = await self.change_user(user_id, lambda user: msgspec.structs.replace(user, operator=operator))
        self.note(AuditAction.USER_CHANGED, by, user_ref(user_id), operator=yes_or_no(operator))
        return changed

    async def reset_second_factor(self, user_id: Id, *, by: Actor = COMMAND_LINE) -> User:
        """Remove the authenticator app, all passkeys and the recovery codes of the user. All sessions end.

        Raises Conflict if the user has no second factor.
        """
        if not (await self.get_user(user_id)).has_second_factor:
            raise Conflict("This user has no second factor.", Reason.NO_SECOND_FACTOR)
        await self._store.remove_passkeys(user_id)
        changed = await self.change_user(user_id, lambda user: msgspec.structs.replace(user, totp_secret=None))
        await self._store.replace_recovery_codes(user_id, ())
        await self._store.end_sessions(user_id)
        self.note(AuditAction.SECOND_FACTOR_CHANGED, by, user_ref(user_id), second_factor="no")
        return changed

    async def rename_passkey(self, user_id: Id, passkey_id: Id, name: str, *, by: Actor) -> None:
        if not await self._store.rename_passkey(user_id, passkey_id, check_name(name)):
            raise NotFound(f"The user has no passkey {passkey_id}.")
        self.note(AuditAction.SECOND_FACTOR_CHANGED, by, user_ref(user_id), passkey="renamed")

    async def remove_passkey(self, user_id: Id, passkey_id: Id, *, by: Actor = COMMAND_LINE) -> None:
        """Remove one passkey. If the user has no second factor after that, also remove the recovery codes. Raises NotFound."""
        if not await self._store.remove_passkeys(user_id, passkey_id):
            raise NotFound(f"The user has no passkey {passkey_id}.")
        if not (await self.get_user(user_id)).has_second_factor:
            await self._store.replace_recovery_codes(user_id, ())
        self.note(AuditAction.SECOND_FACTOR_CHANGED, by, user_ref(user_id), passkey="removed")

    async def unbind_external_accounts(self, user_id: Id, *, by: Actor = COMMAND_LINE) -> int:
        """Unbind the user from the accounts that the user has at external issuers.

        This is needed if the user gets a new account at an issuer. After this, the next token of the issuer binds the new
        account to the user with the same e-mail address. Return the number of unbound accounts. Raises Conflict if no account
        is bound to the user.
        """
        await self.get_user(user_id)
        unbound = await self._store.unbind_external_accounts(user_id)
        if not unbound:
            raise Conflict("No account of another issuer is bound to this user.")
        self.note(AuditAction.USER_CHANGED, by, user_ref(user_id), external_accounts=str(unbound))
        return unbound

    # --- end access

    async def end_sessions(self, user_id: Id, *, by: Actor = COMMAND_LINE) -> int:
        """Log the user out of every browser. Grants of applications stay valid. Return the number of sessions."""
        await self.get_user(user_id)
        ended = await self._store.end_sessions(user_id)
        self.note(AuditAction.SESSION_ENDED, by, user_ref(user_id), sessions=str(ended))
        return ended

    async def revoke_grant(self, user_id: Id, grant_id: Id, *, by: Actor = COMMAND_LINE) -> None:
        """Revoke one grant. Its tokens are refused from the next request on. Raises NotFound if the user has no such grant."""
        grant = await self._store.find_grant(grant_id)
        if grant is None or grant.user_id != user_id:
            raise NotFound(f"The user has no grant {grant_id}.")
        if await self._store.revoke_grant(grant_id, self._clock.now()):
            self.note(AuditAction.REVOCATION, by, user_ref(user_id), client=grant.client_id, grant=grant_id)

    async def revoke_grants(self, user_id: Id, client_id: str | None = None, *, by: Actor = COMMAND_LINE) -> int:
        """Revoke the user's grants to one application, or all grants if `client_id` is None. Return their number."""
        await self.get_user(user_id)
        revoked = await self._store.revoke_grants(user_id, client_id, self._clock.now())
        self.note(AuditAction.REVOCATION, by, user_ref(user_id), client=client_id or "any", grants=str(revoked))
        return revoked

    async def list_owned_plants(self, user_id: Id) -> list[str]:
        """Return the names of the plants that the user owns, including removed plants."""
        plants, _ = await self._store.list_plants_of(user_id)
        return [plant.name for plant in plants if plant.owner.user_id == user_id]

    async def delete_user(self, user_id: Id, *, by: Actor = COMMAND_LINE) -> None:
        """Delete the user with sessions, grants, memberships and invitations.

        Raises Conflict if the user owns plants or is the last operator.
        """
        user = await self.get_user(user_id)
        if owned := await self.list_owned_plants(user_id):
            raise Conflict(
                f"{user.email} owns {', '.join(owned)}: every plant has an owner. "
                "Give these plants another owner first: in the console, or with `domogate estate import`.",
                Reason.OWNS_PLANTS,
            )
        if self._audit is not None:
            await self._audit.find_pseudonym(user_id)  # cached before the store deletes the pseudonym
        try:
            await self._store.delete_user(user_id)
        except ValueError as error:  # the user is the last operator, or got a plant since the check
            raise Conflict(f"{error}.", Reason.LAST_OPERATOR if isinstance(error, LastOperator) else None) from error
        self.note(AuditAction.USER_DELETED, by, user_ref(user_id))


def _existing(named: str, user: User | None) -> User:
    if user is None:
        raise NotFound(f"There is no user {named}.")
    return user
