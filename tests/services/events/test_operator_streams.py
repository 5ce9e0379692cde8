"""The event streams of operators: all plants, as long as the user is an operator."""

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.faults import NoSuchPlant
from domogate.domain.ids import new_id
from domogate.domain.notices import NoticeKind
from domogate.domain.people import MANAGE_SCOPE
from domogate.domain.plants import PlantStatus
from domogate.domain.states import LockState, Report
from domogate.services.events import hub as hubs
from domogate.services.events.filters import EventFilter
from domogate.services.events.hub import TooManyStreams
from support.stream_setup import Credentials, SharedHome, StreamSetup, a_module, open_stream_setup, until


@pytest.fixture
async def olga(setup: StreamSetup) -> Credentials:
    return await setup.grant_access(await setup.add_user("Olga", operator=True), (MANAGE_SCOPE,))


class TestAnOperator:
    async def test_sees_every_module_of_every_plant_also_of_later_ones(
        self, setup: StreamSetup, home: SharedHome, olga: Credentials
    ) -> None:
        listener = await setup.listen_as_operator(olga)
        await home.switch()
        await setup.store.record([Report(home.plant.id, home.lock.id, setup.clock.now(), LockState(locked=True))])
        lamp = a_module(DeviceKind.LIGHT)
        other = await setup.add_plant(home.bruno, lamp)
        await setup.report(other, lamp)
        await setup.quiet()
        states = [one.data["data"]["moduleId"] for one in listener.notices if one.event == "state"]
        assert states == [home.lamp.id, home.lock.id, lamp.id]
        assert listener.ids == sorted(set(listener.ids))

    async def test_can_choose_a_plant_and_kinds(self, setup: StreamSetup, home: SharedHome, olga: Credentials) -> None:
        lamp = a_module(DeviceKind.LIGHT)
        other = await setup.add_plant(home.bruno, lamp)
        event_filter = EventFilter(frozenset({other.id}), frozenset({NoticeKind.REACHABILITY}))
        listener = await setup.listen_as_operator(olga, event_filter)
        await home.switch()
        await setup.report(other, lamp)
        await setup.report(other, lamp, reachable=False)
        await setup.quiet()
        assert [one.event for one in listener.notices] == ["reachability"]
        with pytest.raises(NoSuchPlant):
            await setup.listen_as_operator(olga, EventFilter(frozenset({new_id()})))

    async def test_resumes_with_the_missed_events_of_all_plants(
        self, setup: StreamSetup, home: SharedHome, olga: Credentials
    ) -> None:
        listener = await setup.listen_as_operator(olga)
        last = listener.last_id
        listener.stream.close()
        lamp = a_module(DeviceKind.LIGHT)
        other = await setup.add_plant(home.bruno, lamp)
        await home.switch(2)
        await setup.report(other, lamp)
        again = await setup.listen_as_operator(olga, EventFilter(kinds=frozenset({NoticeKind.STATE})), last)
        await setup.quiet()
        assert [one.data["data"]["moduleId"] for one in again.notices] == [home.lamp.id, home.lamp.id, lamp.id]

    async def test_sees_that_a_plant_was_removed(self, setup: StreamSetup, home: SharedHome, olga: Credentials) -> None:
        listener = await setup.listen_as_operator(olga)
        await setup.store.set_plant_status(home.plant.id, PlantStatus.REMOVED, setup.clock.now())
        await setup.quiet()
        assert [one.event for one in listener.notices] == ["plant"]


class TestTheEnd:
    async def test_comes_when_the_user_is_not_an_operator_any_more(
        self, setup: StreamSetup, home: SharedHome, olga: Credentials
    ) -> None:
        listener = await setup.listen_as_operator(olga)
        await setup.store.save_user(msgspec.structs.replace(olga.user, operator=False))
        await home.switch()
        await until(lambda: listener.ended, "the end of the stream")
        assert (listener.end_code, listener.notices) == ("plant", [])

    async def test_comes_when_the_grant_is_revoked(self, setup: StreamSetup, olga: Credentials) -> None:
        listener = await setup.listen_as_operator(olga)
        await setup.store.revoke_grant(olga.grant.id, setup.clock.now())
        await until(lambda: listener.ended, "the end of the stream")
        assert listener.end_code == "token"

    async def test_comes_when_too_many_changes_wait(
        self, setup: StreamSetup, home: SharedHome, olga: Credentials, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hubs, "_MOST_WAITING", 0)
        listener = await setup.listen_as_operator(olga)
        of_anna = await setup.listen(home.of_anna)
        await setup.add_plant(home.bruno, a_module(DeviceKind.LIGHT))
        await until(lambda: listener.ended, "the end of the stream")
        assert listener.end_code == "slow"
        await home.switch()
        await setup.quiet()
        assert len(of_anna.notices) == 1, "the streams of applications go on"


async def test_an_operator_has_no_more_streams_than_other_people() -> None:
    async with open_stream_setup(most_per_user=1) as setup:
        olga = await setup.grant_access(await setup.add_user("Olga", operator=True), (MANAGE_SCOPE,))
        await setup.listen_as_operator(olga)
        with pytest.raises(TooManyStreams):
            await setup.listen_as_operator(olga)
