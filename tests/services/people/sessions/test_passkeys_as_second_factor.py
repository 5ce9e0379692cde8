"""Passkeys after the password, and removing them."""

from pathlib import Path
from typing import Any

import pytest

from domogate.services.people import LoginComplete, LoginFailed
from domogate.services.refusals import Conflict, NotFound
from support.auth_setup import ADDRESS, PASSWORD, SECRET, AuthSetup, open_auth_setup
from support.authenticator import Authenticator, decode
from support.logins import AGENT, enroll, enter, log_in, noted, passkeys_of, pending, use_passkey
from support.stores import ANNA, BRUNO

pytestmark = pytest.mark.slow


async def complete(setup: AuthSetup, device: Authenticator, **changed: Any) -> Any:
    """The step after the password."""
    waiting = await pending(setup, await log_in(setup))
    answer = device.get(await passkeys_of(setup).ask_for_one_of(waiting), **changed)
    return await passkeys_of(setup).complete(waiting, answer, ADDRESS, AGENT)


class TestAfterThePassword:
    async def test_a_passkey_completes_the_login(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        waiting = await pending(setup, await log_in(setup))
        options = await passkeys_of(setup).ask_for_one_of(waiting)
        assert [decode(known["id"]) for known in options["allowCredentials"]] == [device.credential_id]
        # An authenticator may leave the user handle out, because the gateway named the passkey.
        answer = device.get(options, user_handle=b"")
        entered = await passkeys_of(setup).complete(waiting, answer, ADDRESS, AGENT)
        assert isinstance(entered, LoginComplete)
        assert entered.person.session.factors == ("pwd", "pop", "mfa")
        assert len(await setup.store.list_sessions(ANNA.id)) == 2

    async def test_the_password_alone_is_not_enough(self, setup: AuthSetup) -> None:
        await enroll(setup)
        outcome = await log_in(setup)
        assert not outcome.set_up
        assert await setup.sessions.find(outcome.cookie) is None

    async def test_a_passkey_of_another_account_does_not_help(self, setup: AuthSetup) -> None:
        await enroll(setup)
        bruno = await enroll(setup, BRUNO)
        assert await complete(setup, bruno) == LoginFailed()
        assert (await noted(setup))[-1][2] == {"reason": "passkey: of another user"}

    @pytest.mark.parametrize("changed", [{"verified": False}, {"origin": "https://evil.example"}, {"user_handle": b"x"}])
    async def test_the_same_rules_hold(self, setup: AuthSetup, changed: dict[str, Any]) -> None:
        assert await complete(setup, await enroll(setup), **changed) == LoginFailed()

    async def test_a_code_of_the_app_works_too_if_there_is_one(self, setup: AuthSetup) -> None:
        await enroll(setup)
        await setup.change(ANNA, totp_secret=SECRET)
        entered = await enter(setup, otp=setup.code())
        assert entered.person.session.factors == ("pwd", "otp")

    async def test_a_recovery_code_replaces_it(self, setup: AuthSetup) -> None:
        await enroll(setup)
        code, *_ = await setup.sessions.new_recovery_codes(await setup.user(ANNA), ADDRESS)
        assert isinstance(await enter(setup, otp=code), LoginComplete)
        assert await log_in(setup, otp="000000") == LoginFailed()

    async def test_guesses_of_the_password_by_others_do_not_refuse_it(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        for number in range(120):
            await setup.throttle.admit(ANNA.email, f"198.51.100.{number}")
        assert isinstance(await complete(setup, device), LoginComplete)

    async def test_a_password_that_was_replaced_meanwhile_is_not_enough(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        waiting = await pending(setup, await log_in(setup))
        answer = device.get(await passkeys_of(setup).ask_for_one_of(waiting))
        await setup.people.set_password(ANNA.id, "seven green bottles")
        assert await passkeys_of(setup).complete(waiting, answer, ADDRESS, AGENT) == LoginFailed()
        assert await setup.store.list_sessions(ANNA.id) == []

    async def test_a_login_that_began_before_cannot_set_up_an_app_instead(self, tmp_path: Path) -> None:
        """The password alone must not be enough to add another second factor."""
        async with open_auth_setup(tmp_path, second_factor_required=True) as setup:
            waiting = await pending(setup, await log_in(setup))
            setup.sessions.second_factor_required = False
            await enroll(setup)
            outcome = await setup.sessions.set_up_pending(waiting, SECRET, setup.code(), ADDRESS, AGENT)
            assert outcome == LoginFailed()
            assert (await setup.user(ANNA)).totp_secret is None


class TestRemoving:
    @pytest.fixture
    async def secured(self, setup: AuthSetup) -> AuthSetup:
        await enroll(setup)
        await setup.sessions.new_recovery_codes(await setup.user(ANNA), ADDRESS)
        return setup

    async def test_the_last_one_removes_the_recovery_codes(self, secured: AuthSetup) -> None:
        (kept,) = await secured.store.list_passkeys(ANNA.id)
        await secured.people.remove_passkey(ANNA.id, kept.id)
        assert await secured.sessions.count_recovery_codes(ANNA) == 0
        assert not (await secured.user(ANNA)).has_second_factor

    async def test_the_recovery_codes_stay_with_the_app(self, secured: AuthSetup) -> None:
        await secured.change(ANNA, totp_secret=SECRET)
        (kept,) = await secured.store.list_passkeys(ANNA.id)
        await secured.people.remove_passkey(ANNA.id, kept.id)
        assert await secured.sessions.count_recovery_codes(ANNA) == 10

    async def test_switching_off_the_app_keeps_passkeys_and_recovery_codes(self, secured: AuthSetup) -> None:
        await secured.change(ANNA, totp_secret=SECRET)
        secured.sessions.second_factor_required = True
        person = (await enter(secured, otp=secured.code())).person
        assert await secured.sessions.switch_off_second_factor(person, ADDRESS)
        assert await secured.sessions.count_recovery_codes(ANNA) == 10
        assert (await secured.user(ANNA)).has_second_factor

    async def test_of_another_user_is_not_possible(self, secured: AuthSetup) -> None:
        (kept,) = await secured.store.list_passkeys(ANNA.id)
        with pytest.raises(NotFound):
            await secured.people.remove_passkey(BRUNO.id, kept.id)
        assert len(await secured.store.list_passkeys(ANNA.id)) == 1

    async def test_the_operators_reset_removes_all_and_ends_the_sessions(self, secured: AuthSetup) -> None:
        await secured.change(ANNA, totp_secret=SECRET)
        await secured.people.reset_second_factor(ANNA.id)
        assert await secured.store.list_passkeys(ANNA.id) == []
        assert await secured.store.list_sessions(ANNA.id) == []
        assert await secured.sessions.count_recovery_codes(ANNA) == 0
        assert isinstance(await log_in(secured, password=PASSWORD), LoginComplete)
        with pytest.raises(Conflict):
            await secured.people.reset_second_factor(ANNA.id)

    async def test_deleting_the_user_removes_them(self, setup: AuthSetup) -> None:
        device = await enroll(setup, BRUNO)
        await setup.people.delete_user(BRUNO.id)
        assert await use_passkey(setup, device) == LoginFailed()
