"""A person who joins a plant gets no events from before the membership (Decision 0056)."""

import asyncio

import pytest

from domogate.domain.events import StateChanged
from domogate.domain.limits import Limits
from domogate.services.events.filters import EventFilter
from support.stream_setup import SharedHome, StreamSetup

pytestmark = pytest.mark.slow


class TestLastEventId:
    async def test_an_old_one_gives_a_new_member_only_events_since_they_joined(
        self, setup: StreamSetup, home: SharedHome
    ) -> None:
        await home.switch(3)
        carla = await setup.add_user("Carla")
        await setup.store.allow_user(home.plant.id, carla.id)
        joined = await setup.store.newest_cursor()
        await home.switch(2)
        credentials = await setup.grant_access(carla)
        for event_filter in (EventFilter(), EventFilter(plants=frozenset({home.plant.id}))):
            listener = await setup.listen(credentials, event_filter, b"0")
            assert [received.event for received in listener.notices] == ["people", "state", "state"]
            assert min(listener.ids) == joined
        witness = await setup.listen(home.of_bruno, last_event_id=b"0")
        assert len(witness.notices) > 5, "the others get them all"

    async def test_a_member_who_comes_back_does_not_get_events_of_the_time_between(
        self, setup: StreamSetup, home: SharedHome
    ) -> None:
        await home.switch()
        await setup.store.withdraw_user(home.plant.id, home.bruno.id)
        await home.switch(4)
        await setup.store.allow_user(home.plant.id, home.bruno.id)
        listener = await setup.listen(home.of_bruno, last_event_id=b"0")
        assert [received.event for received in listener.notices] == ["people"]

    async def test_an_invitation_counts_from_the_day_it_is_taken_up(self, setup: StreamSetup, home: SharedHome) -> None:
        await setup.store.invite(home.plant.id, "dora@example.com")
        await home.switch(3)
        dora = await setup.add_user("Dora", email="dora@example.com")
        listener = await setup.listen(await setup.grant_access(dora), last_event_id=b"0")
        assert "state" not in [received.event for received in listener.notices]
        await home.switch()
        await setup.quiet()
        assert listener.notices[-1].event == "state"


class TestGuests:
    async def test_a_period_hides_the_events_from_before_it(self, setup: StreamSetup, home: SharedHome) -> None:
        carla = await setup.add_user("Carla")
        begin = setup.clock.now() + 100
        await setup.store.allow_user(home.plant.id, carla.id, Limits(valid_from=begin))
        await home.switch(3)
        setup.clock.at = begin
        await home.switch()
        listener = await setup.listen(await setup.grant_access(carla), last_event_id=b"0")
        assert [received.event for received in listener.notices] == ["state"]

    async def test_a_new_room_has_no_past_for_them_but_a_longer_stay_changes_nothing(
        self, setup: StreamSetup, home: SharedHome
    ) -> None:
        carla = await setup.add_user("Carla")
        credentials = await setup.grant_access(carla)
        await setup.store.allow_user(home.plant.id, carla.id, Limits(modules=(home.plug.id,)))
        await setup.report(home.plant, home.plug)
        await home.switch(2)
        longer = Limits(modules=(home.plug.id,), valid_until=setup.clock.now() + 1000)
        await setup.store.set_member_limits(home.plant.id, carla.id, longer)
        first = await setup.listen(credentials, last_event_id=b"0")
        assert [received.event for received in first.notices] == ["people", "state", "people"]
        await setup.store.set_member_limits(home.plant.id, carla.id, Limits(modules=(home.plug.id, home.lamp.id)))
        second = await setup.listen(credentials, last_event_id=b"0")
        assert [received.event for received in second.notices] == ["people"]

    async def test_a_second_stay_does_not_show_the_time_between(self, setup: StreamSetup, home: SharedHome) -> None:
        carla = await setup.add_user("Carla")
        credentials, end = await setup.grant_access(carla), setup.clock.now() + 100
        await setup.store.allow_user(home.plant.id, carla.id, Limits(modules=(home.lamp.id,), valid_until=end))
        await home.switch()
        setup.clock.at = end + 100
        await home.switch(4)
        again = Limits(modules=(home.lamp.id,), valid_until=setup.clock.now() + 100)
        await setup.store.set_member_limits(home.plant.id, carla.id, again)
        listener = await setup.listen(credentials, last_event_id=b"0")
        assert [received.event for received in listener.notices] == ["people"]

    async def test_an_earlier_start_does_not_show_the_time_before_the_former_start(
        self, setup: StreamSetup, home: SharedHome
    ) -> None:
        carla = await setup.add_user("Carla")
        credentials, begin = await setup.grant_access(carla), setup.clock.now() + 100
        await setup.store.allow_user(home.plant.id, carla.id, Limits(modules=(home.lamp.id,), valid_from=begin))
        await home.switch(4)
        setup.clock.at = begin + 100
        await setup.store.set_member_limits(home.plant.id, carla.id, Limits(modules=(home.lamp.id,)))
        listener = await setup.listen(credentials, last_event_id=b"0")
        assert [received.event for received in listener.notices] == ["people"]

    async def test_changes_of_other_people_are_not_told_to_them(self, setup: StreamSetup, home: SharedHome) -> None:
        carla, dora = await setup.add_user("Carla"), await setup.add_user("Dora")
        credentials = await setup.grant_access(carla)
        await setup.store.allow_user(home.plant.id, carla.id, Limits(modules=(home.lamp.id,)))
        open_stream, witness = await setup.listen(credentials), await setup.listen(home.of_bruno)
        await setup.store.allow_user(home.plant.id, dora.id)
        await setup.store.invite(home.plant.id, "eve@example.com")
        await setup.store.withdraw_user(home.plant.id, dora.id)
        await home.switch()
        await setup.quiet()
        assert [received.event for received in witness.notices] == ["people", "people", "people", "state"]
        assert [received.event for received in open_stream.notices] == ["state"]
        resumed = await setup.listen(credentials, last_event_id=b"0")
        assert [received.event for received in resumed.notices] == ["people", "state"]
        await setup.store.set_member_limits(home.plant.id, carla.id, Limits(valid_until=setup.clock.now() + 1000))
        await setup.quiet()
        assert open_stream.notices[-1].event == "people", "of the guest's own limits"


