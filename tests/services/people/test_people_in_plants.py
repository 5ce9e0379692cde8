"""Members of plants: invite, allow, withdraw, leave."""

import pytest

from domogate.domain.ids import Id
from domogate.domain.people import User
from domogate.domain.plants import PlantStatus
from domogate.services.people import COMMAND_LINE, Actor, InvitedAs
from domogate.services.refusals import Conflict, Forbidden, Invalid, NotFound
from support.people import GOOD_PASSWORD, NOBODY, Village, token_of
from support.stores import ANNA, BRUNO, CARLA, HOUSE


class TestInviting:
    async def test_an_active_user_is_a_member_at_once(self, village: Village) -> None:
        dora = (await village.people.create_user("dora@example.com"))[0]
        await village.people.set_password(dora.id, GOOD_PASSWORD)
        invited = await village.people.invite(HOUSE.id, "Dora@example.com")
        assert (invited.outcome, invited.link) == (InvitedAs.MEMBER, None)
        assert (await village.people.get_plant(HOUSE.id)).is_of(dora.id)

    async def test_an_unknown_person_gets_an_account_and_a_link(self, village: Village) -> None:
        invited = await village.people.invite(HOUSE.id, "dora@example.com")
        dora = await village.people.get_user_by_email("dora@example.com")
        assert invited.outcome is InvitedAs.INVITED
        assert not (await village.people.get_plant(HOUSE.id)).is_of(dora.id)
        assert invited.link is not None
        await village.people.redeem_link(token_of(invited.link), GOOD_PASSWORD)
        assert (await village.people.get_plant(HOUSE.id)).is_of(dora.id)

    async def test_where_there_is_mail_it_is_mailed(self, village: Village) -> None:
        village.mail.sends = True
        invited = await village.people.invite(HOUSE.id, "dora@example.com")
        assert invited.link is not None
        assert invited.link.url is None
        ((what, to, link),) = village.mail.sent
        assert (what, to) == (HOUSE.name, "dora@example.com")
        assert link is not None
        await village.people.redeem_link(token_of(link), GOOD_PASSWORD)

    async def test_nobody_is_invited_twice(self, village: Village) -> None:
        await village.people.invite(HOUSE.id, "dora@example.com")
        for email in ("dora@example.com", "DORA@example.com", ANNA.email, BRUNO.email):
            with pytest.raises(Conflict, match="already"):
                await village.people.invite(HOUSE.id, email)

    async def test_an_account_that_somebody_else_makes_at_this_moment_is_the_one(
        self, village: Village, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The invitation exists already: it must not be reported as failed, or without a link."""
        find, asked = village.store.find_user_by_email, 0

        async def find_a_moment_too_early(email: str) -> User | None:
            nonlocal asked
            asked += 1
            if asked > 1:
                return await find(email)
            await village.people.create_user(email)
            return None

        monkeypatch.setattr(village.store, "find_user_by_email", find_a_moment_too_early)
        invited = await village.people.invite(HOUSE.id, "dora@example.com")
        assert invited.link is not None
        dora = await village.people.redeem_link(token_of(invited.link), GOOD_PASSWORD)
        assert (await village.people.get_plant(HOUSE.id)).is_of(dora.id)

    async def test_an_address_or_a_plant_that_is_none_is_refused(self, village: Village) -> None:
        with pytest.raises(Invalid):
            await village.people.invite(HOUSE.id, "dora")
        with pytest.raises(NotFound):
            await village.people.invite(NOBODY, "dora@example.com")


class TestWhoIsInAPlant:
    async def test_an_allowed_user_is_in_and_after_withdrawal_out(self, village: Village) -> None:
        dora = (await village.people.create_user("dora@example.com"))[0]
        for _ in range(2):
            await village.people.allow(HOUSE.id, dora.id)
        assert (await village.people.get_plant(HOUSE.id)).is_of(dora.id)
        await village.people.withdraw(HOUSE.id, "DORA@example.com")
        assert not (await village.people.get_plant(HOUSE.id)).is_of(dora.id)
        with pytest.raises(NotFound):
            await village.people.withdraw_user(HOUSE.id, dora.id)

    async def test_an_invitation_is_withdrawn_by_its_address(self, village: Village) -> None:
        invited = await village.people.invite(HOUSE.id, "dora@example.com")
        await village.people.withdraw(HOUSE.id, "Dora@example.com")
        assert invited.link is not None
        dora = await village.people.redeem_link(token_of(invited.link), GOOD_PASSWORD)
        assert not (await village.people.get_plant(HOUSE.id)).is_of(dora.id)
        with pytest.raises(NotFound, match="no open invitation"):
            await village.people.withdraw(HOUSE.id, "dora@example.com")

    async def test_the_owner_cannot_be_withdrawn_and_cannot_leave(self, village: Village) -> None:
        owner = HOUSE.owner
        with pytest.raises(Conflict, match="owns the plant"):
            await village.people.withdraw(HOUSE.id, owner.email)
        with pytest.raises(Conflict, match="owns the plant"):
            await village.people.leave_plant(HOUSE.id, owner.user_id)

    async def test_an_allowed_user_leaves(self, village: Village) -> None:
        await village.people.leave_plant(HOUSE.id, BRUNO.id)
        assert not (await village.people.get_plant(HOUSE.id)).is_of(BRUNO.id)
        with pytest.raises(NotFound):
            await village.people.leave_plant(HOUSE.id, BRUNO.id)


class TestRemovingAPlant:
    async def test_by_its_owner_by_an_operator_and_at_the_command_line(self, village: Village) -> None:
        olga = await village.add_operator()
        for by in (Actor(HOUSE.owner.user_id), Actor(olga.id), COMMAND_LINE):
            await village.people.remove_plant(HOUSE.id, by=by)
            removed = await village.people.get_plant(HOUSE.id)
            assert (removed.status, removed.removed_at) == (PlantStatus.REMOVED, village.clock.now())
            with pytest.raises(Conflict, match="already"):
                await village.people.remove_plant(HOUSE.id, by=by)
            await village.people.restore_plant(HOUSE.id, by=by)
            assert (await village.people.get_plant(HOUSE.id)).status is PlantStatus.ACTIVE

    @pytest.mark.parametrize("user_id", [BRUNO.id, CARLA.id, NOBODY])
    async def test_by_nobody_else(self, village: Village, user_id: Id) -> None:
        with pytest.raises(Forbidden):
            await village.people.remove_plant(HOUSE.id, by=Actor(user_id))
        assert (await village.people.get_plant(HOUSE.id)).status is PlantStatus.ACTIVE
