"""What listeners hear."""

import asyncio
import json
from collections.abc import AsyncIterator

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.faults import NoSuchPlant, NotYourPlant, ScopeMissing
from domogate.domain.ids import new_id
from domogate.domain.notices import NoticeKind
from domogate.domain.people import Scope, TokenKind
from domogate.domain.plants import PlantStatus
from domogate.domain.states import LockState, Report
from domogate.services.events import hub as hubs
from domogate.services.events.filters import EventFilter
from domogate.services.events.hub import Unavailable
from support.listening import SOURCE, Heard, House, Listener, Salon, a_module, open_salon, until


@pytest.fixture
async def salon() -> AsyncIterator[Salon]:
    async with open_salon() as opened:
        yield opened


@pytest.fixture
async def house(salon: Salon) -> House:
    return await House(salon).build()


class TestAStreamThatIsNew:
    async def test_first_says_where_it_begins_and_how_soon_to_come_again(self, salon: Salon, house: House) -> None:
        await house.switch()
        listener = await salon.listen(house.of_anna)
        newest = await salon.store.newest_cursor()
        assert listener.raw == b'retry: 2000\nid: %d\nevent: ready\ndata: {"cursor":%d}\n\n' % (newest, newest)

    async def test_tells_what_is_committed_from_then_on(self, salon: Salon, house: House) -> None:
        listener = await salon.listen(house.of_anna)
        await house.switch()
        await salon.quiet()
        [heard] = listener.told
        assert heard.event == "state"
        assert heard.id == await salon.store.newest_cursor()
        assert heard.data["type"] == "domogate.state"
        assert heard.data["id"] == str(heard.id)
        assert heard.data["source"] == SOURCE
        assert heard.data["data"]["moduleId"] == house.lamp.id
        assert heard.data["data"]["state"]["on"] is True

    async def test_takes_both_kinds_of_token(self, salon: Salon, house: House) -> None:
        for kind in TokenKind:
            listener = await salon.listen(await salon.let_in(house.anna, kind=kind))
            await house.switch()
            await salon.quiet()
            assert len(listener.told) == 1

    async def test_tells_each_module_in_order_and_nothing_twice(self, salon: Salon, house: House) -> None:
        listeners = [await salon.listen(house.of_anna) for _ in range(3)]
        await asyncio.gather(*(house.switch(20) for _ in range(3)))
        await salon.quiet()
        for listener in listeners:
            assert len(listener.ids) == 60
            assert listener.ids == sorted(set(listener.ids))

    async def test_says_nothing_of_what_no_operation_shows(self, salon: Salon, house: House) -> None:
        listener = await salon.listen(house.of_anna)
        await salon.store.record([Report(house.plant.id, house.lock.id, salon.clock.now(), LockState(locked=True))])
        await salon.add_user("Somebody")
        await salon.quiet()
        assert listener.told == []

    async def test_tells_that_a_module_went_away_and_came_back(self, salon: Salon, house: House) -> None:
        listener = await salon.listen(house.of_anna)
        await salon.report(house.plant, house.lamp, reachable=False)
        await salon.report(house.plant, house.lamp)
        await salon.quiet()
        assert [(heard.event, heard.data["data"]["reachable"]) for heard in listener.told] == [
            ("reachability", False),
            ("reachability", True),
        ]

    async def test_tells_that_people_changed(self, salon: Salon, house: House) -> None:
        listener, carla = await salon.listen(house.of_anna), await salon.add_user("Carla")
        await salon.store.allow_user(house.plant.id, carla.id)
        await salon.quiet()
        assert [(heard.event, heard.data["data"]) for heard in listener.told] == [("people", {"plantId": house.plant.id})]