class TestOpenStream:
    async def test_a_change_that_is_not_distributed_yet_is_not_given_to_a_new_member(
        self, setup: StreamSetup, home: SharedHome
    ) -> None:
        carla = await setup.add_user("Carla")
        credentials = await setup.grant_access(carla)
        await setup.listen(home.of_anna)  # so that the hub distributes changes of the plant
        listener = await setup.listen(credentials)
        await asyncio.gather(home.switch(), setup.store.allow_user(home.plant.id, carla.id))
        await setup.quiet()
        (joined,) = [received.id for received in listener.notices if received.event == "people"]
        assert joined is not None
        assert all(cursor >= joined for cursor in listener.ids)

    async def test_the_present_state_is_shown_whenever_it_was_reported(self, setup: StreamSetup, home: SharedHome) -> None:
        await home.switch()
        carla = await setup.add_user("Carla")
        await setup.store.allow_user(home.plant.id, carla.id)
        listener = await setup.listen(await setup.grant_access(carla), EventFilter(present=True))
        present = [received.data["data"] for received in listener.received if received.event == "present"]
        assert [one["state"]["on"] for one in present if one["moduleId"] == home.lamp.id] == [True]


class TestEstateFile:
    async def test_an_import_keeps_when_members_joined(self, setup: StreamSetup, home: SharedHome) -> None:
        await home.switch(2)
        carla = await setup.add_user("Carla")
        await setup.store.allow_user(home.plant.id, carla.id)
        await home.switch()
        dora = await setup.add_user("Dora")
        estate = await setup.store.export_estate()
        await setup.store.allow_user(home.plant.id, dora.id)
        await setup.store.import_estate(estate, prune=True)
        stored = await setup.store.find_plant(home.plant.id)
        assert stored is not None
        changes = await setup.store.list_changes_of([home.plant.id], 0, 100)
        seen = {
            user.id: sum(isinstance(it.event, StateChanged) and it.cursor > stored.joined[user.id] for it in changes)
            for user in (home.anna, home.bruno, carla)
        }
        assert seen == {home.anna.id: 3, home.bruno.id: 3, carla.id: 1}
        assert dora.id not in stored.joined
