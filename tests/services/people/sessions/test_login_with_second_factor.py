"""Login with a code, if the person has a second factor or the gateway requires one."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from domogate.services.people import LoginComplete, LoginFailed, LoginThrottled
from support.auth_setup import ADDRESS, PASSWORD, SECRET, AuthSetup, open_auth_setup
from support.examples import is_long
from support.logins import AGENT, enter, find, log_in, pending
from support.stores import ANNA, BRUNO

pytestmark = pytest.mark.slow

GUESSES = 300 if is_long() else 140
"""More than are answered."""


async def guess_code(setup: AuthSetup, address: str = ADDRESS) -> Any:
    outcome = await setup.sessions.log_in(ANNA.email, PASSWORD, None, address, AGENT)
    return await setup.sessions.enter_code(await pending(setup, outcome), "000000", address, AGENT)


class TestRecoveryCodes:
    @pytest.fixture
    async def secured(self, setup: AuthSetup) -> AuthSetup:
        await setup.change(ANNA, totp_secret=SECRET)
        return setup

    async def test_each_completes_one_login(self, secured: AuthSetup) -> None:
        anna = await secured.user(ANNA)
        codes = await secured.sessions.new_recovery_codes(anna, ADDRESS)
        assert len(set(codes)) == 10
        for number, code in enumerate(codes, 1):
            entered = await enter(secured, otp=code.upper().replace("-", " "))
            assert entered.person.session.factors == ("pwd", "otp")
            assert await secured.sessions.count_recovery_codes(anna) == 10 - number
            assert await log_in(secured, otp=code) == LoginFailed()

    async def test_used_at_once_only_one_login_succeeds(self, secured: AuthSetup) -> None:
        code, *_ = await secured.sessions.new_recovery_codes(await secured.user(ANNA), ADDRESS)
        outcomes = await asyncio.gather(*(log_in(secured, otp=code) for _ in range(4)))
        assert sum(isinstance(outcome, LoginComplete) for outcome in outcomes) == 1

    async def test_a_new_set_replaces_the_old_one(self, secured: AuthSetup) -> None:
        anna = await secured.user(ANNA)
        old, *_ = await secured.sessions.new_recovery_codes(anna, ADDRESS)
        new, *_ = await secured.sessions.new_recovery_codes(anna, ADDRESS)
        assert await log_in(secured, otp=old) == LoginFailed()
        await enter(secured, otp=new)

    async def test_are_of_no_use_to_another_user(self, secured: AuthSetup) -> None:
        await secured.change(BRUNO, totp_secret=SECRET)
        code, *_ = await secured.sessions.new_recovery_codes(await secured.user(BRUNO), ADDRESS)
        assert await log_in(secured, otp=code) == LoginFailed()

    async def test_open_nothing_without_the_password(self, secured: AuthSetup) -> None:
        code, *_ = await secured.sessions.new_recovery_codes(await secured.user(ANNA), ADDRESS)
        assert await log_in(secured, password="not it", otp=code) == LoginFailed()
        await enter(secured, otp=code)

    async def test_are_not_in_the_database(self, secured: AuthSetup, tmp_path: Path) -> None:
        codes = await secured.sessions.new_recovery_codes(await secured.user(ANNA), ADDRESS)
        await secured.store.backup(tmp_path / "backup")
        stored = (tmp_path / "backup").read_bytes()
        for code in codes:
            assert code.encode() not in stored
            assert code.replace("-", "").encode() not in stored

    @pytest.mark.parametrize("by_operator", [True, False])
    async def test_end_with_the_second_factor(self, secured: AuthSetup, by_operator: bool) -> None:
        code, *_ = await secured.sessions.new_recovery_codes(await secured.user(ANNA), ADDRESS)
        if by_operator:
            await secured.people.reset_second_factor(ANNA.id)
        else:
            await secured.sessions.switch_off_second_factor((await enter(secured, otp=secured.code())).person, ADDRESS)
        await secured.change(ANNA, totp_secret=SECRET)
        assert await secured.sessions.count_recovery_codes(ANNA) == 0
        assert await log_in(secured, otp=code) == LoginFailed()


class TestTheSecondFactor:
    @pytest.fixture
    async def secured(self, setup: AuthSetup) -> AuthSetup:
        await setup.change(ANNA, totp_secret=SECRET)
        return setup

    async def test_is_asked_for_after_the_password(self, secured: AuthSetup) -> None:
        outcome = await log_in(secured)
        waiting = await pending(secured, outcome)
        assert not outcome.set_up
        assert waiting.user.id == ANNA.id

    async def test_without_it_nobody_is_logged_in(self, secured: AuthSetup) -> None:
        outcome = await log_in(secured)
        assert await secured.sessions.find(outcome.cookie) is None
        assert await secured.sessions.list_of(await secured.user(ANNA)) == []

    async def test_a_code_completes_the_login_with_another_cookie(self, secured: AuthSetup) -> None:
        outcome = await log_in(secured)
        waiting = await pending(secured, outcome)
        entered = await secured.sessions.enter_code(waiting, secured.code(), ADDRESS, AGENT)
        assert isinstance(entered, LoginComplete)
        assert entered.cookie != outcome.cookie
        assert entered.person.session.factors == ("pwd", "otp")
        assert await secured.sessions.find_pending(outcome.cookie) is None
        await find(secured, entered.cookie)

    async def test_may_come_along_with_the_password(self, secured: AuthSetup) -> None:
        entered = await enter(secured, otp=secured.code())
        assert entered.person.session.factors == ("pwd", "otp")

    async def test_a_wrong_code_beside_the_password_is_as_wrong_as_the_password(self, secured: AuthSetup) -> None:
        assert await log_in(secured, otp="000000") == LoginFailed()

    async def test_a_code_opens_nothing_without_the_password(self, secured: AuthSetup) -> None:
        assert await log_in(secured, password="not it", otp=secured.code()) == LoginFailed()
        # The code was not used up either.
        await enter(secured, otp=secured.code())

    async def test_a_code_is_good_for_one_login(self, secured: AuthSetup) -> None:
        await enter(secured, otp=secured.code())
        waiting = await pending(secured, await log_in(secured))
        assert await secured.sessions.enter_code(waiting, secured.code(), ADDRESS, AGENT) == LoginFailed()

    async def test_guessing_codes_is_slowed_down_even_with_the_right_password_each_time(self, secured: AuthSetup) -> None:
        outcomes = [await guess_code(secured) for _ in range(7)]
        assert outcomes == [LoginFailed()] * 5 + [LoginThrottled(1)] * 2

    @pytest.mark.parametrize("others", ["198.51.100.9", ADDRESS])
    async def test_guesses_of_passwords_by_others_do_not_refuse_the_right_pair(self, secured: AuthSetup, others: str) -> None:
        """Also not those at other accounts from the same address."""
        for number in range(120):
            email = f"{number}@example.com" if others == ADDRESS else ANNA.email
            await secured.throttle.admit(email, others)
        if others != ADDRESS:
            guess = await secured.sessions.log_in(ANNA.email, "not it", None, others, AGENT)
            assert isinstance(guess, LoginThrottled)
        waiting = await pending(secured, await log_in(secured))
        entered = await secured.sessions.enter_code(waiting, secured.code(), ADDRESS, AGENT)
        assert isinstance(entered, LoginComplete)

    async def test_guesses_of_codes_by_others_do_not_refuse_the_right_pair(self, secured: AuthSetup) -> None:
        for number in range(15):
            for _ in range(5):
                assert await guess_code(secured, f"198.51.100.{number}") == LoginFailed()
            assert await guess_code(secured, f"198.51.100.{number}") == LoginThrottled(1)
        await enter(secured, otp=secured.code())

    async def test_but_nobody_gets_enough_guesses_to_find_a_code(self, secured: AuthSetup) -> None:
        outcomes = [await guess_code(secured, f"198.51.{number // 200}.{number % 200}") for number in range(GUESSES)]
        assert outcomes.count(LoginFailed()) == 100
        # Where the person logged in before, their codes are counted separately.
        recovery = (await secured.sessions.new_recovery_codes(await secured.user(ANNA), ADDRESS))[0]
        await enter(secured, otp=recovery)
        secured.clock.at += 60
        for number in range(GUESSES):
            await guess_code(secured, f"203.0.{number // 200}.{number % 200}")
        await enter(secured, otp=secured.code())

    async def test_the_right_password_is_still_refused_without_a_second_factor_while_others_guess(
        self, setup: AuthSetup
    ) -> None:
        for _ in range(5):
            await setup.throttle.admit(ANNA.email, "198.51.100.9")
        assert isinstance(await log_in(setup), LoginThrottled)

    async def test_there_are_ten_minutes_to_enter_it(self, secured: AuthSetup) -> None:
        outcome = await log_in(secured)
        secured.clock.at += 599
        await pending(secured, outcome)
        secured.clock.at += 1
        assert await secured.sessions.find_pending(outcome.cookie) is None

    async def test_switching_it_on_ends_all_other_sessions_and_renews_this_one(self, setup: AuthSetup) -> None:
        here, there = await enter(setup), await enter(setup)
        entered = await setup.sessions.switch_on_second_factor(here.person, SECRET, setup.code(), ADDRESS)
        assert isinstance(entered, LoginComplete)
        assert (await setup.user(ANNA)).totp_secret == SECRET
        assert await setup.sessions.find(here.cookie) is None
        assert await setup.sessions.find(there.cookie) is None
        assert (await find(setup, entered.cookie)).session.factors == ("pwd", "otp")

    async def test_it_is_not_switched_on_without_a_right_code(self, setup: AuthSetup) -> None:
        here = await enter(setup)
        assert await setup.sessions.switch_on_second_factor(here.person, SECRET, "000000", ADDRESS) == LoginFailed()
        assert (await setup.user(ANNA)).totp_secret is None

    async def test_an_existing_second_factor_is_never_replaced(self, setup: AuthSetup) -> None:
        here = await enter(setup)
        await setup.change(ANNA, totp_secret=SECRET)
        other = "MFRGGZDFMZTWQ2LKMFRGGZDFMZTWQ2LK"
        assert await setup.sessions.switch_on_second_factor(here.person, other, setup.code(other), ADDRESS) == LoginFailed()
        assert (await setup.user(ANNA)).totp_secret == SECRET

    async def test_switched_off_the_password_alone_is_enough(self, secured: AuthSetup) -> None:
        entered = await enter(secured, otp=secured.code())
        assert await secured.sessions.switch_off_second_factor(entered.person, ADDRESS)
        await find(secured, entered.cookie)
        await enter(secured)


class TestASecondFactorThatIsDemanded:
    @pytest.fixture
    async def strict(self, tmp_path: Path) -> AsyncIterator[AuthSetup]:
        async with open_auth_setup(tmp_path, second_factor_required=True) as built:
            yield built

    async def test_a_user_without_a_second_factor_is_asked_to_set_it_up(self, strict: AuthSetup) -> None:
        outcome = await log_in(strict)
        waiting = await pending(strict, outcome)
        assert outcome.set_up
        assert waiting.set_up
        assert await strict.sessions.find(outcome.cookie) is None

    async def test_setting_it_up_completes_the_login(self, strict: AuthSetup) -> None:
        waiting = await pending(strict, await log_in(strict))
        entered = await strict.sessions.set_up_pending(waiting, SECRET, strict.code(), ADDRESS, AGENT)
        assert isinstance(entered, LoginComplete)
        assert (await find(strict, entered.cookie)).user.totp_secret == SECRET

    async def test_a_user_with_a_second_factor_cannot_set_up_another_by_password(self, strict: AuthSetup) -> None:
        waiting = await pending(strict, await log_in(strict))
        await strict.change(ANNA, totp_secret=SECRET)
        other = "MFRGGZDFMZTWQ2LKMFRGGZDFMZTWQ2LK"
        assert await strict.sessions.set_up_pending(waiting, other, strict.code(other), ADDRESS, AGENT) == LoginFailed()
        assert (await strict.user(ANNA)).totp_secret == SECRET

    async def test_it_cannot_be_switched_off(self, strict: AuthSetup) -> None:
        await strict.change(ANNA, totp_secret=SECRET)
        entered = await enter(strict, otp=strict.code())
        assert not await strict.sessions.switch_off_second_factor(entered.person, ADDRESS)
        assert (await strict.user(ANNA)).totp_secret == SECRET

    async def test_sessions_from_before_it_was_demanded_do_not_count(self, strict: AuthSetup) -> None:
        strict.sessions.second_factor_required = False
        entered = await enter(strict)
        strict.sessions.second_factor_required = True
        assert await strict.sessions.find(entered.cookie) is None


async def test_after_a_login_under_attack_the_person_can_confirm_the_password(setup: AuthSetup) -> None:
    """Strangers guess the password, so the account must wait. The right password and code are still accepted."""
    await setup.change(ANNA, totp_secret=SECRET)
    for number in range(20):
        await setup.sessions.log_in(ANNA.email, "a guess", None, f"192.0.2.{number}", AGENT)
    code, *_ = await setup.sessions.new_recovery_codes(await setup.user(ANNA), ADDRESS)
    entered = await enter(setup, otp=code)
    assert await setup.sessions.confirm_password(entered.person, PASSWORD, ADDRESS) is None
