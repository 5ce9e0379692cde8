"""Passkeys of people: add a passkey, and log in with a passkey, either without the password or after the password."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from domogate.common.networks import network_of
from domogate.common.secrets import new_secret
from domogate.domain.ids import new_id
from domogate.domain.passkeys import Passkey, PasskeyUse
from domogate.domain.people import User
from domogate.ports import Clock, PasskeyRefused, PasskeyStore, PasskeyVerifier, Signer, UnverifiedAnswer
from domogate.services.audit import AuditAction, AuditResult, user_ref
from domogate.services.people.links import LoginStore
from domogate.services.people.login_throttle import LoginThrottle
from domogate.services.people.logins import LoggedIn, LoginComplete, LoginExpired, LoginFailed, LoginThrottled, PendingLogin
from domogate.services.people.passkey_challenges import PasskeyChallenges, ReadChallenge
from domogate.services.people.rules import check_name
from domogate.services.people.session_records import MULTIPLE, PASSKEY
from domogate.services.people.sessions import Sessions

_ATTEMPTS = 100
"""The number of wrong answers after which an IP address has to wait.

Nobody can guess a signature. This number only limits the work of the gateway.
"""


class PasskeyLoginStore(LoginStore, PasskeyStore, Protocol):
    """The parts of the store with users, sessions and passkeys."""


class Passkeys:
    """Adds passkeys and logs people in with them.

    At each use, the authenticator also verifies the person, for example by a fingerprint. So a passkey alone counts as two
    factors.
    """

    def __init__(
        self, store: PasskeyLoginStore, sessions: Sessions, verifier: PasskeyVerifier, signer: Signer, clock: Clock
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._verifier = verifier
        self._clock = clock
        self._challenges = PasskeyChallenges(signer, clock)
        self._throttle = LoginThrottle(store, clock, purpose="passkey", account_attempts=_ATTEMPTS)

    # --- questions for the browser ------------------------------------------------------------------------------------

    async def ask_for_new(self, person: LoggedIn) -> dict[str, Any]:
        """Return the options with which the browser makes a new passkey.

        All passkeys of a user have the same user handle (an id in WebAuthn). So a device keeps only one passkey of this user.
        """
        known = await self._store.list_passkeys(person.user.id)
        user_handle = known[0].user_handle if known else new_secret()
        challenge = await self._challenges.new(person.form_token, user_handle)
        return await self._verifier.creation_options(person.user, user_handle, known, challenge)

    async def ask_for_any(self, form_token: str) -> dict[str, Any]:
        """Return the options with which the browser logs in without a password.

        The gateway learns from the chosen passkey who the person is.
        """
        return await self._verifier.request_options((), await self._challenges.new(form_token))

    async def ask_for_one_of(self, pending: PendingLogin) -> dict[str, Any]:
        """Return the WebAuthn options for the step after the password: the browser must use a passkey of this person."""
        known = await self._store.list_passkeys(pending.user.id)
        return await self._verifier.request_options(known, await self._challenges.new(pending.form_token))

    # --- answers of the browser ---------------------------------------------------------------------------------------

    async def add(
        self, person: LoggedIn, answer: str, name: str, address: str
    ) -> LoggedIn | LoginComplete | LoginFailed | LoginExpired:
        """Add a passkey. Before this call, the caller must ask the person for the password again.

        Raises Invalid if the name is not valid.

        If the person had no second factor before, all other sessions end. Then the result is LoginComplete with a new session.
        Otherwise the result is `person`. After LoginFailed or LoginExpired, no passkey was added. There is one exception: if
        the password was changed at the same time, the result is LoginFailed, and the passkey may have been added.
        """
        check_name(name)
        read = await self._read(answer, person.form_token)
        if not isinstance(read, tuple):
            return read
        unverified, challenge = read
        try:
            new = self._verifier.verify_new(unverified)
        except PasskeyRefused:
            return LoginFailed()
        passkey = Passkey(
            id=new_id(),
            user_id=person.user.id,
            credential_id=new.credential_id,
            user_handle=challenge.user_handle,
            public_key=new.public_key,
            sign_count=new.sign_count,
            name=name,
            created_at=self._clock.now(),
        )
        if not await self._store.add_passkey(passkey, challenge.used, person.session.id):
            return LoginFailed()
        self._sessions.note(AuditAction.SECOND_FACTOR_CHANGED, person.user.id, "passkey added", AuditResult.OK, address)
        if person.user.has_second_factor:
            return person
        user = msgspec.structs.replace(person.user, has_passkey=True)
        return await self._sessions.renew(person.session, user, (PASSKEY, MULTIPLE), address)

    async def log_in(
        self, answer: str, form_token: str, address: str, agent: str, *, replaces: str | None = None
    ) -> LoginComplete | LoginFailed | LoginExpired | LoginThrottled:
        """Log in without a password.

        `replaces` is the cookie that the browser already has. Its session ends when the login succeeds.
        """
        return await self._log_in(None, answer, form_token, (), address, agent, replaces)

    async def complete(
        self, pending: PendingLogin, answer: str, address: str, agent: str, *, replaces: str | None = None
    ) -> LoginComplete | LoginFailed | LoginExpired | LoginThrottled:
        """Log in with a passkey after the password.

        `replaces` is the cookie that the browser already has. Its session ends when the login succeeds.
        """
        factors = pending.session.factors
        outcome = await self._log_in(pending.user, answer, pending.form_token, factors, address, agent, replaces)
        if isinstance(outcome, LoginComplete):
            await self._store.end_session(pending.session.id)
        return outcome

    # --- private ------------------------------------------------------------------------------------------------------

    async def _log_in(
        self,
        expected: User | None,
        answer: str,
        form_token: str,
        factors: Sequence[str],
        address: str,
        agent: str,
        replaces: str | None,
    ) -> LoginComplete | LoginFailed | LoginExpired | LoginThrottled:
        read = await self._read(answer, form_token)
        if not isinstance(read, tuple):
            return read
        unverified, challenge = read
        # Only the IP address is counted, not the account: wrong answers of other people must not lock the person out.
        network = network_of(address)
        wait = await self._throttle.admit(network, address)
        if wait > 0:
            return self._sessions.refuse_for_now(wait, address, AuditAction.LOGIN)
        try:
            user, passkey, sign_count = await self._verify(unverified, expected)
        except _NotProven as refused:
            self._sessions.note_failure(AuditAction.LOGIN, refused.what, address, reason=f"passkey: {refused.reason}")
            return LoginFailed()
        return await self._sessions.log_in_proven(
            user,
            PasskeyUse(passkey.id, sign_count, challenge.used),
            (*factors, PASSKEY, MULTIPLE),
            self._throttle.attempt(network, address),
            address,
            agent,
            replaces=replaces,
        )

    async def _read(self, answer: str, form_token: str) -> tuple[UnverifiedAnswer, ReadChallenge] | LoginFailed | LoginExpired:
        """Return the answer of the authenticator and its challenge, before the answer is verified.

        Return LoginFailed if the answer cannot be read. Return LoginExpired if the challenge was not made for this form, or has
        expired.
        """
        try:
            unverified = await self._verifier.read_answer(answer)
        except PasskeyRefused:
            return LoginFailed()
        challenge = await self._challenges.read(unverified.challenge, form_token)
        return LoginExpired() if challenge is None else (unverified, challenge)

    async def _verify(self, answer: UnverifiedAnswer, expected: User | None) -> tuple[User, Passkey, int]:
        """Verify the answer. Return the user, the passkey and the authenticator's count of signatures. Raises _NotProven.

        `expected` is the user whose password was entered before. It is None if the login is without a password.
        """
        passkey = await self._store.find_passkey(answer.credential_id)
        user = None if passkey is None else await self._store.find_user(passkey.user_id)
        if passkey is None or user is None or not user.active:
            raise _NotProven("unknown", "unknown user" if expected is None else user_ref(expected.id))
        what = user_ref(user.id)
        if expected is not None and user.id != expected.id:
            raise _NotProven("of another user", user_ref(expected.id))
        # If the gateway named the passkey, the authenticator may leave the handle out (WebAuthn §7.2).
        if answer.user_handle != passkey.user_handle and (expected is None or answer.user_handle is not None):
            raise _NotProven("user handle", what)
        try:
            sign_count = self._verifier.verify_use(answer, passkey)
        except PasskeyRefused:
            raise _NotProven("not verified", what) from None
        if not passkey.accepts_count(sign_count):
            raise _NotProven("count of signatures went back", what)
        # `expected` is the user as read when the password was checked. If the password was changed since then, the login fails.
        return expected or user, passkey, sign_count


class _NotProven(Exception):
    """The answer does not prove that the person has the passkey.

    `reason` and `what` are for the audit log. The person does not see them.
    """

    def __init__(self, reason: str, what: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.what = what
