"""Logins: the password, and the second factor if the person has one or the gateway requires one."""

from domogate.domain.attempts import Attempt
from domogate.domain.login_names import read_login
from domogate.domain.passkeys import PasskeyUse
from domogate.domain.people import User
from domogate.services.audit import AuditAction, AuditResult
from domogate.services.people.login_throttle import at_address
from domogate.services.people.logins import (
    LoggedIn,
    LoginComplete,
    LoginFailed,
    LoginThrottled,
    PendingLogin,
    SecondFactorNeeded,
)
from domogate.services.people.recovery_codes import hash_recovery_code, parse_recovery_code
from domogate.services.people.second_factor_changes import SecondFactorChanges
from domogate.services.people.session_records import CODE, PASSWORD

_TIME_FOR_SECOND_FACTOR = 600.0
_WAIT_FOR_A_PLACE = 5.0


class Sessions(SecondFactorChanges):
    """Logs people in and out, and finds the person of a cookie."""

    async def log_in(
        self, email: str, password: str, otp: str | None, address: str, agent: str, *, replaces: str | None = None
    ) -> LoginComplete | SecondFactorNeeded | LoginFailed | LoginThrottled:
        """Check the password. If the person has a second factor, also check the code `otp`.

        `email` is an e-mail address or a login name.

        The result is SecondFactorNeeded if the person has a second factor and `otp` is None. It is also SecondFactorNeeded if
        the person must first set up a second factor.

        `replaces` is the cookie that the browser already has. Its session ends when the login succeeds.
        """
        with self._throttles.queue.enter(address) as has_place:
            if not has_place:
                return self.refuse_for_now(_WAIT_FOR_A_PLACE, address, AuditAction.LOGIN)
            return await self._log_in(read_login(email.strip()), password, otp, address, agent, replaces)

    async def _log_in(
        self, email: str, password: str, otp: str | None, address: str, agent: str, replaces: str | None
    ) -> LoginComplete | SecondFactorNeeded | LoginFailed | LoginThrottled:
        throttles = self._throttles
        wait = await throttles.passwords.admit(email, address)
        if wait > 0 and await throttles.passwords_at_address.admit(at_address(email, address), address) > 0:
            return self.refuse_for_now(wait, address, AuditAction.LOGIN)
        user = await self._store.find_user_by_email(email)
        right = await self._hasher.verify_password(password, None if user is None else user.password_hash)
        if wait > 0 and (user is None or not right or not user.has_second_factor):
            return self.refuse_for_now(wait, address, AuditAction.LOGIN)
        if user is None or not right:
            self._note_failure(AuditAction.LOGIN, user, address)
            return LoginFailed()
        set_up = not user.has_second_factor and self.second_factor_required
        if not user.has_second_factor and not set_up:
            return await self._start_session(
                user, address, agent, (PASSWORD,), replaces, self._throttles.succeeded(user.email, address)
            )
        counted = (
            throttles.passwords_at_address.attempt(at_address(email, address), address)
            if wait > 0
            else throttles.passwords.attempt(email, address)
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
        """Complete a login that `log_in` began. `code` is a code of the authenticator app or a recovery code.

        `replaces` is the cookie that the browser already has. Its session ends when the login succeeds.
        """
        outcome = await self._enter_code(pending.user, code, address, agent, replaces)
        if isinstance(outcome, LoginComplete):
            await self._store.end_session(pending.session.id)
        return outcome

    async def log_in_proven(
        self,
        user: User,
        passkey: PasskeyUse,
        factors: tuple[str, ...],
        counted: Attempt,
        address: str,
        agent: str,
        *,
        replaces: str | None,
    ) -> LoginComplete | LoginFailed:
        """Log in with a verified passkey. If two logins use the same challenge, even at different gateways, only one succeeds.

        `factors` are all factors that the person proved. `counted` is the attempt of this login, which the caller has
        counted already. If the login succeeds, the attempt is marked as successful.

        `replaces` is the cookie that the browser already has. Its session ends when the login succeeds.
        """
        cookie, session = self._new_session(user, address, agent, factors, self._lifetime)
        succeeded = [*self._throttles.succeeded(user.email, address), counted]
        if await self._store.add_session(session, passkey=passkey, succeeded=succeeded):
            return await self._complete(cookie, session, user, replaces)
        self._note_failure(AuditAction.LOGIN, user, address)
        return LoginFailed()

    async def confirm_password(self, person: LoggedIn, password: str, address: str) -> LoginFailed | LoginThrottled | None:
        """Return None if the password is right. Otherwise return the reason why it is refused.

        Pages ask for the password before critical changes. The reason: another person may use the browser.
        """
        wait = await self._throttles.passwords.admit(person.user.email, address)
        if wait > 0:
            return self.refuse_for_now(wait, address, AuditAction.LOGIN)
        user = await self._store.find_user(person.user.id)
        if not await self._hasher.verify_password(password, None if user is None else user.password_hash):
            self._note_failure(AuditAction.LOGIN, person.user, address)
            return LoginFailed()
        await self._throttles.passwords.succeed(person.user.email, address)
        return None

    async def confirm_person(self, person: LoggedIn, password: str, address: str) -> LoginFailed | LoginThrottled | None:
        """Return None if the password is right. Also return None if the password is empty and the login was recent.

        Otherwise return the reason why the password is refused.
        """
        if not password and self.is_recent(person):
            return None
        return await self.confirm_password(person, password, address)

    # --- private ------------------------------------------------------------------------------------------------------

    async def _enter_code(
        self, user: User, code: str, address: str, agent: str, replaces: str | None
    ) -> LoginComplete | LoginFailed | LoginThrottled:
        if not user.has_second_factor:
            return LoginFailed()
        recovery = parse_recovery_code(code)
        wait = await self._throttles.codes_at_address.admit(at_address(user.email, address), address)
        if wait <= 0 and recovery is None:  # a recovery code is too long to guess
            wait = await self._throttles.codes.admit(user.email, address)
        if wait > 0:
            return self.refuse_for_now(wait, address, AuditAction.SECOND_FACTOR)
        step = None if recovery or user.totp_secret is None else self.second_factor.find_step(user.totp_secret, code)
        if recovery is not None or step is not None:
            cookie, session = self._new_session(user, address, agent, (PASSWORD, CODE), self._lifetime)
            # If two logins use the same code at the same time, at any gateway, only one gets a session.
            if await self._store.add_session(
                session,
                totp_step=step,
                recovery_code=None if recovery is None else hash_recovery_code(user.id, recovery),
                succeeded=self._throttles.succeeded(user.email, address),
            ):
                if recovery is not None:
                    self.note(AuditAction.SECOND_FACTOR, user.id, "recovery code", AuditResult.OK, address)
                return await self._complete(cookie, session, user, replaces)
        self._note_failure(AuditAction.SECOND_FACTOR, user, address)
        return LoginFailed()
