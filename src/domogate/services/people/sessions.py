"""Logins: the password, and the second factor if the person has one or the gateway requires one."""

import math
from collections.abc import Sequence

from domogate.common.networks import network_of
from domogate.domain.attempts import Attempt
from domogate.domain.people import User
from domogate.ports import Audit, Clock, Hasher
from domogate.services.audit import NOBODY, AuditAction, AuditResult
from domogate.services.people.links import LoginStore
from domogate.services.people.login_throttle import LoginThrottle
from domogate.services.people.logins import (
    LoggedIn,
    LoginComplete,
    LoginFailed,
    LoginThrottled,
    PendingLogin,
    SecondFactorNeeded,
)
from domogate.services.people.recovery_codes import hash_recovery_code, parse_recovery_code
from domogate.services.people.second_factor import SecondFactor
from domogate.services.people.second_factor_changes import SecondFactorChanges
from domogate.services.people.session_records import CODE, PASSWORD

_TIME_FOR_SECOND_FACTOR = 600.0
_CODES_PER_ACCOUNT = 100
_HOUR, _DAY = 3600.0, 86_400.0


class Sessions(SecondFactorChanges):
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
        super().__init__(
            store,
            hasher,
            clock,
            lifetime=lifetime,
            idle_lifetime=idle_lifetime,
            second_factor=second_factor,
            second_factor_required=second_factor_required,
            audit=audit,
        )
        self._throttle = throttle
        # Guesses by others must not refuse the right password and code (Decision 0060). So these count by account and address.
        self._own_passwords = LoginThrottle(store, clock, purpose="password at an address", familiar_kept=_HOUR)
        self._own_codes = LoginThrottle(store, clock, purpose="code at an address", familiar_kept=_HOUR)
        # A person who guesses codes knows the password. A million guesses from many addresses would find a code.
        self._codes = LoginThrottle(store, clock, purpose="code", account_attempts=_CODES_PER_ACCOUNT, half_life=_DAY)

    async def log_in(
        self, email: str, password: str, otp: str | None, address: str, agent: str, *, replaces: str | None = None
    ) -> LoginComplete | SecondFactorNeeded | LoginFailed | LoginThrottled:
        """`replaces` is the cookie that the browser already has: its session ends when the login succeeds."""
        email = email.strip()
        wait = await self._throttle.admit(email, address)
        if wait > 0 and await self._own_passwords.admit(_pair(email, address), address) > 0:
            return self._refuse_for_now(wait, address, AuditAction.LOGIN)
        user = await self._store.find_user_by_email(email)
        right = await self._hasher.verify_password(password, None if user is None else user.password_hash)
        if wait > 0 and (user is None or not right or user.totp_secret is None):
            return self._refuse_for_now(wait, address, AuditAction.LOGIN)
        if user is None or not right:
            self._note_failure(AuditAction.LOGIN, user, address)
            return LoginFailed()
        set_up = user.totp_secret is None and self.second_factor_required
        if user.totp_secret is None and not set_up:
            return await self._start_session(user, address, agent, (PASSWORD,), replaces, self._succeeded(user, address))
        counted = (
            self._own_passwords.attempt(_pair(email, address), address) if wait > 0 else self._throttle.attempt(email, address)
        )
        if otp is not None and not set_up:
            await self._store.take_back_attempt(counted, self._clock.now())
            return await self._enter_code(user, otp, address, agent, replaces)
        cookie, session = self._new_session(user, address, agent, (PASSWORD,), _TIME_FOR_SECOND_FACTOR)
        await self._store.add_session(session, taken_back=counted)
        return SecondFactorNeeded(cookie, set_up) if await self._has_current_password(session, user) else LoginFailed()

    async def enter_code(
        self, pending: PendingLogin, code: str, address: str, agent: str, *, replaces: str | None = None
    ) -> LoginComplete | LoginFailed | LoginThrottled:
        """The second step of `log_in`: a code of the authenticator app, or a recovery code."""
        outcome = await self._enter_code(pending.user, code, address, agent, replaces)
        if isinstance(outcome, LoginComplete):
            await self._store.end_session(pending.session.id)
        return outcome

    async def confirm_password(self, person: LoggedIn, password: str, address: str) -> LoginFailed | LoginThrottled | None:
        """None if the password is right. Asked before critical changes, in case somebody else uses the open browser."""
        wait = await self._throttle.admit(person.user.email, address)
        if wait > 0:
            return self._refuse_for_now(wait, address, AuditAction.LOGIN)
        user = await self._store.find_user(person.user.id)
        if not await self._hasher.verify_password(password, None if user is None else user.password_hash):
            self._note_failure(AuditAction.LOGIN, person.user, address)
            return LoginFailed()
        await self._throttle.succeed(person.user.email, address)
        return None

    async def confirm_person(self, person: LoggedIn, password: str, address: str) -> LoginFailed | LoginThrottled | None:
        """As `confirm_password`, but a recent login is enough if no password is given."""
        if not password and self.is_recent(person):
            return None
        return await self.confirm_password(person, password, address)

    # --- private ------------------------------------------------------------------------------------------------------

    async def _enter_code(
        self, user: User, code: str, address: str, agent: str, replaces: str | None
    ) -> LoginComplete | LoginFailed | LoginThrottled:
        if user.totp_secret is None:
            return LoginFailed()
        recovery = parse_recovery_code(code)
        wait = await self._own_codes.admit(_pair(user.email, address), address)
        if wait <= 0 and recovery is None:  # a recovery code cannot be guessed
            wait = await self._codes.admit(user.email, address)
        if wait > 0:
            return self._refuse_for_now(wait, address, AuditAction.SECOND_FACTOR)
        step = None if recovery else self.second_factor.find_step(user.totp_secret, code)
        if recovery is not None or step is not None:
            cookie, session = self._new_session(user, address, agent, (PASSWORD, CODE), self._lifetime)
            # If two logins use the same code at once, here or at another gateway, only one gets a session.
            if await self._store.add_session(
                session,
                totp_step=step,
                recovery_code=None if recovery is None else hash_recovery_code(user.id, recovery),
                succeeded=self._succeeded(user, address),
            ):
                if recovery is not None:
                    self.note(AuditAction.SECOND_FACTOR, user.id, "recovery code", AuditResult.OK, address)
                return await self._complete(cookie, session, user, replaces)
        self._note_failure(AuditAction.SECOND_FACTOR, user, address)
        return LoginFailed()

    def _succeeded(self, user: User, address: str) -> Sequence[Attempt]:
        pair = _pair(user.email, address)
        return [
            self._throttle.attempt(user.email, address),
            self._own_passwords.attempt(pair, address),
            self._own_codes.attempt(pair, address),
            self._codes.attempt(user.email, address),
        ]

    def _refuse_for_now(self, wait: float, address: str, action: str) -> LoginThrottled:
        self.note(action, NOBODY, "an account", AuditResult.SLOWED, address)
        return LoginThrottled(math.ceil(wait))


def _pair(email: str, address: str) -> str:
    return f"{email} {network_of(address)}"
