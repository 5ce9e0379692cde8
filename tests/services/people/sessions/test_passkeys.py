"""Passkeys: adding them, logging in with them alone, and answers that prove nothing."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from domogate.domain.passkeys import MOST_PASSKEYS
from domogate.services.people import LoginComplete, LoginExpired, LoginFailed, LoginThrottled
from domogate.services.refusals import Invalid
from support.auth_setup import ADDRESS, AuthSetup, open_auth_setup
from support.authenticator import Authenticator, decode
from support.logins import AGENT, add_passkey, enroll, enter, find, noted, passkeys_of, use_passkey
from support.stores import ANNA, BRUNO

pytestmark = pytest.mark.slow


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
        assert setup.sessions.refused_logins == 1

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
        outcomes = [await use_passkey(setup, device, verified=False) for _ in range(102)]
        assert outcomes.count(LoginFailed()) == 100
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
