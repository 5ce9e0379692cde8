"""Passkeys: adding them, logging in with them alone and after the password, and answers that prove nothing."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from domogate.domain.passkeys import MOST_PASSKEYS
from domogate.services.people import LoginComplete, LoginExpired, LoginFailed, LoginThrottled
from domogate.services.refusals import Conflict, Invalid, NotFound
from support.auth_setup import ADDRESS, PASSWORD, SECRET, AuthSetup, open_auth_setup
from support.authenticator import Authenticator, decode
from support.logins import AGENT, add_passkey, enroll, enter, find, log_in, passkeys_of, pending, use_passkey
from support.stores import ANNA, BRUNO

pytestmark = pytest.mark.slow


async def noted(setup: AuthSetup) -> list[tuple[str, str, dict[str, str]]]:
    await setup.audit.flush()
    entries = [record.entry for record in await setup.audit.list(limit=100)]
    return [(entry.action, entry.result, dict(entry.detail)) for entry in entries]


async def complete(setup: AuthSetup, device: Authenticator, **changed: Any) -> Any:
    """The step after the password."""
    waiting = await pending(setup, await log_in(setup))
    answer = device.get(await passkeys_of(setup).ask_for_one_of(waiting), **changed)
    return await passkeys_of(setup).complete(waiting, answer, ADDRESS, AGENT)


class TestAdding:
    async def test_the_first_one_is_a_second_factor_and_ends_all_other_sessions(self, setup: AuthSetup) -> None:
        here, there = await enter(setup), await enter(setup)
        added = await add_passkey(setup, here.person, Authenticator(), "My phone")
        assert isinstance(added, LoginComplete)
        assert added.person.session.factors == ("pwd", "pop", "mfa")
        assert (await find(setup, added.cookie)).user.has_second_factor
        assert await setup.sessions.find(here.cookie) is None
        assert await setup.sessions.find(there.cookie) is None
        (kept,) = await setup.store.list_passkeys(ANNA.id)
        assert (kept.name, kept.created_at, kept.used_at) == ("My phone", setup.clock.now(), None)

    async def test_another_one_leaves_the_sessions_and_has_the_same_user_handle(self, setup: AuthSetup) -> None:
        first, second = await enroll(setup), Authenticator()
        person = (await use_passkey(setup, first)).person
        assert await add_passkey(setup, person, second) == person
        assert len(await setup.store.list_passkeys(ANNA.id)) == 2
        assert first.user_handle == second.user_handle

    async def test_the_user_handle_is_random_and_says_nothing_about_the_person(self, setup: AuthSetup) -> None:
        anna, bruno = await enroll(setup), await enroll(setup, BRUNO)
        assert len(anna.user_handle) == 32
        assert anna.user_handle != bruno.user_handle

    async def test_a_device_that_has_one_is_not_asked_for_another(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        options = await passkeys_of(setup).ask_for_new((await use_passkey(setup, device)).person)
        assert [decode(known["id"]) for known in options["excludeCredentials"]] == [device.credential_id]
        assert options["authenticatorSelection"]["userVerification"] == "required"
        assert options["authenticatorSelection"]["residentKey"] == "required"
        assert options["rp"] == {"name": "Domogate", "id": "gateway.example"}

    @pytest.mark.parametrize(
        "changed",
        [
            {"origin": "https://gateway.example.evil.example"},
            {"origin": "http://gateway.example"},
            {"origin": "https://gateway.example:8443"},
            {"rp_id": "evil.example"},
            {"verified": False},
            {"type": "webauthn.get"},
            {"cross_origin": True},
        ],
    )
    async def test_an_answer_for_another_place_is_refused(self, setup: AuthSetup, changed: dict[str, Any]) -> None:
        person = (await enter(setup)).person
        assert await add_passkey(setup, person, Authenticator(), **changed) == LoginFailed()
        assert await setup.store.list_passkeys(ANNA.id) == []
        assert not (await setup.user(ANNA)).has_second_factor

    async def test_a_challenge_works_once(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        person = (await use_passkey(setup, device)).person
        options = await passkeys_of(setup).ask_for_new(person)
        answers = [Authenticator().create(options) for _ in range(2)]
        outcomes = [await passkeys_of(setup).add(person, answer, "Key", ADDRESS) for answer in answers]
        assert outcomes == [person, LoginFailed()]

    async def test_a_challenge_of_another_session_is_not_accepted(self, setup: AuthSetup) -> None:
        here, there = (await enter(setup)).person, (await enter(setup)).person
        answer = Authenticator().create(await passkeys_of(setup).ask_for_new(there))
        assert await passkeys_of(setup).add(here, answer, "Phone", ADDRESS) == LoginExpired()

    async def test_a_challenge_ends_after_five_minutes(self, setup: AuthSetup) -> None:
        person = (await enter(setup)).person
        answer = Authenticator().create(await passkeys_of(setup).ask_for_new(person))
        setup.clock.at += 301
        assert await passkeys_of(setup).add(person, answer, "Phone", ADDRESS) == LoginExpired()

    async def test_a_session_that_has_just_ended_adds_nothing(self, setup: AuthSetup) -> None:
        """A new password ends the sessions of a stranger: a request on its way must not leave a passkey behind."""
        person = (await enter(setup)).person
        await setup.people.set_password(ANNA.id, "seven green bottles")
        assert await add_passkey(setup, person, Authenticator()) == LoginFailed()
        assert await setup.store.list_passkeys(ANNA.id) == []

    async def test_there_are_at_most_ten(self, setup: AuthSetup) -> None:
        person = (await use_passkey(setup, await enroll(setup))).person
        outcomes = [await add_passkey(setup, person, Authenticator()) for _ in range(MOST_PASSKEYS)]
        assert outcomes == [person] * (MOST_PASSKEYS - 1) + [LoginFailed()]

    async def test_a_credential_belongs_to_one_user(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        bruno = (await enter(setup, email=BRUNO.email)).person
        assert await add_passkey(setup, bruno, device) == LoginFailed()

    @pytest.mark.parametrize("name", ["a\nb", "x" * 101])
    async def test_the_name_is_short_and_on_one_line(self, setup: AuthSetup, name: str) -> None:
        with pytest.raises(Invalid):
            await add_passkey(setup, (await enter(setup)).person, Authenticator(), name)

    async def test_is_in_the_audit_log(self, setup: AuthSetup) -> None:
        await enroll(setup)
        assert ("second factor changed", "ok") in [(action, result) for action, result, _ in await noted(setup)]


class TestLoggingInWithoutAPassword:
    async def test_stands_for_password_and_second_factor(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        setup.clock.at += 60
        entered = await use_passkey(setup, device)
        assert isinstance(entered, LoginComplete)
        person = await find(setup, entered.cookie)
        assert person.user.id == ANNA.id
        assert person.session.factors == ("pop", "mfa")
        (kept,) = await setup.store.list_passkeys(ANNA.id)
        assert kept.used_at == setup.clock.now()

    async def test_also_where_a_second_factor_is_required(self, tmp_path: Path) -> None:
        async with open_auth_setup(tmp_path) as setup:
            device = await enroll(setup)
            setup.sessions.second_factor_required = True
            entered = await use_passkey(setup, device)
            assert isinstance(entered, LoginComplete)
            assert (await find(setup, entered.cookie)).user.id == ANNA.id

    @pytest.mark.parametrize(
        "changed",
        [
            {"origin": "https://evil.example"},
            {"rp_id": "evil.example"},
            {"verified": False},
            {"signature": b"not a signature"},
            {"user_handle": b"another handle"},
            {"user_handle": b""},
            {"type": "webauthn.create"},
        ],
    )
    async def test_an_answer_that_proves_nothing_is_refused_and_noted(self, setup: AuthSetup, changed: dict[str, Any]) -> None:
        device = await enroll(setup)
        assert await use_passkey(setup, device, **changed) == LoginFailed()
        action, result, detail = (await noted(setup))[-1]
        assert (action, result) == ("login", "wrong")
        assert detail["reason"].startswith("passkey: ")

    async def test_from_a_frame_of_another_site_is_refused(self, setup: AuthSetup) -> None:
        assert await use_passkey(setup, await enroll(setup), cross_origin=True) == LoginFailed()

    async def test_an_unknown_passkey_is_refused(self, setup: AuthSetup) -> None:
        stranger = Authenticator()
        stranger.rp_id = "gateway.example"
        assert await use_passkey(setup, stranger) == LoginFailed()

    async def test_a_challenge_works_once_even_for_two_at_the_same_time(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        answer = device.get(await passkeys_of(setup).ask_for_any("a form"))
        logins = [passkeys_of(setup).log_in(answer, "a form", ADDRESS, AGENT) for _ in range(4)]
        outcomes = await asyncio.gather(*logins)
        assert [isinstance(outcome, LoginComplete) for outcome in outcomes].count(True) == 1
        assert outcomes.count(LoginFailed()) == 3

    async def test_a_challenge_is_bound_to_its_form(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        answer = device.get(await passkeys_of(setup).ask_for_any("a form"))
        for other in ("another form", ""):
            assert await passkeys_of(setup).log_in(answer, other, ADDRESS, AGENT) == LoginExpired()
        setup.clock.at += 301
        assert await passkeys_of(setup).log_in(answer, "a form", ADDRESS, AGENT) == LoginExpired()

    async def test_an_invented_challenge_is_not_accepted(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        assert await use_passkey(setup, device, challenge="aW52ZW50ZWQ") == LoginExpired()

    async def test_a_count_that_goes_back_is_refused_and_noted(self, setup: AuthSetup) -> None:
        device = await enroll(setup, count=7)
        assert isinstance(await use_passkey(setup, device), LoginComplete)
        device.count = 7  # a copy of the device counts from an older state
        assert await use_passkey(setup, device) == LoginFailed()
        device.count = 0
        assert await use_passkey(setup, device) == LoginFailed()
        reasons = [detail.get("reason") for _, result, detail in await noted(setup) if result == "wrong"]
        assert reasons == ["passkey: count of signatures went back"]
        device.count = 20
        assert isinstance(await use_passkey(setup, device), LoginComplete)

    async def test_a_removed_passkey_does_not_work(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        (kept,) = await setup.store.list_passkeys(ANNA.id)
        await setup.people.remove_passkey(ANNA.id, kept.id)
        assert await use_passkey(setup, device) == LoginFailed()
        await enter(setup)  # the password alone is enough again

    async def test_guesses_by_others_do_not_refuse_it(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        for number in range(120):
            await setup.throttle.admit(ANNA.email, f"198.51.100.{number}")
        assert isinstance(await use_passkey(setup, device), LoginComplete)

    async def test_wrong_answers_from_one_address_are_slowed_down(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        outcomes = [await use_passkey(setup, device, verified=False) for _ in range(103)]
        assert outcomes.count(LoginFailed()) == 101
        assert isinstance(outcomes[-1], LoginThrottled)
        answer = device.get(await passkeys_of(setup).ask_for_any("a form"))
        assert isinstance(await passkeys_of(setup).log_in(answer, "a form", "203.0.113.9", AGENT), LoginComplete)

    @pytest.mark.parametrize(
        "answer",
        [
            "",
            "{}",
            "[]",
            "null",
            "[" * 16_000,
            '{"id": 1}',
            '{"id": "AA", "response": {"clientDataJSON": "e30"}}',
            "x" * 20_000,
        ],
    )
    async def test_anything_else_is_refused_without_a_write(self, setup: AuthSetup, answer: str) -> None:
        before = setup.store.commits
        assert await passkeys_of(setup).log_in(answer, "a form", ADDRESS, AGENT) == LoginFailed()
        assert setup.store.commits == before

    async def test_bytes_that_are_not_what_they_should_be_are_refused(self, setup: AuthSetup) -> None:
        device = await enroll(setup)
        for field in ("clientDataJSON", "authenticatorData", "signature"):
            answer = json.loads(device.get(await passkeys_of(setup).ask_for_any("a form")))
            answer["response"][field] = "AAAA"
            assert await passkeys_of(setup).log_in(json.dumps(answer), "a form", ADDRESS, AGENT) == LoginFailed()


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
