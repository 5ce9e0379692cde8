"""Setting passwords by a link or with the old password, and the rules for passwords."""

import asyncio

import pytest

from domogate.domain.people import Standing
from domogate.services.people import DeadLink, check_password
from domogate.services.refusals import Invalid, NotFound
from support.people_setup import GOOD_PASSWORD, LINK_LIFETIME, NOBODY, PeopleSetup, token_of
from support.stores import ANNA, BRUNO, CARLA, HOUSE


class TestPasswordsByLink:
    async def test_a_link_sets_one_password_once(self, env: PeopleSetup) -> None:
        token = token_of(await env.people.issue_password_link(CARLA.id))
        await env.people.redeem_link(token, GOOD_PASSWORD)
        assert await env.hasher.verify_password(GOOD_PASSWORD, (await env.user(CARLA.id)).password_hash)
        with pytest.raises(NotFound, match="new one"):
            await env.people.redeem_link(token, "another good password")
        assert await env.hasher.verify_password(GOOD_PASSWORD, (await env.user(CARLA.id)).password_hash)

    async def test_of_many_at_once_one_sets_it(self, env: PeopleSetup) -> None:
        token = token_of(await env.people.issue_password_link(CARLA.id))
        done = await asyncio.gather(
            *(env.people.redeem_link(token, f"{GOOD_PASSWORD} {n}") for n in range(10)), return_exceptions=True
        )
        assert sum(not isinstance(one, Exception) for one in done) == 1

    async def test_a_user_who_becomes_active_becomes_a_member_where_invited(self, env: PeopleSetup) -> None:
        link = (await env.people.invite(HOUSE.id, "dora@example.com")).link
        assert link is not None
        dora = await env.people.redeem_link(token_of(link), GOOD_PASSWORD)
        plants, _ = await env.store.list_plants_of(dora.id)
        assert [plant.id for plant in plants] == [HOUSE.id]

    async def test_a_refused_password_leaves_the_link_as_it_is(self, env: PeopleSetup) -> None:
        token = token_of(await env.people.issue_password_link(CARLA.id))
        with pytest.raises(Invalid):
            await env.people.redeem_link(token, "short")
        await env.people.redeem_link(token, GOOD_PASSWORD)

    async def test_looking_at_a_link_does_not_use_it_up(self, env: PeopleSetup) -> None:
        token = token_of(await env.people.issue_password_link(CARLA.id))
        for _ in range(2):
            found = await env.people.links.find(token)
            assert not isinstance(found, DeadLink)
            assert found[1].id == CARLA.id

    async def test_an_expired_unknown_or_replaced_link_does_not_work(self, env: PeopleSetup) -> None:
        replaced = token_of(await env.people.issue_password_link(CARLA.id))
        old = token_of(await env.people.issue_password_link(CARLA.id))
        assert await env.people.links.find(replaced) is DeadLink.USED
        assert await env.people.links.find("x" * 43) is DeadLink.USED
        assert await env.people.links.find("\udcff") is DeadLink.USED
        env.clock.at += LINK_LIFETIME
        assert await env.people.links.find(old) is DeadLink.EXPIRED
        for token in (replaced, old, "x" * 43):
            with pytest.raises(NotFound):
                await env.people.redeem_link(token, GOOD_PASSWORD)
        assert not (await env.user(CARLA.id)).active

    async def test_a_new_link_takes_the_place_of_the_link_of_the_first_operator(self, env: PeopleSetup) -> None:
        olga, first = await env.people.create_first_operator("olga@example.com")
        newer = await env.people.issue_password_link(olga.id)
        with pytest.raises(NotFound):
            await env.people.redeem_link(token_of(first), GOOD_PASSWORD)
        await env.people.redeem_link(token_of(newer), GOOD_PASSWORD)

    async def test_a_link_left_in_a_mailbox_is_of_no_use_after_the_password_was_set_otherwise(self, env: PeopleSetup) -> None:
        token = token_of(await env.people.issue_password_link(ANNA.id))
        await env.people.set_password(ANNA.id, GOOD_PASSWORD)
        assert await env.people.links.find(token) is DeadLink.USED

    async def test_an_unknown_user_gets_no_link(self, env: PeopleSetup) -> None:
        with pytest.raises(NotFound):
            await env.people.issue_password_link(NOBODY)


