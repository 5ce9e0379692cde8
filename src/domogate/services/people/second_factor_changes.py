"""Changes of the second factor: an authenticator app, and recovery codes. Passkeys are in `passkeys.py`."""

from collections.abc import Sequence

import msgspec

from domogate.domain.authorization import Session
from domogate.domain.people import User
from domogate.services.audit import AuditAction, AuditResult
from domogate.services.people.logins import LoggedIn, LoginComplete, LoginFailed, PendingLogin
from domogate.services.people.recovery_codes import hash_recovery_code, new_recovery_codes
from domogate.services.people.session_records import CODE, PASSWORD, SessionRecords


class SecondFactorChanges(SessionRecords):
    """Switches the authenticator app on and off, and makes recovery codes. The caller must have checked the password."""

    async def set_up_pending(
        self, pending: PendingLogin, secret: str, code: str, address: str, agent: str, *, replaces: str | None = None
    ) -> LoginComplete | LoginFailed:
        """Set up the authenticator app during a login, for a user without the second factor that the gateway requires.

        The user's earlier sessions end, and a new session starts. The result is LoginFailed if the code is refused. It is also
        LoginFailed if the password or the second factor was changed since the check of the password. `replaces` is the cookie
        that the browser already has. Its session ends too, even if it belongs to another user.
        """
        user = await self._add_second_factor(pending.user, secret, code, address)
        if user is None:
            return LoginFailed()
        await self._store.end_sessions(user.id)
        return await self._start_session(
            user, address, agent, (PASSWORD, CODE), replaces, self._throttles.succeeded(user.email, address)
        )

    async def switch_on_second_factor(
        self, person: LoggedIn, secret: str, code: str, address: str
    ) -> LoginComplete | LoginFailed:
        user = await self._add_second_factor(person.user, secret, code, address)
        return LoginFailed() if user is None else await self.renew(person.session, user, (CODE,), address)

    async def renew(self, session: Session, user: User, factors: Sequence[str], address: str) -> LoginComplete | LoginFailed:
        """Start a new session after the person proved `factors`. End all other sessions, which began without these factors."""
        await self._store.end_sessions(user.id)
        all_factors = tuple(dict.fromkeys((*session.factors, *factors)))
        return await self._start_session(user, address, session.agent, all_factors, None)

    async def switch_off_second_factor(self, person: LoggedIn, address: str) -> bool:
        """Switch the authenticator app off.

        If a second factor is required and the person has no passkey, change nothing and return False.
        """
        if self.second_factor_required and not person.user.has_passkey:
            return False
        changed = await self._store.change_user(person.user.id, lambda user: msgspec.structs.replace(user, totp_secret=None))
        if changed is not None and not changed.has_second_factor:
            await self._store.replace_recovery_codes(person.user.id, ())
        if person.user.totp_secret is not None:
            self.note(AuditAction.SECOND_FACTOR_CHANGED, person.user.id, "off", AuditResult.OK, address)
        return True

    async def _add_second_factor(self, proven: User, secret: str, code: str, address: str) -> User | None:
        def add(user: User) -> User:
            # An existing second factor is never replaced, because the password alone must not be enough to remove it. The
            # password must not have changed either: a person with the old password could lock out the owner.
            unchanged = user.password_hash == proven.password_hash and user.has_passkey == proven.has_passkey
            may = user.totp_secret is None and unchanged
            return msgspec.structs.replace(user, totp_secret=secret) if may else user

        step = self.second_factor.find_step(secret, code)
        if step is None or not await self._store.use_totp_step(proven.id, step):
            return None
        user = await self._store.change_user(proven.id, add)
        if user is None or user.totp_secret != secret:
            return None
        self.note(AuditAction.SECOND_FACTOR_CHANGED, user.id, "on", AuditResult.OK, address)
        return user

    async def new_recovery_codes(self, user: User, address: str) -> Sequence[str]:
        """Make ten new recovery codes, which are shown once. Earlier recovery codes become invalid."""
        codes = new_recovery_codes()
        await self._store.replace_recovery_codes(user.id, [hash_recovery_code(user.id, code) for code in codes])
        self.note(AuditAction.SECOND_FACTOR_CHANGED, user.id, "recovery codes", AuditResult.OK, address)
        return codes

    async def count_recovery_codes(self, user: User) -> int:
        return await self._store.count_recovery_codes(user.id)
