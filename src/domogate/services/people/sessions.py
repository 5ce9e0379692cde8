"""Login sessions of browsers.

A cookie has 256 random bits; the store keeps its SHA-256. Every login makes a new session and ends the previous one, so a
cookie that somebody set or saw before the login is useless afterwards.
"""

import math
from collections.abc import Sequence

import msgspec

from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.authorization import Session
from domogate.domain.ids import Id, new_id
from domogate.domain.people import User
from domogate.ports import Audit, Clock, Hasher
from domogate.services.audit import NOBODY, AuditAction, AuditResult, user_ref
from domogate.services.people.links import LoginStore
from domogate.services.people.login_throttle import LoginThrottle
from domogate.services.people.logins import (
    LoggedIn,
    LoginComplete,
    LoginFailed,
    LoginThrottled,
    PendingLogin,
    SecondFactorNeeded,
    form_token_of,
)
from domogate.services.people.second_factor import SecondFactor

_TOUCH_EVERY = 60.0
_TIME_FOR_SECOND_FACTOR = 600.0
_AGENT_KEPT = 300

PASSWORD, CODE = "pwd", "otp"
"""Methods of authentication (RFC 8176)."""


class Sessions:
    """Logs people in and out, and finds the person of a cookie."""

    def __init__(
        self,
        store: LoginStore,
        hasher: Hasher,
        clock: Clock,
        *,
        lifetime: float,
        idle_lifetime: float,
        throttle: LoginThrottle,
        second_factor: SecondFactor | None = None,
        second_factor_required: bool = False,
        audit: Audit | None = None,
    ) -> None:
        self._store = store
        self._hasher = hasher
        self._clock = clock
        self._lifetime = lifetime
        self._idle_lifetime = idle_lifetime
        self._throttle = throttle
        self.second_factor = second_factor or SecondFactor(clock)
        self.second_factor_required = second_factor_required
        self._audit = audit

    @property
    def lifetime(self) -> float:
        return self._lifetime

    # --- find ---------------------------------------------------------------------------------------------------------

    async def find(self, cookie: str | None) -> LoggedIn | None:
        """The person logged in with this cookie. The time of the last visit is stored at most once a minute."""
        found = await self._find(cookie)
        if found is None or cookie is None or not self._is_complete(*found):
            return None
        session, user = found
        now = self._clock.now()
        if now - session.seen_at >= _TOUCH_EVERY:
            session = msgspec.structs.replace(session, seen_at=now)
            await self._store.save_session(session)
        return LoggedIn(session, user, form_token_of(cookie))

    async def find_pending(self, cookie: str | None) -> PendingLogin | None:
        found = await self._find(cookie)
        if found is None or cookie is None or self._is_complete(*found):
            return None
        session, user = found
        return PendingLogin(session, user, user.totp_secret is None, form_token_of(cookie))

    async def list_of(self, user: User) -> Sequence[Session]:
        """The active sessions of the person, the most recently used first."""
        now = self._clock.now()
        sessions = await self._store.list_sessions(user.id)
        active = [it for it in sessions if self._is_alive(it, now) and self._is_complete(it, user)]
        return sorted(active, key=lambda it: it.seen_at, reverse=True)

    # --- log in -------------------------------------------------------------------------------------------------------

    async def log_in(
        self, email: str, password: str, otp: str | None, address: str, agent: str, *, replaces: str | None = None
    ) -> LoginComplete | SecondFactorNeeded | LoginFailed | LoginThrottled:
        """`replaces` is the cookie that the browser already has: its session ends when the login succeeds."""
        email = email.strip()
        if throttled := await self._throttled(email, address, AuditAction.LOGIN):
            return throttled
        user = await self._store.find_user_by_email(email)
        right = await self._hasher.verify_password(password, None if user is None else user.password_hash)
        if user is None or not right:
            self._note_failure(AuditAction.LOGIN, user, address)
            return LoginFailed()
        set_up = user.totp_secret is None and self.second_factor_required
        if set_up or (user.totp_secret is not None and otp is None):
            cookie, session = self._new_session(user, address, agent, (PASSWORD,), _TIME_FOR_SECOND_FACTOR)
            await self._store.add_session(session, taken_back=self._throttle.attempt(email, address))
            return SecondFactorNeeded(cookie, set_up) if await self._has_current_password(session, user) else LoginFailed()
        if user.totp_secret is None:
            return await self._start_session(user, address, agent, (PASSWORD,), replaces)
        return await self._log_in_with_code(user, user.totp_secret, otp or "", address, agent, replaces)

    async def enter_code(
        self, pending: PendingLogin, code: str, address: str, agent: str, *, replaces: str | None = None
    ) -> LoginComplete | LoginFailed | LoginThrottled:
        """The second step of `log_in`."""
        user = pending.user
        if user.totp_secret is None:
            return LoginFailed()
        if throttled := await self._throttled(user.email, address, AuditAction.SECOND_FACTOR):
            return throttled
        outcome = await self._log_in_with_code(user, user.totp_secret, code, address, agent, replaces)
        if isinstance(outcome, LoginComplete):
            await self._store.end_session(pending.session.id)
        return outcome

    async def confirm_password(self, person: LoggedIn, password: str, address: str) -> LoginFailed | LoginThrottled | None:
        """None if the password is right. Asked before critical changes, in case somebody else uses the open browser."""
        if throttled := await self._throttled(person.user.email, address, AuditAction.LOGIN):
            return throttled
        user = await self._store.find_user(person.user.id)
        if not await self._hasher.verify_password(password, None if user is None else user.password_hash):
            self._note_failure(AuditAction.LOGIN, person.user, address)
            return LoginFailed()
        await self._throttle.succeed(person.user.email, address)
        return None

    # --- the second factor --------------------------------------------------------------------------------------------

    async def set_up_pending(
        self, pending: PendingLogin, secret: str, code: str, address: str, agent: str, *, replaces: str | None = None
    ) -> LoginComplete | LoginFailed:
        """For a user without a second factor where one is required."""
        user = await self._add_second_factor(pending.user, secret, code, address)
        if user is None:
            return LoginFailed()
        await self._store.end_sessions(user.id)
        return await self._start_session(user, address, agent, (PASSWORD, CODE), replaces)

    async def switch_on_second_factor(
        self, person: LoggedIn, secret: str, code: str, address: str
    ) -> LoginComplete | LoginFailed:
        """Ends all other sessions: they were started without the second factor."""
        user = await self._add_second_factor(person.user, secret, code, address)
        if user is None:
            return LoginFailed()
        await self._store.end_sessions(user.id)
        return await self._start_session(user, address, person.session.agent, (PASSWORD, CODE), None, admitted=False)

    async def switch_off_second_factor(self, person: LoggedIn, address: str) -> bool:
        """False if the gateway requires a second factor."""
        if self.second_factor_required:
            return False
        await self._store.change_user(person.user.id, lambda user: msgspec.structs.replace(user, totp_secret=None))
        if person.user.totp_secret is not None:
            self.note(AuditAction.SECOND_FACTOR_CHANGED, person.user.id, "off", AuditResult.OK, address)
        return True

    async def _add_second_factor(self, proven: User, secret: str, code: str, address: str) -> User | None:
        def add(user: User) -> User:
            # An existing second factor is never replaced: the password alone must not be enough to remove it. A password
            # that was changed meanwhile is not enough either: somebody with the old one could lock the person out.
            may = user.totp_secret is None and user.password_hash == proven.password_hash
            return msgspec.structs.replace(user, totp_secret=secret) if may else user

        step = self.second_factor.find_step(secret, code)
        if step is None or not await self._store.use_totp_step(proven.id, step):
            return None
        user = await self._store.change_user(proven.id, add)
        if user is None or user.totp_secret != secret:
            return None
        self.note(AuditAction.SECOND_FACTOR_CHANGED, user.id, "on", AuditResult.OK, address)
        return user

    # --- log out-------------------------------------------------------------------------------------------------------

    async def log_out(self, cookie: str | None) -> None:
        found = await self._find(cookie)
        if found is not None:
            await self._store.end_session(found[0].id)

    async def end(self, person: LoggedIn, session_id: Id, address: str) -> bool:
        """End one of the person's own sessions. False if they have no such session."""
        own = {session.id for session in await self._store.list_sessions(person.user.id)}
        if session_id not in own or not await self._store.end_session(session_id):
            return False
        self.note(AuditAction.SESSION_ENDED, person.user.id, "one", AuditResult.OK, address)
        return True

    async def end_others(self, person: LoggedIn, address: str) -> int:
        ended = await self._store.end_sessions(person.user.id, keep=person.session.id)
        self.note(AuditAction.SESSION_ENDED, person.user.id, "all others", AuditResult.OK, address)
        return ended

    # --- the audit log ------------------------------------------------------------------------------------------------

    def note(self, action: str, who: str, what: str, result: str, address: str) -> None:
        if self._audit is not None:
            self._audit.note(action, who=who, what=what, result=result, address=address)

    def _note_failure(self, action: str, user: User | None, address: str) -> None:
        self.note(action, NOBODY, "unknown user" if user is None else user_ref(user.id), AuditResult.WRONG, address)

    async def _throttled(self, email: str, address: str, action: str) -> LoginThrottled | None:
        wait = await self._throttle.admit(email, address)
        if wait <= 0:
            return None
        self.note(action, NOBODY, "an account", AuditResult.SLOWED, address)
        return LoginThrottled(math.ceil(wait))

    # --- private ------------------------------------------------------------------------------------------------------

    async def _find(self, cookie: str | None) -> tuple[Session, User] | None:
        if not cookie:
            return None
        session = await self._store.find_session(hash_secret(cookie))
        if session is None or not self._is_alive(session, self._clock.now()):
            return None
        user = await self._store.find_user(session.user_id)
        return None if user is None or not user.active else (session, user)

    def _is_alive(self, session: Session, now: float) -> bool:
        return now < session.expires_at and now < session.seen_at + self._idle_lifetime

    def _is_complete(self, session: Session, user: User) -> bool:
        return CODE in session.factors or (user.totp_secret is None and not self.second_factor_required)

    async def _log_in_with_code(
        self, user: User, secret: str, code: str, address: str, agent: str, replaces: str | None
    ) -> LoginComplete | LoginFailed:
        step = self.second_factor.find_step(secret, code)
        if step is not None:
            cookie, session = self._new_session(user, address, agent, (PASSWORD, CODE), self._lifetime)
            succeeded = self._throttle.attempt(user.email, address)
            # If two logins use the same code at once, here or at another gateway, only one gets a session.
            if await self._store.add_session(session, totp_step=step, succeeded=succeeded):
                return await self._complete(cookie, session, user, replaces)
        self._note_failure(AuditAction.SECOND_FACTOR, user, address)
        return LoginFailed()

    async def _start_session(
        self,
        user: User,
        address: str,
        agent: str,
        factors: tuple[str, ...],
        replaces: str | None,
        *,
        admitted: bool = True,
    ) -> LoginComplete | LoginFailed:
        cookie, session = self._new_session(user, address, agent, factors, self._lifetime)
        succeeded = self._throttle.attempt(user.email, address) if admitted else None
        await self._store.add_session(session, succeeded=succeeded)
        return await self._complete(cookie, session, user, replaces)

    async def _complete(self, cookie: str, session: Session, user: User, replaces: str | None) -> LoginComplete | LoginFailed:
        if not await self._has_current_password(session, user):
            return LoginFailed()
        await self.log_out(replaces)
        self.note(AuditAction.LOGIN, user.id, " ".join(session.factors), AuditResult.OK, session.address)
        return LoginComplete(cookie, LoggedIn(session, user, form_token_of(cookie)))

    async def _has_current_password(self, session: Session, user: User) -> bool:
        """Whether the password of this login is still the user's password. If not, the new session ends.

        A password change stores the new password and then ends all sessions. Checking the old password takes so long that
        both can happen meanwhile. A session that is added afterwards would stay.
        """
        now = await self._store.find_user(user.id)
        if now is not None and now.password_hash == user.password_hash:
            return True
        await self._store.end_session(session.id)
        self._note_failure(AuditAction.LOGIN, user, session.address)
        return False

    def _new_session(
        self, user: User, address: str, agent: str, factors: tuple[str, ...], lifetime: float
    ) -> tuple[str, Session]:
        cookie = new_secret()
        now = self._clock.now()
        return cookie, Session(
            id=new_id(),
            token_hash=hash_secret(cookie),
            user_id=user.id,
            auth_time=now,
            created_at=now,
            seen_at=now,
            expires_at=now + lifetime,
            address=address,
            agent=agent[:_AGENT_KEPT],
            factors=factors,
        )
