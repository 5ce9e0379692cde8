"""Members of plants: invite, allow, withdraw, leave."""

import pytest

from domogate.domain.ids import Id
from domogate.domain.people import User
from domogate.domain.plants import PlantStatus
from domogate.services.people import COMMAND_LINE, Actor, InvitedAs
from domogate.services.refusals import Conflict, Forbidden, Invalid, NotFound
from support.people_setup import BASE_URL, GOOD_PASSWORD, NOBODY, PeopleSetup, token_of
from support.stores import ANNA, BRUNO, CARLA, HOUSE


class TestInviting:
    async def test_an_active_user_is_a_member_at_once(self, env: PeopleSetup) -> None:
        dora = (await env.people.create_user("dora@example.com"))[0]
        await env.people.set_password(dora.id, GOOD_PASSWORD)
        invited = await env.people.invite(HOUSE.id, "Dora@example.com")
        assert (invited.outcome, invited.link) == (InvitedAs.MEMBER, None)
        assert (await env.people.get_plant(HOUSE.id)).is_of(dora.id)

    async def test_an_unknown_person_gets_an_account_and_a_link(self, env: PeopleSetup) -> None:
        invited = await env.people.invite(HOUSE.id, "dora@example.com")
        dora = await env.people.get_user_by_email("dora@example.com")
        assert invited.outcome is InvitedAs.INVITED
        assert not (await env.people.get_plant(HOUSE.id)).is_of(dora.id)
        assert invited.link is not None
        await env.people.redeem_link(token_of(invited.link), GOOD_PASSWORD)
        assert (await env.people.get_plant(HOUSE.id)).is_of(dora.id)

    async def test_where_there_is_mail_it_is_mailed(self, env: PeopleSetup) -> None:
        env.mail.sends = True
        invited = await env.people.invite(HOUSE.id, "dora@example.com")
        assert invited.link is not None
        assert invited.link.url is None
        ((what, to, link),) = env.mail.sent
        assert (what, to) == (HOUSE.name, "dora@example.com")
        assert link is not None
        await env.people.redeem_link(token_of(link), GOOD_PASSWORD)

    async def test_the_mail_names_the_person_who_invites_and_leads_a_user_to_the_homes(self, env: PeopleSetup) -> None:
        env.mail.sends = True
        dora = (await env.people.create_user("dora@example.com"))[0]
        await env.people.set_password(dora.id, GOOD_PASSWORD)
        env.mail.mails.clear()
        await env.people.invite(HOUSE.id, "dora@example.com", by=Actor(ANNA.id))
        await env.people.invite(HOUSE.id, "emil@example.com", by=Actor(ANNA.id))
        await env.people.invite(HOUSE.id, "frida@example.com", by=COMMAND_LINE)
        assert [mail.by for mail in env.mail.mails] == [ANNA.name, ANNA.name, ""]
        assert env.mail.mails[0].link == f"{BASE_URL}/homes"

    async def test_nobody_is_invited_twice(self, env: PeopleSetup) -> None:
        await env.people.invite(HOUSE.id, "dora@example.com")
        for email in ("dora@example.com", "DORA@example.com", ANNA.email, BRUNO.email):
            with pytest.raises(Conflict, match="already"):
                await env.people.invite(HOUSE.id, email)

    async def test_an_account_that_is_created_at_the_same_time_is_used(
        self, env: PeopleSetup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The invitation exists already: it must not be reported as failed, or without a link."""
        find, asked = env.store.find_user_by_email, 0

        async def find_a_moment_too_early(email: str) -> User | None:
            nonlocal asked
            asked += 1
            if asked > 1:
                return await find(email)
            await env.people.create_user(email)
            return None

        monkeypatch.setattr(env.store, "find_user_by_email", find_a_moment_too_early)
        invited = await env.people.invite(HOUSE.id, "dora@example.com")
        assert invited.link is not None
        dora = await env.people.redeem_link(token_of(invited.link), GOOD_PASSWORD)
        assert (await env.people.get_plant(HOUSE.id)).is_of(dora.id)

    async def test_the_invitation_follows_an_address_that_an_operator_corrects(self, env: PeopleSetup) -> None:
        await env.people.invite(HOUSE.id, "dora@exmaple.com")
        dora = await env.people.get_user_by_email("dora@exmaple.com")
        await env.people.set_email(dora.id, "Dora@example.com")
        plant = await env.people.get_plant(HOUSE.id)
        assert [one.email for one in plant.invited if "ora" in one.email] == ["Dora@example.com"]
        link = await env.people.issue_password_link(dora.id)
        await env.people.redeem_link(token_of(link), GOOD_PASSWORD)
        assert (await env.people.get_plant(HOUSE.id)).is_of(dora.id)

    async def test_of_two_invitations_of_a_corrected_address_one_stays(self, env: PeopleSetup) -> None:
        await env.people.invite(HOUSE.id, "dora@exmaple.com")
        dora = await env.people.get_user_by_email("dora@exmaple.com")
        await env.store.invite(HOUSE.id, "dora@example.com")
        await env.people.set_email(dora.id, "dora@example.com")
        plant = await env.people.get_plant(HOUSE.id)
        assert [one.email for one in plant.invited].count("dora@example.com") == 1
        assert "dora@exmaple.com" not in [one.email for one in plant.invited]

    async def test_an_address_or_a_plant_that_is_none_is_refused(self, env: PeopleSetup) -> None:
        with pytest.raises(Invalid):
            await env.people.invite(HOUSE.id, "dora")
        with pytest.raises(NotFound):
            await env.people.invite(NOBODY, "dora@example.com")


class TestWhoIsInAPlant:
    async def test_an_allowed_user_is_in_and_after_withdrawal_out(self, env: PeopleSetup) -> None:
        dora = (await env.people.create_user("dora@example.com"))[0]
        for _ in range(2):
            await env.people.allow(HOUSE.id, dora.id)
        assert (await env.people.get_plant(HOUSE.id)).is_of(dora.id)
        await env.people.withdraw(HOUSE.id, "DORA@example.com")
        assert not (await env.people.get_plant(HOUSE.id)).is_of(dora.id)
        with pytest.raises(NotFound):
            await env.people.withdraw_user(HOUSE.id, dora.id)

    async def test_an_invitation_is_withdrawn_by_its_address(self, env: PeopleSetup) -> None:
        invited = await env.people.invite(HOUSE.id, "dora@example.com")
        await env.people.withdraw(HOUSE.id, "Dora@example.com")
        assert invited.link is not None
        dora = await env.people.redeem_link(token_of(invited.link), GOOD_PASSWORD)
        assert not (await env.people.get_plant(HOUSE.id)).is_of(dora.id)
        with pytest.raises(NotFound, match="no open invitation"):
            await env.people.withdraw(HOUSE.id, "dora@example.com")

    async def test_the_owner_cannot_be_withdrawn_and_cannot_leave(self, env: PeopleSetup) -> None:
        owner = HOUSE.owner
        with pytest.raises(Conflict, match="owns the plant"):
            await env.people.withdraw(HOUSE.id, owner.email)
        with pytest.raises(Conflict, match="owns the plant"):
            await env.people.leave_plant(HOUSE.id, owner.user_id)

    async def test_an_allowed_user_leaves(self, env: PeopleSetup) -> None:
        await env.people.leave_plant(HOUSE.id, BRUNO.id)
        assert not (await env.people.get_plant(HOUSE.id)).is_of(BRUNO.id)
        with pytest.raises(NotFound):
            await env.people.leave_plant(HOUSE.id, BRUNO.id)


class TestRemovingAPlant:
    async def test_by_its_owner_by_an_operator_and_at_the_command_line(self, env: PeopleSetup) -> None:
        olga = await env.add_operator()
        for by in (Actor(HOUSE.owner.user_id), Actor(olga.id), COMMAND_LINE):
            await env.people.remove_plant(HOUSE.id, by=by)
            removed = await env.people.get_plant(HOUSE.id)
            assert (removed.status, removed.removed_at) == (PlantStatus.REMOVED, env.clock.now())
            with pytest.raises(Conflict, match="already"):
                await env.people.remove_plant(HOUSE.id, by=by)
            await env.people.restore_plant(HOUSE.id, by=by)
            assert (await env.people.get_plant(HOUSE.id)).status is PlantStatus.ACTIVE

    @pytest.mark.parametrize("user_id", [BRUNO.id, CARLA.id, NOBODY])
    async def test_by_nobody_else(self, env: PeopleSetup, user_id: Id) -> None:
        with pytest.raises(Forbidden):
            await env.people.remove_plant(HOUSE.id, by=Actor(user_id))
        assert (await env.people.get_plant(HOUSE.id)).status is PlantStatus.ACTIVE
