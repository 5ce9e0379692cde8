"""Accounts: create, change, delete, and the audit entries."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from domogate.domain.ids import new_id
from domogate.domain.people import Grant, Standing
from domogate.services.people import Actor, DeadLink, People, check_email, check_name
from domogate.services.refusals import Conflict, Invalid, MailFailed, NotFound, Reason, Refused
from domogate.stores import SqlStore, sqlite_url
from support.people_setup import BASE_URL, GOOD_PASSWORD, LINK_LIFETIME, NOBODY, PeopleSetup, token_of
from support.stores import ANNA, APP, BRUNO, CARLA, HOUSE


@asynccontextmanager
async def another_process(env: PeopleSetup, folder: Path) -> AsyncIterator[People]:
    """People on another store of the same database, like a command beside a running gateway."""
    store = SqlStore(sqlite_url(folder / "domogate.sqlite3"), clock=env.clock, poll=0.02, gateway=False)
    await store.start()
    try:
        yield People(store, env.hasher, env.clock, env.mail, base_url=BASE_URL)
    finally:
        await store.stop()


class TestCreatingAUser:
    async def test_they_have_no_password_and_a_link_to_set_one(self, env: PeopleSetup) -> None:
        user, link = await env.people.create_user("dora@example.com", "Dora")
        assert not (await env.user(user.id)).active
        assert link.url is not None
        assert link.url.startswith(f"{BASE_URL}/auth/")
        assert link.expires_at == env.clock.now() + LINK_LIFETIME

    async def test_the_link_is_kept_nowhere(self, env: PeopleSetup, tmp_path: Path) -> None:
        _, link = await env.people.create_user("dora@example.com")
        kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert token_of(link).encode() not in kept

    async def test_where_there_is_mail_only_its_receiver_sees_the_link(self, env: PeopleSetup) -> None:
        env.mail.sends = True
        _, link = await env.people.create_user("dora@example.com", "Dora")
        assert (link.mailed, link.url) == (True, None)
        ((_, to, sent),) = env.mail.sent
        assert to == "dora@example.com"
        assert sent is not None
        await env.people.redeem_link(token_of(sent), GOOD_PASSWORD)

    async def test_a_link_may_be_shown_although_there_is_mail(self, env: PeopleSetup) -> None:
        env.mail.sends = True
        _, link = await env.people.create_user("dora@example.com", show_link=True)
        assert link.url is not None
        assert env.mail.sent == []

    async def test_mail_that_fails_is_said_and_the_user_can_be_given_another_link(self, env: PeopleSetup) -> None:
        env.mail.failure = OSError("no route")
        with pytest.raises(MailFailed, match="no route"):
            await env.people.create_user("dora@example.com")
        user = await env.people.get_user_by_email("dora@example.com")
        env.mail.failure = None
        assert (await env.people.issue_password_link(user.id)).url is not None

    async def test_mail_that_fails_leaves_the_earlier_link_valid(self, env: PeopleSetup) -> None:
        env.mail.sends = True
        await env.people.invite(HOUSE.id, "dora@example.com")
        env.mail.failure = OSError("no route")
        with pytest.raises(MailFailed):
            await env.people.issue_password_link((await env.people.get_user_by_email("dora@example.com")).id)
        ((_, _, sent),) = env.mail.sent
        assert sent is not None
        await env.people.redeem_link(token_of(sent), GOOD_PASSWORD)

    @pytest.mark.parametrize("email", [ANNA.email, ANNA.email.upper()])
    async def test_an_email_is_one_persons(self, env: PeopleSetup, email: str) -> None:
        with pytest.raises(Conflict, match="already"):
            await env.people.create_user(email)

    async def test_of_many_at_once_one_is_made(self, env: PeopleSetup) -> None:
        made = await asyncio.gather(*(env.people.create_user("dora@example.com") for _ in range(8)), return_exceptions=True)
        assert sorted(isinstance(one, Conflict) for one in made) == [False] + [True] * 7

    @pytest.mark.parametrize(
        "email",
        [
            *("", "dora", "dora@", "dora@host", "a b@example.com", "a@b@example.com", "a@example..com", "<a@example.com>"),
            *("a@=?utf-8?q?x.example=2Cb=40y.example?=.com", "=?utf-8?q?=0D=0Ax?=@example.com"),
            *("a@example.com\r\nBcc: x@example.com", "a\x00@example.com", "a" * 65 + "@example.com", "a@" + "b" * 260 + ".com"),
        ],
    )
    async def test_an_address_that_is_none_is_refused(self, env: PeopleSetup, email: str) -> None:
        with pytest.raises(Invalid, match="e-mail"):
            await env.people.create_user(email)

    @pytest.mark.parametrize("name", ["a" * 101, "Do\nra", "Do\x00ra", "\ud800"])
    def test_a_name_is_one_line_of_100_characters(self, name: str) -> None:
        with pytest.raises(Invalid, match="100"):
            check_name(name)


class TestTheFirstOperator:
    async def test_they_are_made_once(self, env: PeopleSetup) -> None:
        user, link = await env.people.create_first_operator("olga@example.com", "Olga")
        await env.people.redeem_link(token_of(link), GOOD_PASSWORD)
        olga = await env.user(user.id)
        assert olga.operator
        assert olga.active
        with pytest.raises(Conflict, match=r"olga@example\.com"):
            await env.people.create_first_operator("eve@example.com")

    async def test_somebody_who_is_known_can_become_it(self, env: PeopleSetup) -> None:
        user, _ = await env.people.create_first_operator(ANNA.email)
        assert user.id == ANNA.id
        assert (await env.user(ANNA.id)).operator
        assert (await env.user(ANNA.id)).password_hash == ANNA.password_hash

    async def test_their_link_is_shown_even_where_there_is_mail(self, env: PeopleSetup) -> None:
        env.mail.sends = True
        assert (await env.people.create_first_operator("olga@example.com"))[1].url is not None

    async def test_of_two_processes_that_make_them_at_once_one_does(self, env: PeopleSetup, tmp_path: Path) -> None:
        async with another_process(env, tmp_path) as other:
            made = await asyncio.gather(
                env.people.create_first_operator("olga@example.com"),
                other.create_first_operator("eve@example.com"),
                return_exceptions=True,
            )
        assert sum(isinstance(one, Conflict) for one in made) == 1
        (operator,) = [user for user in await env.store.list_users() if user.operator]
        assert [one[0] for one in made if isinstance(one, tuple)] == [operator]


class TestTwoProcesses:
    async def test_changing_different_facts_of_one_user_lose_none(self, env: PeopleSetup, tmp_path: Path) -> None:
        token = token_of(await env.people.issue_password_link(CARLA.id))
        async with another_process(env, tmp_path) as other:
            await asyncio.gather(
                env.people.set_name(CARLA.id, "Carla C."),
                other.set_standing(CARLA.id, Standing.TERMS_EXPIRED),
                env.people.redeem_link(token, GOOD_PASSWORD),
                other.set_operator(CARLA.id, True),
            )
        carla = await env.user(CARLA.id)
        assert (carla.name, carla.standing, carla.active, carla.operator) == (
            "Carla C.",
            Standing.TERMS_EXPIRED,
            True,
            True,
        )

    async def test_a_change_made_from_what_was_read_before_undoes_nothing(self, env: PeopleSetup, tmp_path: Path) -> None:
        """Like a command that asks a question in between."""
        async with another_process(env, tmp_path) as other:
            seen = await env.people.get_user(BRUNO.id)
            await other.set_name(BRUNO.id, "Bruno B.")
            await env.people.set_standing(seen.id, Standing.GOOD)
        assert await env.user(BRUNO.id) == msgspec.structs.replace(BRUNO, name="Bruno B.", standing=Standing.GOOD)


class TestAProvedEmail:
    async def test_is_one_whose_mailed_link_was_used_to_set_a_password(self, env: PeopleSetup) -> None:
        env.mail.sends = True
        await env.people.issue_password_link(CARLA.id)
        (_, email, url) = env.mail.sent[0]
        assert email == CARLA.email
        assert not (await env.user(CARLA.id)).email_verified
        await env.people.redeem_link(token_of(str(url)), GOOD_PASSWORD)
        assert (await env.user(CARLA.id)).email_verified

    async def test_an_invitation_by_mail_proves_it_too(self, env: PeopleSetup) -> None:
        env.mail.sends = True
        await env.people.invite(HOUSE.id, "dora@example.com")
        dora = await env.people.redeem_link(token_of(str(env.mail.sent[0][2])), GOOD_PASSWORD)
        assert (await env.user(dora.id)).email_verified

    @pytest.mark.parametrize("mail", [True, False])
    async def test_a_link_that_was_shown_proves_nothing(self, env: PeopleSetup, mail: bool) -> None:
        env.mail.sends = mail
        token = token_of(await env.people.issue_password_link(CARLA.id, show_link=mail))
        await env.people.redeem_link(token, GOOD_PASSWORD)
        assert (await env.user(CARLA.id)).active
        assert not (await env.user(CARLA.id)).email_verified

    async def test_a_link_to_the_mailbox_they_had_before_does_not_work(self, env: PeopleSetup) -> None:
        env.mail.sends = True
        await env.people.issue_password_link(CARLA.id)
        await env.people.change_user(CARLA.id, lambda user: msgspec.structs.replace(user, email="c@example.com"))
        with pytest.raises(NotFound):
            await env.people.redeem_link(token_of(str(env.mail.sent[0][2])), GOOD_PASSWORD)
        assert not (await env.user(CARLA.id)).active

    async def test_stays_proved_when_the_password_is_set_otherwise(self, env: PeopleSetup) -> None:
        await env.people.change_user(ANNA.id, lambda user: msgspec.structs.replace(user, email_verified=True))
        await env.people.set_password(ANNA.id, GOOD_PASSWORD)
        assert (await env.user(ANNA.id)).email_verified
        token = token_of(await env.people.issue_password_link(ANNA.id, show_link=True))
        await env.people.redeem_link(token, "another good password")
        assert (await env.user(ANNA.id)).email_verified


class TestFromWhere:
    """`address` goes into the audit log for every actor."""

    async def test_is_noted_with_what_people_do_to_their_own_account(self, env: PeopleSetup) -> None:
        people, anna = env.people, Actor(ANNA.id, "192.0.2.7")
        grant = Grant(new_id(), ANNA.id, APP.id, ("light.read",), created_at=1.0)
        await env.store.add_grant(grant)
        await people.revoke_grant(ANNA.id, grant.id, by=anna)
        await people.revoke_grants(ANNA.id, APP.id, by=anna)
        await people.end_sessions(ANNA.id, by=anna)
        await people.issue_password_link(ANNA.id, by=anna)
        await people.remove_plant(HOUSE.id, by=anna)
        await people.restore_plant(HOUSE.id, by=anna)
        await people.set_password(ANNA.id, GOOD_PASSWORD, address="192.0.2.7")
        await people.accept_terms(ANNA.id, "v1", address="192.0.2.7")
        await people.leave_plant(HOUSE.id, BRUNO.id, address="192.0.2.7")
        token = token_of(await people.issue_password_link(CARLA.id, by=anna))
        await people.redeem_link(token, GOOD_PASSWORD, address="192.0.2.7")
        await env.audit.flush()
        records = await env.audit.list()
        assert len(records) == 11
        assert {record.entry.address for record in records} == {"192.0.2.7"}


class TestTheLastOperator:
    async def test_they_can_neither_step_down_nor_be_deleted(self, env: PeopleSetup) -> None:
        olga = await env.add_operator()
        with pytest.raises(Conflict, match="last operator") as refused:
            await env.people.set_operator(olga.id, False)
        assert refused.value.reason is Reason.LAST_OPERATOR
        with pytest.raises(Conflict, match="last operator") as refused:
            await env.people.delete_user(olga.id)
        assert refused.value.reason is Reason.LAST_OPERATOR
        assert (await env.user(olga.id)).operator

    async def test_of_two_who_step_down_at_once_one_stays(self, env: PeopleSetup) -> None:
        olga = await env.add_operator()
        await env.people.set_operator(BRUNO.id, True)
        done = await asyncio.gather(
            env.people.set_operator(olga.id, False), env.people.delete_user(BRUNO.id), return_exceptions=True
        )
        assert sum(isinstance(one, Conflict) for one in done) == 1
        assert len([user for user in await env.store.list_users() if user.operator]) == 1

    async def test_with_a_second_one_they_can(self, env: PeopleSetup) -> None:
        olga = await env.add_operator()
        await env.people.set_operator(BRUNO.id, True)
        await env.people.set_operator(olga.id, False)
        assert not (await env.user(olga.id)).operator


class TestStanding:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (Standing.GOOD, Standing.GOOD),
            (Standing.TERMS_EXPIRED, Standing.GOOD),
            (Standing.PASSWORD_EXPIRED, Standing.PASSWORD_EXPIRED),
            (Standing.BOTH_EXPIRED, Standing.PASSWORD_EXPIRED),
        ],
    )
    async def test_accepting_the_terms_mends_it(self, env: PeopleSetup, before: Standing, after: Standing) -> None:
        await env.people.set_standing(ANNA.id, before)
        accepted = await env.people.accept_terms(ANNA.id, "v1")
        assert (accepted.standing, accepted.terms_version) == (after, "v1")
        assert (await env.user(ANNA.id)).standing is after


class TestTheSecondFactor:
    async def test_an_operator_takes_it_away_and_the_person_logs_in_again(self, env: PeopleSetup) -> None:
        await env.people.change_user(ANNA.id, lambda user: msgspec.structs.replace(user, totp_secret="JBSWY3DPEHPK3PXP"))
        session = await env.open_session(ANNA.id)
        await env.people.reset_second_factor(ANNA.id)
        assert (await env.user(ANNA.id)).totp_secret is None
        assert await env.store.find_session(session.token_hash) is None
        with pytest.raises(Conflict, match="no second factor"):
            await env.people.reset_second_factor(ANNA.id)


class TestDeletingAUser:
    async def test_everything_of_theirs_goes(self, env: PeopleSetup) -> None:
        session = await env.open_session(BRUNO.id)
        grant = Grant(new_id(), BRUNO.id, APP.id, ("light.read",), created_at=1.0)
        await env.store.add_grant(grant)
        token = token_of(await env.people.issue_password_link(BRUNO.id))
        await env.people.delete_user(BRUNO.id)
        assert await env.store.find_user(BRUNO.id) is None
        assert await env.store.find_session(session.token_hash) is None
        assert await env.store.find_grant(grant.id) is None
        assert await env.people.links.find(token) is DeadLink.USED
        assert not (await env.people.get_plant(HOUSE.id)).is_of(BRUNO.id)

    async def test_the_owner_of_a_plant_is_kept_and_told_which(self, env: PeopleSetup) -> None:
        with pytest.raises(Conflict, match=HOUSE.name):
            await env.people.delete_user(HOUSE.owner.user_id)
        assert await env.store.find_user(HOUSE.owner.user_id) is not None

    async def test_an_unknown_user_cannot_be_deleted(self, env: PeopleSetup) -> None:
        with pytest.raises(NotFound):
            await env.people.delete_user(NOBODY)


class TestTheAuditLog:
    async def test_rights_changes_are_noted_without_names(self, env: PeopleSetup) -> None:
        olga = await env.add_operator()
        by = Actor(olga.id, "192.0.2.7")
        dora, _ = await env.people.create_user("dora@example.com", "Dora", by=by)
        await env.people.allow(HOUSE.id, dora.id, by=by)
        await env.people.withdraw_user(HOUSE.id, dora.id, by=by)
        await env.people.delete_user(dora.id, by=by)
        assert await env.noted() == ["user added", "link issued", "allowed", "withdrawn", "user deleted"]
        records = await env.audit.list()
        text = msgspec.json.encode(records).decode()
        for secret in ("dora", "Dora", "olga", dora.id, olga.id):
            assert secret not in text
        assert {record.entry.address for record in records} == {"192.0.2.7"}
        assert len({record.entry.who for record in records}) == 1
        assert records[0].entry.what == records[-1].entry.what == records[2].entry.detail["user"]

    async def test_a_refused_change_is_not_noted(self, env: PeopleSetup) -> None:
        for refused in (
            env.people.delete_user(HOUSE.owner.user_id),
            env.people.withdraw(HOUSE.id, "nobody@example.com"),
            env.people.create_user(ANNA.email),
            env.people.set_password(ANNA.id, "short"),
        ):
            with pytest.raises(Refused):
                await refused
        assert await env.noted() == []

    async def test_leaving_is_not_being_withdrawn(self, env: PeopleSetup) -> None:
        await env.people.leave_plant(HOUSE.id, BRUNO.id)
        assert await env.noted() == ["left"]


class TestAddresses:
    @pytest.mark.parametrize("email", ["anna@example.com", "änna@müller.example", "a.b+c@x.y.z", "o'hara@example.com"])
    def test_valid_emails_are_accepted_unchanged(self, email: str) -> None:
        assert check_email(email) == email