class TestOfOthersPlants:
    async def test_nothing_is_told(self, salon: Salon, house: House) -> None:
        carla = await salon.add_user("Carla")
        lamp = a_module(DeviceKind.LIGHT)
        hers = await salon.add_plant(carla, lamp)
        listener = await salon.listen(await salon.let_in(carla))
        await house.switch()
        await salon.report(hers, lamp)
        await salon.quiet()
        assert [heard.data["data"]["plantId"] for heard in listener.told] == [hers.id]

    async def test_nothing_is_even_looked_at(self, salon: Salon, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        carla = await salon.add_user("Carla")
        await salon.listen(await salon.let_in(carla))
        looked_at = []
        monkeypatch.setattr(salon.read_model, "find_plant", looked_at.append)
        await house.switch()
        await salon.quiet()
        assert looked_at == []


class TestFilters:
    async def test_by_plant(self, salon: Salon, house: House) -> None:
        lamp = a_module(DeviceKind.LIGHT)
        other = await salon.add_plant(house.anna, lamp)
        listener = await salon.listen(house.of_anna, EventFilter(plants=frozenset({other.id})))
        await house.switch()
        await salon.report(other, lamp)
        await salon.quiet()
        assert [heard.data["data"]["plantId"] for heard in listener.told] == [other.id]

    async def test_by_kind_and_a_module_that_turns_up_with_a_state_is_of_both(self, salon: Salon, house: House) -> None:
        states = await salon.listen(house.of_anna, EventFilter(kinds=frozenset({NoticeKind.STATE})))
        turns = await salon.listen(house.of_anna, EventFilter(kinds=frozenset({NoticeKind.REACHABILITY})))
        people = await salon.listen(house.of_anna, EventFilter(kinds=frozenset({NoticeKind.PEOPLE})))
        await house.switch()
        await salon.report(house.plant, house.lamp, reachable=False)
        await salon.quiet()
        assert [heard.event for heard in states.told] == ["state", "reachability"]
        assert [heard.event for heard in turns.told] == ["reachability"]
        assert people.told == []

    async def test_by_scope(self, salon: Salon, house: House) -> None:
        lights = await salon.listen(await salon.let_in(house.anna, [Scope.LIGHT_READ]))
        plugs = await salon.listen(await salon.let_in(house.anna, [Scope.PLUG_READ]))
        await salon.report(house.plant, house.lamp)
        await salon.report(house.plant, house.plug)
        await salon.quiet()
        assert [heard.data["data"]["moduleId"] for heard in lights.told] == [house.lamp.id]
        assert [heard.data["data"]["moduleId"] for heard in plugs.told] == [house.plug.id]

    async def test_that_no_scope_of_the_token_could_pass_are_refused(self, salon: Salon, house: House) -> None:
        caller = await salon.call(await salon.let_in(house.anna, [Scope.LIGHT_READ, "openid"]))
        with pytest.raises(ScopeMissing) as refused:
            await salon.hub.open(caller, EventFilter(kinds=frozenset({NoticeKind.SAFETY})))
        assert refused.value.scopes == (Scope.SAFETY_READ,)
        nothing = await salon.call(await salon.let_in(house.anna, ["openid"]))
        with pytest.raises(ScopeMissing):
            await salon.hub.open(nothing, EventFilter())

    async def test_by_a_plant_that_is_not_theirs_or_not_there_are_refused(self, salon: Salon, house: House) -> None:
        stranger = await salon.call(await salon.let_in(await salon.add_user("Carla")))
        with pytest.raises(NotYourPlant):
            await salon.hub.open(stranger, EventFilter(plants=frozenset({house.plant.id})))
        with pytest.raises(NoSuchPlant):
            await salon.hub.open(stranger, EventFilter(plants=frozenset({new_id()})))
        await salon.store.set_plant_status(house.plant.id, PlantStatus.REMOVED, salon.clock.now())
        with pytest.raises(NoSuchPlant):
            await salon.hub.open(await salon.call(house.of_anna), EventFilter(plants=frozenset({house.plant.id})))
        assert salon.hub.open_streams == 0


class TestThePresent:
    async def test_is_told_first_when_asked_for(self, salon: Salon, house: House) -> None:
        await house.switch()
        listener = await salon.listen(house.of_anna, EventFilter(present=True))
        *present, ready = listener.heard
        assert [heard.event for heard in present] == ["present", "present"]
        assert {heard.data["data"]["moduleId"] for heard in present} == {house.lamp.id, house.plug.id}
        assert {heard.id for heard in present} == {None}
        assert ready.event == "ready"
        lamp = next(heard.data for heard in present if heard.data["data"]["moduleId"] == house.lamp.id)
        assert lamp["type"] == "domogate.present"
        assert lamp["data"]["state"]["on"] is True

    async def test_has_the_shape_of_what_follows_it(self, salon: Salon, house: House) -> None:
        await house.switch()
        listener = await salon.listen(house.of_anna, EventFilter(present=True, kinds=frozenset({NoticeKind.STATE})))
        await house.switch()
        await salon.quiet()
        present = next(heard.data for heard in listener.heard if heard.data.get("data", {}).get("moduleId") == house.lamp.id)
        assert present.keys() == listener.told[0].data.keys()
        assert present["data"] == listener.told[0].data["data"]

    async def test_is_what_scopes_and_kinds_show(self, salon: Salon, house: House) -> None:
        lights = await salon.listen(await salon.let_in(house.anna, [Scope.LIGHT_READ]), EventFilter(present=True))
        assert [heard.data["data"]["moduleId"] for heard in lights.heard[:-1]] == [house.lamp.id]
        facts = await salon.listen(house.of_anna, EventFilter(present=True, kinds=frozenset({NoticeKind.PLANT})))
        assert [heard.event for heard in facts.heard] == ["ready"]

    async def test_of_many_modules_comes_in_pieces(self, salon: Salon) -> None:
        anna = await salon.add_user("Anna")
        await salon.add_plant(anna, *(a_module(DeviceKind.LIGHT) for _ in range(250)))
        listener = await salon.listen(await salon.let_in(anna), EventFilter(present=True))
        assert [heard.event for heard in listener.heard] == ["present"] * 250 + ["ready"]


class TestTheHub:
    async def test_serves_no_more_than_so_many(self) -> None:
        async with open_salon(most=2) as salon:
            house = await House(salon).build()
            first, _ = await salon.listen(house.of_anna), await salon.listen(house.of_bruno)
            with pytest.raises(Unavailable) as refused:
                await salon.listen(house.of_anna)
            assert refused.value.retry_after > 0
            first.stream.close()
            await until(lambda: first.ended, "the end")
            await salon.listen(house.of_anna)
            assert salon.hub.open_streams == 2

    async def test_forgets_a_listener_that_is_gone(self, salon: Salon, house: House) -> None:
        listener = await salon.listen(house.of_anna, EventFilter(plants=frozenset({house.plant.id})))
        await house.switch(3)
        await salon.quiet()
        listener.stream.close()
        await until(lambda: listener.ended, "the end")
        assert (salon.hub.open_streams, salon.hub.sent) == (0, 3)
        assert salon.hub._by_dependency == {}

    async def test_prints_an_event_once_for_all(self, salon: Salon, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        printed = []
        original = hubs.frame_notice
        monkeypatch.setattr(hubs, "frame_notice", lambda *args: printed.append(args) or original(*args))
        listeners = [await salon.listen(house.of_anna) for _ in range(5)]
        await house.switch()
        await salon.quiet()
        assert [len(listener.told) for listener in listeners] == [1] * 5
        assert len(printed) == 1

    async def test_would_rather_cut_off_than_leave_a_gap(
        self, salon: Salon, house: House, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        listener = await salon.listen(house.of_anna)

        def fail(*_: object) -> None:
            raise OSError("disk gone")

        with monkeypatch.context() as patch:
            patch.setattr(hubs, "find_notice", fail)
            await house.switch()
            await until(lambda: listener.ended, "the end")
        assert listener.end_code == "interrupted"
        again = await salon.listen(house.of_anna, last_event_id=listener.last_id)
        assert len(again.told) == 1

    async def test_ends_a_stream_whose_rights_cannot_be_asked_for(
        self, salon: Salon, house: House, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Not knowing is no right."""
        listener = await salon.listen(house.of_anna)

        async def fail(*_: object) -> None:
            raise OSError("disk gone")

        monkeypatch.setattr(salon.read_model, "get_person", fail)
        carla = await salon.add_user("Carla")
        await salon.store.allow_user(house.plant.id, carla.id)
        await until(lambda: listener.ended, "the end")
        assert (listener.end_code, listener.told) == ("interrupted", [])

    async def test_lets_others_have_their_turn_between_many_listeners(self, salon: Salon, house: House) -> None:
        turn, told_in = 0, list[int]()

        def note_turn(heard: Heard) -> None:
            if heard.event == "state":
                told_in.append(turn)

        async def count_turns() -> None:
            nonlocal turn
            while True:
                turn += 1
                await asyncio.sleep(0)

        listeners = [await salon.listen(house.of_anna, on_heard=note_turn) for _ in range(hubs.AT_ONCE * 3)]
        counting = asyncio.create_task(count_turns())
        await house.switch()
        await salon.quiet()
        counting.cancel()
        assert all(len(listener.told) == 1 for listener in listeners)
        assert told_in[-1] - told_in[0] >= 2


def data_lines(listener: Listener) -> list[bytes]:
    return [line for line in listener.raw.split(b"\n") if line.startswith(b"data: ")]


class TestTheBytes:
    async def test_are_one_line_of_json_an_event_whatever_people_call_things(self, salon: Salon) -> None:
        anna = await salon.add_user("Anna")
        lamp = msgspec.structs.replace(a_module(DeviceKind.LIGHT), name="a\r\nid: 5\n\nevent: end\u2028 'lamp'")
        plant = await salon.add_plant(anna, lamp)
        listener = await salon.listen(await salon.let_in(anna))
        await salon.report(plant, lamp)
        await salon.quiet()
        assert len(data_lines(listener)) == 2
        assert json.loads(data_lines(listener)[1][6:])["data"]["name"] == lamp.name
        assert listener.raw.count(b"\r") == 0