class TestSettingAPassword:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (Standing.GOOD, Standing.GOOD),
            (Standing.PASSWORD_EXPIRED, Standing.GOOD),
            (Standing.TERMS_EXPIRED, Standing.TERMS_EXPIRED),
            (Standing.BOTH_EXPIRED, Standing.TERMS_EXPIRED),
        ],
    )
    async def test_it_mends_the_standing_that_wanted_it(self, env: PeopleSetup, before: Standing, after: Standing) -> None:
        await env.people.set_standing(ANNA.id, before)
        await env.people.set_password(ANNA.id, GOOD_PASSWORD)
        assert (await env.user(ANNA.id)).standing is after

    async def test_a_password_to_be_renewed_is_not_renewed_by_itself(self, env: PeopleSetup) -> None:
        await env.people.set_password(ANNA.id, GOOD_PASSWORD)
        await env.people.set_password(ANNA.id, GOOD_PASSWORD)
        await env.people.set_standing(ANNA.id, Standing.PASSWORD_EXPIRED)
        with pytest.raises(Invalid, match="replaced"):
            await env.people.set_password(ANNA.id, GOOD_PASSWORD)

    async def test_other_sessions_end_and_only_theirs(self, env: PeopleSetup) -> None:
        here, there = await env.open_session(ANNA.id), await env.open_session(ANNA.id)
        brunos = await env.open_session(BRUNO.id)
        await env.people.set_password(ANNA.id, GOOD_PASSWORD, keep_session=here.id)
        assert await env.store.find_session(here.token_hash) is not None
        assert await env.store.find_session(there.token_hash) is None
        assert await env.store.find_session(brunos.token_hash) is not None

    async def test_two_changes_at_once_are_both_kept(self, env: PeopleSetup) -> None:
        await asyncio.gather(
            env.people.set_password(ANNA.id, GOOD_PASSWORD),
            env.people.set_name(ANNA.id, "Annabella"),
            env.people.set_operator(ANNA.id, True),
        )
        anna = await env.user(ANNA.id)
        assert (anna.name, anna.operator) == ("Annabella", True)
        assert await env.hasher.verify_password(GOOD_PASSWORD, anna.password_hash)


class TestWhatAPasswordMustBeLike:
    @pytest.mark.parametrize(
        "password",
        [
            "correct horse",
            "ten chars.",
            "ññññññññññ1ab",
            "pass the salt, please",
            "p" * 3 + "-" + "q" * 196,
            "🔑🚪🏠💡🔌🌡📷🔔🪟🧯",
        ],
    )
    def test_length_is_what_counts(self, password: str) -> None:
        check_password(password, "anna@example.com")

    @pytest.mark.parametrize(
        ("password", "word"),
        [
            ("", "short"),
            ("nine char", "short"),
            ("e\u0301" * 9, "short"),  # nine characters, however they are typed
            ("x1" + "y" * 199, "long"),
            ("anna@example.com", "e-mail"),
            (" ANNA@Example.com", "e-mail"),
            ("password123", "people"),
            ("Password2024!", "people"),
            ("qwertyuiop", "people"),
            ("1234567890", "people"),
            ("9876543210", "people"),
            ("aaaaaaaaaa", "people"),
            ("1q2w3e4r5t", "people"),
            ("passwordpassword", "people"),
            ("123451234512345", "people"),
            ("abcdefghijkl", "people"),
            ("Willkommen1", "people"),
            ("good pass \ud800", "character"),
        ],
    )
    def test_bad_passwords_are_refused_with_a_reason(self, password: str, word: str) -> None:
        with pytest.raises(Invalid, match=word):
            check_password(password, "anna@example.com")

    def test_the_part_before_the_at_sign_is_no_password_either(self) -> None:
        with pytest.raises(Invalid, match="e-mail"):
            check_password("annamariabianchi", "annamariabianchi@example.com")

    def test_a_refusal_does_not_repeat_the_password(self) -> None:
        for password in ("password123", "nine char"):
            with pytest.raises(Invalid) as refused:
                check_password(password, "anna@example.com")
            assert password not in str(refused.value)
