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
from support.delivery_setup import APP, GUEST, HOME, LAMPS, OTHER, OWNER, PLUG, DeliverySetup, RecordingSender, a_plant

pytestmark = pytest.mark.slow

URL = "https://receiver.example/"
AWAY = Undelivered("The receiver did not answer within 15 s.")


class TestRights:
    async def _withdraw(self, setup: DeliverySetup, how: str, grant_id: Any) -> None:
        if how == "right":
            await setup.store.withdraw_user(HOME, GUEST.id)
        elif how == "grant":
            await setup.store.revoke_grant(grant_id, setup.clock.now())
        elif how == "plant":
            await setup.store.set_plant_status(HOME, PlantStatus.REMOVED, setup.clock.now())
        else:
            await setup.store.delete_user(GUEST.id)

    @pytest.mark.parametrize(
        ("how", "reason"),
        [("right", "rights_withdrawn"), ("grant", "application_revoked"), ("plant", "plant_removed"), ("user", None)],
    )
    async def test_a_right_that_is_withdrawn_ends_it_and_nothing_that_waited_is_told(
        self, setup: DeliverySetup, sender: RecordingSender, how: str, reason: str | None
    ) -> None:
        sender.answer = AWAY
        who = await setup.grant_access(GUEST)
        webhook = await setup.register(URL, who)
        await setup.report()
        await setup.settle()
        sender.got.clear()
        sender.answer = 200
        await self._withdraw(setup, how, who.grant_id)
        await setup.report()
        await setup.pass_time(7200)
        assert sender.got == []
        found = await setup.store.find_webhook(webhook.id)
        if reason is None:
            assert found is None
        else:
            assert found is not None
            assert found.ended_at is not None
            assert found.ended_reason == reason
        assert setup.dispatcher.webhooks == 0

    async def test_a_guest_gets_events_within_the_limits_and_until_their_end(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        limits = Limits(modules=(LAMPS[0].id,), valid_until=setup.clock.now() + 60)
        await setup.store.set_member_limits(HOME, GUEST.id, limits)
        webhook = await setup.register(URL, await setup.grant_access(GUEST))
        await setup.report(LAMPS[1])
        shown = await setup.report(LAMPS[0])
        await setup.settle()
        assert sender.cursors() == [shown]
        setup.clock.at += 60
        await setup.report(LAMPS[0])
        await setup.settle()
        assert sender.cursors() == [shown]
        found = await setup.store.find_webhook(webhook.id)
        assert found is not None
        assert found.ended_why == "The user has no rights on the plant any more."

    async def test_a_narrow_token_registers_a_narrow_webhook(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        whole = await setup.grant_access()
        narrow = msgspec.structs.replace(whole, scopes=frozenset({"plug.read"}))
        webhook = await setup.register(URL, narrow)
        assert webhook.scopes == ("plug.read",)
        await setup.report(LAMPS[0])
        shown = await setup.report(PLUG)
        await setup.settle()
        assert sender.cursors() == [shown], "the grant has light.read, the token that registered it does not"

    async def test_a_member_who_came_back_is_told_only_what_happens_from_then_on(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        sender.answer = AWAY
        webhook = await setup.register(URL, await setup.grant_access(GUEST))
        await setup.report()
        await setup.settle()
        sender.got.clear()
        sender.answer = 200
        # In one commit, so that the dispatcher does not see the time between.
        await asyncio.gather(setup.store.withdraw_user(HOME, GUEST.id), setup.store.allow_user(HOME, GUEST.id))
        since = setup.changes[-1].cursor
        shown = await setup.report()
        await setup.pass_time(7200)
        assert (await setup.find(webhook)).ended_at is None
        assert sorted(sender.cursors()) == [since, shown]

    async def test_scopes_that_the_client_loses_count_at_the_next_delivery(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        webhook = await setup.register(URL, await setup.grant_access())
        await setup.store.save_client(msgspec.structs.replace(APP, scopes=("plug.read",)))
        await setup.report(LAMPS[0])
        shown = await setup.report(PLUG)
        await setup.settle()
        assert sender.cursors() == [shown]
        assert (await setup.find(webhook)).ended_at is None
        await setup.store.save_client(APP)
        again = await setup.report(LAMPS[0])
        await setup.settle()
        assert sender.cursors() == [shown, again], "the grant kept them"

    async def test_a_right_withdrawn_in_the_middle_of_a_page_stops_the_rest_of_it(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        who = await setup.grant_access()
        sender.answer = AWAY
        await setup.register(URL, who)
        for n in range(20):
            await setup.report(LAMPS[0], n)
        await setup.settle()
        sender.got.clear()

        async def take() -> int:
            if len(sender.got) == 3:
                await setup.store.revoke_grant(who.grant_id, setup.clock.now())
            return 200

        sender.answer = lambda *_: take()
        await setup.pass_time(10)
        assert len(sender.got) == 3
        assert [action for action, _ in setup.notes.entries][-1] == "webhook ended"

    async def test_a_user_who_must_renew_the_password_gets_the_events_at_once_afterwards(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        def owing(standing: Standing) -> Any:
            return lambda user: msgspec.structs.replace(user, standing=standing)

        webhook = await setup.register(URL)
        await setup.store.change_user(OWNER.id, owing(Standing.PASSWORD_EXPIRED))
        cursor = await setup.report()
        await setup.settle()
        assert sender.got == []
        waiting = await setup.find(webhook)
        assert "renew their password" in waiting.problem
        assert (waiting.failing_since, waiting.failures) == (None, 0), "the receiver has not failed"
        assert waiting.next_at > setup.clock.now()
        await setup.store.change_user(OWNER.id, owing(Standing.GOOD))
        await setup.settle()
        assert sender.cursors() == [cursor]
        assert ((await setup.find(webhook)).problem, (await setup.find(webhook)).next_at) == ("", 0)

    async def test_a_user_who_has_renewed_the_password_is_not_asked_again_even_if_no_event_waited(
        self, setup: DeliverySetup, sender: RecordingSender
    ) -> None:
        def owing(standing: Standing) -> Any:
            return lambda user: msgspec.structs.replace(user, standing=standing)

        webhook = await setup.register(URL)
        await setup.settle()
        await setup.store.change_user(OWNER.id, owing(Standing.PASSWORD_EXPIRED))
        await setup.settle()
        assert "renew their password" in (await setup.find(webhook)).problem
        await setup.store.change_user(OWNER.id, owing(Standing.GOOD))
        await setup.settle()
        after = await setup.find(webhook)
        assert (after.problem, after.next_at) == ("", 0)

    async def test_a_module_that_is_gone_is_not_spoken_of(self, setup: DeliverySetup, sender: RecordingSender) -> None:
        sender.answer = AWAY
        await setup.register(URL, kinds=[NoticeKind.STATE])
        await setup.report(LAMPS[0], 1)
        kept = await setup.report(LAMPS[1], 1)
        await setup.settle()
        sender.got.clear()
        without = Estate(users=(OWNER, GUEST), clients=(APP, OTHER), plants=(a_plant(modules=LAMPS[1:]),))
        await setup.store.import_estate(without, prune=True)
        sender.answer = 200
        await setup.pass_time(3600)
        assert sender.cursors() == [kept]
