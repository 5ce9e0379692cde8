"""After a right is withdrawn nothing more is delivered, neither waiting events nor the rest of a running batch."""

import asyncio
from typing import Any

import msgspec
import pytest

from domogate.domain.estate import Estate
from domogate.domain.limits import Limits
from domogate.domain.notices import NoticeKind
from domogate.domain.people import Standing
from domogate.domain.plants import PlantStatus
from domogate.ports import Undelivered
from support.deliveries import APP, GUEST, HOME, LAMPS, OTHER, OWNER, PLUG, DeliverySetup, RecordingSender, a_plant

pytestmark = pytest.mark.slow

URL = "https://receiver.example/"
AWAY = Undelivered("The receiver did not answer within 15 s.")


class TestRights:
    async def _withdraw(self, house: DeliverySetup, how: str, grant_id: Any) -> None:
        if how == "right":
            await house.store.withdraw_user(HOME, GUEST.id)
        elif how == "grant":
            await house.store.revoke_grant(grant_id, house.clock.now())
        elif how == "plant":
            await house.store.set_plant_status(HOME, PlantStatus.REMOVED, house.clock.now())
        else:
            await house.store.delete_user(GUEST.id)

    @pytest.mark.parametrize("how", ["right", "grant", "plant", "user"])
    async def test_a_right_that_is_withdrawn_ends_it_and_nothing_that_waited_is_told(
        self, house: DeliverySetup, sender: RecordingSender, how: str
    ) -> None:
        sender.answer = AWAY
        who = await house.let_in(GUEST)
        webhook = await house.register(URL, who)
        await house.report()
        await house.settle()
        sender.got.clear()
        sender.answer = 200
        await self._withdraw(house, how, who.grant_id)
        await house.report()
        await house.pass_time(7200)
        assert sender.got == []
        found = await house.store.find_webhook(webhook.id)
        assert found is None if how == "user" else found is not None and found.ended_at is not None
        assert house.dispatcher.webhooks == 0

    async def test_a_guest_gets_events_within_the_limits_and_until_their_end(
        self, house: DeliverySetup, sender: RecordingSender
    ) -> None:
        limits = Limits(modules=(LAMPS[0].id,), valid_until=house.clock.now() + 60)
        await house.store.set_member_limits(HOME, GUEST.id, limits)
        webhook = await house.register(URL, await house.let_in(GUEST))
        await house.report(LAMPS[1])
        shown = await house.report(LAMPS[0])
        await house.settle()
        assert sender.cursors() == [shown]
        house.clock.at += 60
        await house.report(LAMPS[0])
        await house.settle()
        assert sender.cursors() == [shown]
        found = await house.store.find_webhook(webhook.id)
        assert found is not None
        assert found.ended_why == "The user has no rights on the plant any more."

    async def test_a_narrow_token_registers_a_narrow_webhook(self, house: DeliverySetup, sender: RecordingSender) -> None:
        whole = await house.let_in()
        narrow = msgspec.structs.replace(whole, scopes=frozenset({"plug.read"}))
        webhook = await house.register(URL, narrow)
        assert webhook.scopes == ("plug.read",)
        await house.report(LAMPS[0])
        shown = await house.report(PLUG)
        await house.settle()
        assert sender.cursors() == [shown], "the grant has light.read, the token that registered it does not"

    async def test_a_member_who_came_back_is_told_only_what_happens_from_then_on(
        self, house: DeliverySetup, sender: RecordingSender
    ) -> None:
        sender.answer = AWAY
        webhook = await house.register(URL, await house.let_in(GUEST))
        await house.report()
        await house.settle()
        sender.got.clear()
        sender.answer = 200
        # In one commit, so that the dispatcher does not see the time between.
        await asyncio.gather(house.store.withdraw_user(HOME, GUEST.id), house.store.allow_user(HOME, GUEST.id))
        since = house.changes[-1].cursor
        shown = await house.report()
        await house.pass_time(7200)
        assert (await house.find(webhook)).ended_at is None
        assert sorted(sender.cursors()) == [since, shown]

    async def test_scopes_that_the_client_loses_count_at_the_next_delivery(
        self, house: DeliverySetup, sender: RecordingSender
    ) -> None:
        webhook = await house.register(URL, await house.let_in())
        await house.store.save_client(msgspec.structs.replace(APP, scopes=("plug.read",)))
        await house.report(LAMPS[0])
        shown = await house.report(PLUG)
        await house.settle()
        assert sender.cursors() == [shown]
        assert (await house.find(webhook)).ended_at is None
        await house.store.save_client(APP)
        again = await house.report(LAMPS[0])
        await house.settle()
        assert sender.cursors() == [shown, again], "the grant kept them"

    async def test_a_right_withdrawn_in_the_middle_of_a_page_stops_the_rest_of_it(
        self, house: DeliverySetup, sender: RecordingSender
    ) -> None:
        who = await house.let_in()
        sender.answer = AWAY
        await house.register(URL, who)
        for n in range(20):
            await house.report(LAMPS[0], n)
        await house.settle()
        sender.got.clear()

        async def take() -> int:
            if len(sender.got) == 3:
                await house.store.revoke_grant(who.grant_id, house.clock.now())
            return 200

        sender.answer = lambda *_: take()
        await house.pass_time(10)
        assert len(sender.got) == 3
        assert [action for action, _ in house.notes.entries][-1] == "webhook ended"

    async def test_who_owes_a_new_password_is_told_afterwards(self, house: DeliverySetup, sender: RecordingSender) -> None:
        def owing(standing: Standing) -> Any:
            return lambda user: msgspec.structs.replace(user, standing=standing)

        webhook = await house.register(URL)
        await house.store.change_user(OWNER.id, owing(Standing.PASSWORD_EXPIRED))
        cursor = await house.report()
        await house.settle()
        assert sender.got == []
        assert "renew their password" in (await house.find(webhook)).problem
        await house.store.change_user(OWNER.id, owing(Standing.GOOD))
        await house.pass_time(3600)
        assert sender.cursors() == [cursor]

    async def test_a_module_that_is_gone_is_not_spoken_of(self, house: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = AWAY
        await house.register(URL, kinds=[NoticeKind.STATE])
        await house.report(LAMPS[0], 1)
        kept = await house.report(LAMPS[1], 1)
        await house.settle()
        sender.got.clear()
        without = Estate(users=(OWNER, GUEST), clients=(APP, OTHER), plants=(a_plant(modules=LAMPS[1:]),))
        await house.store.import_estate(without, prune=True)
        sender.answer = 200
        await house.pass_time(3600)
        assert sender.cursors() == [kept]
