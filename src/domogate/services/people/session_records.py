"""Login sessions of browsers: find, add and end them.

A cookie has 256 random bits, and the store keeps its SHA-256. Every login makes a new session and ends the session that the
browser had before. So a cookie that an attacker set or saw before the login is useless afterwards.
"""

import math
from collections.abc import Sequence

import msgspec

from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.attempts import Attempt
from domogate.domain.authorization import Session
from domogate.domain.ids import Id, new_id
from domogate.domain.people import User
from domogate.ports import Audit, Clock, Hasher
from domogate.services.audit import NOBODY, AuditAction, AuditResult, user_ref
from domogate.services.people.links import LoginStore
from domogate.services.people.login_throttle import LoginThrottle, LoginThrottles
from domogate.services.people.logins import LoggedIn, LoginComplete, LoginFailed, LoginThrottled, PendingLogin, form_token_of
from domogate.services.people.second_factor import SecondFactor

_TOUCH_EVERY = 60.0
_AGENT_KEPT = 300
_RECENT_LOGIN = 300.0

PASSWORD, CODE, PASSKEY, MULTIPLE = "pwd", "otp", "pop", "mfa"
"""Authentication methods (RFC 8176). A login with a passkey has two: possession of a key (pop) and multiple factors (mfa)."""
_FACTOR_NAMES = {PASSWORD: "password", CODE: "code", PASSKEY: "passkey"}


class SessionRecords:
    """Finds the person of a cookie, and starts and ends sessions."""

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
        self.second_factor = second_factor or SecondFactor(clock)
        self.second_factor_required = second_factor_required
        self._audit = audit
        self._throttles = LoginThrottles(store, clock, throttle)
        self.refused_logins = 0
        """The number of logins that were refused: a wrong password, code or passkey, or too many attempts."""

    @property
    def lifetime(self) -> float:
        return self._lifetime

    async def find(self, cookie: str | None) -> LoggedIn | None:
        """Return the person who is logged in with this cookie. Return None if there is no valid, complete login.

        The time of the last use is stored at most once a minute.
        """
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
        return PendingLogin(session, user, not user.has_second_factor, form_token_of(cookie))

    async def list_of(self, user: User) -> Sequence[Session]:
        """Return the active sessions of the person, most recently used first."""
        now = self._clock.now()
        sessions = await self._store.list_sessions(user.id)
        active = [it for it in sessions if self._is_alive(it, now) and self._is_complete(it, user)]
        return sorted(active, key=lambda it: it.seen_at, reverse=True)

    def is_recent(self, person: LoggedIn) -> bool:
        """Whether the login was so recent that the person need not enter the password again."""
        return 0 <= self._clock.now() - person.session.auth_time < _RECENT_LOGIN

    # --- log out ------------------------------------------------------------------------------------------------------

    async def log_out(self, cookie: str | None) -> None:
        found = await self._find(cookie)
        if found is not None:
            await self._store.end_session(found[0].id)

    async def end(self, person: LoggedIn, session_id: Id, address: str) -> bool:
        """End one session of the person. Return False if the person has no session with this id."""
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

    def note(self, action: str, who: str, what: str, result: str, address: str, **detail: str) -> None:
        if self._audit is not None:
            self._audit.note(action, who=who, what=what, result=result, address=address, detail=detail)

    def refuse_for_now(self, wait: float, address: str, action: str) -> LoginThrottled:
        self.refused_logins += 1
        self.note(action, NOBODY, "an account", AuditResult.SLOWED, address)
        return LoginThrottled(math.ceil(wait))

    def note_failure(self, action: str, what: str, address: str, **detail: str) -> None:
        self.refused_logins += 1
        self.note(action, NOBODY, what, AuditResult.WRONG, address, **detail)

    def _note_failure(self, action: str, user: User | None, address: str) -> None:
        self.note_failure(action, "unknown user" if user is None else user_ref(user.id), address)

    # --- for subclasses -----------------------------------------------------------------------------------------------

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
        proven = CODE in session.factors or MULTIPLE in session.factors
        return proven or (not user.has_second_factor and not self.second_factor_required)

    async def _start_session(
        self,
        user: User,
        address: str,
        agent: str,
        factors: tuple[str, ...],
        replaces: str | None,
        succeeded: Sequence[Attempt] = (),
    ) -> LoginComplete | LoginFailed:
        cookie, session = self._new_session(user, address, agent, factors, self._lifetime)
        await self._store.add_session(session, succeeded=succeeded)
        return await self._complete(cookie, session, user, replaces)

    async def _complete(self, cookie: str, session: Session, user: User, replaces: str | None) -> LoginComplete | LoginFailed:
        if not await self._has_current_password(session, user):
            return LoginFailed()
        self._throttles.forget_waits(user.email, session.address)
        await self.log_out(replaces)
        factors = ", ".join(_FACTOR_NAMES.get(factor, factor) for factor in session.factors if factor != MULTIPLE)
        self.note(AuditAction.LOGIN, user.id, factors, AuditResult.OK, session.address)
        return LoginComplete(cookie, LoggedIn(session, user, form_token_of(cookie)))

    async def _has_current_password(self, session: Session, user: User) -> bool:
        """Return whether the password of this login is still the user's password. If not, end the new session.

        The check of a password takes a long time. During the check, a password change can store the new password and end all
        sessions. A session that is added after the password change would stay valid. But it began with the old password.
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
