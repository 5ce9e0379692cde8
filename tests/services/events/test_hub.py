"""Which events a stream gives out."""

import asyncio
import dataclasses
import gc
import json
import weakref
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.faults import NoSuchPlant, NotYourPlant, ScopeMissing
from domogate.domain.ids import new_id
from domogate.domain.notices import NoticeKind
from domogate.domain.people import HOME_SCOPE, Scope, TokenKind
from domogate.domain.plants import PlantStatus
from domogate.domain.states import LockState, Report
from domogate.services.events import distribution, frames
from domogate.services.events.filters import EventFilter
from domogate.services.events.hub import TooManyStreams, Unavailable
from support.stream_setup import SOURCE, Listener, ReceivedEvent, SharedHome, StreamSetup, a_module, open_stream_setup, until


class TestAStreamThatIsNew:
    async def test_first_says_where_it_begins_and_how_soon_to_come_again(self, setup: StreamSetup, home: SharedHome) -> None:
        await home.switch()
        listener = await setup.listen(home.of_anna)
        newest = await setup.store.newest_cursor()
        assert listener.raw == b'retry: 2000\nid: %d\nevent: ready\ndata: {"cursor":%d}\n\n' % (newest, newest)

    async def test_tells_what_is_committed_from_then_on(self, setup: StreamSetup, home: SharedHome) -> None:
        listener = await setup.listen(home.of_anna)
        await home.switch()
        await setup.quiet()
        [received] = listener.notices
        assert received.event == "state"
        assert received.id == await setup.store.newest_cursor()
        assert received.data["type"] == "domogate.state"
        assert received.data["id"] == str(received.id)
        assert received.data["source"] == SOURCE
        assert received.data["data"]["moduleId"] == home.lamp.id
        assert received.data["data"]["state"]["on"] is True

    async def test_takes_both_kinds_of_token(self, setup: StreamSetup, home: SharedHome) -> None:
        for kind in TokenKind:
            listener = await setup.listen(await setup.grant_access(home.anna, kind=kind))
            await home.switch()
            await setup.quiet()
            assert len(listener.notices) == 1

    async def test_tells_each_module_in_order_and_nothing_twice(self, setup: StreamSetup, home: SharedHome) -> None:
        listeners = [await setup.listen(home.of_anna) for _ in range(3)]
        await asyncio.gather(*(home.switch(20) for _ in range(3)))
        await setup.quiet()
        for listener in listeners:
            assert len(listener.ids) == 60
            assert listener.ids == sorted(set(listener.ids))

    async def test_says_nothing_of_what_no_operation_shows(self, setup: StreamSetup, home: SharedHome) -> None:
        listener = await setup.listen(home.of_anna)
        await setup.store.record([Report(home.plant.id, home.lock.id, setup.clock.now(), LockState(locked=True))])
        await setup.add_user("Somebody")
        await setup.quiet()
        assert listener.notices == []

    async def test_tells_that_a_module_went_away_and_came_back(self, setup: StreamSetup, home: SharedHome) -> None:
        listener = await setup.listen(home.of_anna)
        await setup.report(home.plant, home.lamp, reachable=False)
        await setup.report(home.plant, home.lamp)
        await setup.quiet()
        assert [(received.event, received.data["data"]["reachable"]) for received in listener.notices] == [
            ("reachability", False),
            ("reachability", True),
        ]

    async def test_tells_that_people_changed(self, setup: StreamSetup, home: SharedHome) -> None:
        listener, carla = await setup.listen(home.of_anna), await setup.add_user("Carla")
        await setup.store.allow_user(home.plant.id, carla.id)
        await setup.quiet()
        assert [(received.event, received.data["data"]) for received in listener.notices] == [
            ("people", {"plantId": home.plant.id})
        ]


class TestOfOthersPlants:
    async def test_nothing_is_told(self, setup: StreamSetup, home: SharedHome) -> None:
        carla = await setup.add_user("Carla")
        lamp = a_module(DeviceKind.LIGHT)
        hers = await setup.add_plant(carla, lamp)
        listener = await setup.listen(await setup.grant_access(carla))
        await home.switch()
        await setup.report(hers, lamp)
        await setup.quiet()
        assert [received.data["data"]["plantId"] for received in listener.notices] == [hers.id]

    async def test_nothing_is_even_looked_at(
        self, setup: StreamSetup, home: SharedHome, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        carla = await setup.add_user("Carla")
        await setup.listen(await setup.grant_access(carla))
        looked_at: list[object] = []
        monkeypatch.setattr(setup.read_model, "find_plant", looked_at.append)
        await home.switch()
        await setup.quiet()
        assert looked_at == []


class TestFilters:
    async def test_by_plant(self, setup: StreamSetup, home: SharedHome) -> None:
        lamp = a_module(DeviceKind.LIGHT)
        other = await setup.add_plant(home.anna, lamp)
        listener = await setup.listen(home.of_anna, EventFilter(plants=frozenset({other.id})))
        await home.switch()
        await setup.report(other, lamp)
        await setup.quiet()
        assert [received.data["data"]["plantId"] for received in listener.notices] == [other.id]

    async def test_by_kind_and_a_module_that_turns_up_with_a_state_is_of_both(
        self, setup: StreamSetup, home: SharedHome
    ) -> None:
        states = await setup.listen(home.of_anna, EventFilter(kinds=frozenset({NoticeKind.STATE})))
        turns = await setup.listen(home.of_anna, EventFilter(kinds=frozenset({NoticeKind.REACHABILITY})))
        people = await setup.listen(home.of_anna, EventFilter(kinds=frozenset({NoticeKind.PEOPLE})))
        await home.switch()
        await setup.report(home.plant, home.lamp, reachable=False)
        await setup.quiet()
        assert [received.event for received in states.notices] == ["state", "reachability"]
        assert [received.event for received in turns.notices] == ["reachability"]
        assert people.notices == []

    async def test_by_scope(self, setup: StreamSetup, home: SharedHome) -> None:
        lights = await setup.listen(await setup.grant_access(home.anna, [Scope.LIGHT_READ]))
        plugs = await setup.listen(await setup.grant_access(home.anna, [Scope.PLUG_READ]))
        await setup.report(home.plant, home.lamp)
        await setup.report(home.plant, home.plug)
        await setup.quiet()
        assert [received.data["data"]["moduleId"] for received in lights.notices] == [home.lamp.id]
        assert [received.data["data"]["moduleId"] for received in plugs.notices] == [home.plug.id]

    async def test_that_no_scope_of_the_token_could_pass_are_refused(self, setup: StreamSetup, home: SharedHome) -> None:
        caller = await setup.call(await setup.grant_access(home.anna, [Scope.LIGHT_READ, "openid"]))
        with pytest.raises(ScopeMissing) as refused:
            await setup.hub.open(caller, EventFilter(kinds=frozenset({NoticeKind.SAFETY})))
        assert refused.value.scopes == (HOME_SCOPE, Scope.SAFETY_READ)
        nothing = await setup.call(await setup.grant_access(home.anna, ["openid"]))
        with pytest.raises(ScopeMissing):
            await setup.hub.open(nothing, EventFilter())

    async def test_by_a_plant_that_is_not_theirs_or_not_there_are_refused(self, setup: StreamSetup, home: SharedHome) -> None:
        stranger = await setup.call(await setup.grant_access(await setup.add_user("Carla")))
        with pytest.raises(NotYourPlant):
            await setup.hub.open(stranger, EventFilter(plants=frozenset({home.plant.id})))
        with pytest.raises(NoSuchPlant):
            await setup.hub.open(stranger, EventFilter(plants=frozenset({new_id()})))
        await setup.store.set_plant_status(home.plant.id, PlantStatus.REMOVED, setup.clock.now())
        with pytest.raises(NoSuchPlant):
            await setup.hub.open(await setup.call(home.of_anna), EventFilter(plants=frozenset({home.plant.id})))
        assert setup.hub.open_streams == 0


class TestThePresent:
    async def test_is_told_first_when_asked_for(self, setup: StreamSetup, home: SharedHome) -> None:
        await home.switch()
        listener = await setup.listen(home.of_anna, EventFilter(present=True))
        *present, ready = listener.received
        assert [received.event for received in present] == ["present", "present"]
        assert {received.data["data"]["moduleId"] for received in present} == {home.lamp.id, home.plug.id}
        assert {received.id for received in present} == {None}
        assert ready.event == "ready"
        lamp = next(received.data for received in present if received.data["data"]["moduleId"] == home.lamp.id)
        assert lamp["type"] == "domogate.present"
        assert lamp["data"]["state"]["on"] is True

    async def test_has_the_shape_of_what_follows_it(self, setup: StreamSetup, home: SharedHome) -> None:
        await home.switch()
        listener = await setup.listen(home.of_anna, EventFilter(present=True, kinds=frozenset({NoticeKind.STATE})))
        await home.switch()
        await setup.quiet()
        present = next(
            received.data for received in listener.received if received.data.get("data", {}).get("moduleId") == home.lamp.id
        )
        assert present.keys() == listener.notices[0].data.keys()
        assert present["data"] == listener.notices[0].data["data"]

    async def test_is_what_scopes_and_kinds_show(self, setup: StreamSetup, home: SharedHome) -> None:
        lights = await setup.listen(await setup.grant_access(home.anna, [Scope.LIGHT_READ]), EventFilter(present=True))
        assert [received.data["data"]["moduleId"] for received in lights.received[:-1]] == [home.lamp.id]
        facts = await setup.listen(home.of_anna, EventFilter(present=True, kinds=frozenset({NoticeKind.PLANT})))
        assert [received.event for received in facts.received] == ["ready"]

    async def test_of_many_modules_comes_in_pieces(self, setup: StreamSetup) -> None:
        anna = await setup.add_user("Anna")
        await setup.add_plant(anna, *(a_module(DeviceKind.LIGHT) for _ in range(250)))
        listener = await setup.listen(await setup.grant_access(anna), EventFilter(present=True))
        assert [received.event for received in listener.received] == ["present"] * 250 + ["ready"]


class TestTheHub:
    async def test_serves_no_more_than_so_many(self) -> None:
        async with open_stream_setup(most=2) as setup:
            home = await SharedHome(setup).build()
            first, _ = await setup.listen(home.of_anna), await setup.listen(home.of_bruno)
            with pytest.raises(Unavailable) as refused:
                await setup.listen(home.of_anna)
            assert refused.value.retry_after > 0
            first.stream.close()
            await until(lambda: first.ended, "the end")
            await setup.listen(home.of_anna)
            assert setup.hub.open_streams == 2

    @pytest.mark.parametrize("bound", ["most_per_user", "most_per_key"])
    async def test_gives_one_user_or_key_only_its_share(self, bound: str) -> None:
        bounds: dict[str, Any] = {bound: 2}
        async with open_stream_setup(**bounds) as setup:
            home = await SharedHome(setup).build()
            # With the key of Anna, so that the users or the keys differ.
            shared = dataclasses.replace(home.of_bruno, key=home.of_anna.key)
            again = await setup.grant_access(home.anna) if bound == "most_per_user" else shared
            first, _ = await setup.listen(home.of_anna), await setup.listen(again)
            with pytest.raises(TooManyStreams) as refused:
                await setup.listen(again)
            assert refused.value.retry_after > 0
            await setup.listen(home.of_bruno)
            first.stream.close()
            await until(lambda: first.ended, "the end")
            await setup.listen(again)

    async def test_gives_nobody_more_than_half_of_the_streams(self) -> None:
        async with open_stream_setup(most=4) as setup:
            home = await SharedHome(setup).build()
            for _ in range(2):
                await setup.listen(home.of_anna)
            with pytest.raises(TooManyStreams):
                await setup.listen(home.of_anna)
            await setup.listen(home.of_bruno)

    async def test_forgets_a_listener_that_is_gone(self, setup: StreamSetup, home: SharedHome) -> None:
        listener = await setup.listen(home.of_anna, EventFilter(plants=frozenset({home.plant.id})))
        await home.switch(3)
        await setup.quiet()
        listener.stream.close()
        await until(lambda: setup.listeners[0].ended, "the end")
        assert (setup.hub.open_streams, setup.hub.sent) == (0, 3)
        stream = weakref.ref(listener.stream)
        setup.listeners.clear()
        del listener
        gc.collect()
        assert stream() is None

    async def test_prints_an_event_once_for_all(
        self, setup: StreamSetup, home: SharedHome, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        frame = Mock(side_effect=frames.frame_notice)
        monkeypatch.setattr(distribution, "frame_notice", frame)
        listeners = [await setup.listen(home.of_anna) for _ in range(5)]
        await home.switch()
        await setup.quiet()
        assert [len(listener.notices) for listener in listeners] == [1] * 5
        assert frame.call_count == 1

    async def test_would_rather_cut_off_than_leave_a_gap(
        self, setup: StreamSetup, home: SharedHome, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        listener = await setup.listen(home.of_anna)

        def fail(*_: object) -> None:
            raise OSError("disk gone")

        with monkeypatch.context() as patch:
            patch.setattr(distribution, "find_notice", fail)
            await home.switch()
            await until(lambda: listener.ended, "the end")
        assert listener.end_code == "interrupted"
        again = await setup.listen(home.of_anna, last_event_id=listener.last_id)
        assert len(again.notices) == 1

    async def test_ends_a_stream_whose_rights_cannot_be_asked_for(
        self, setup: StreamSetup, home: SharedHome, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A right that cannot be checked counts as missing."""
        listener = await setup.listen(home.of_anna)

        async def fail(*_: object) -> None:
            raise OSError("disk gone")

        monkeypatch.setattr(setup.read_model, "get_person", fail)
        carla = await setup.add_user("Carla")
        await setup.store.allow_user(home.plant.id, carla.id)
        await until(lambda: listener.ended, "the end")
        assert (listener.end_code, listener.notices) == ("interrupted", [])

    async def test_lets_others_have_their_turn_between_many_listeners(self, setup: StreamSetup, home: SharedHome) -> None:
        turn, turns = 0, list[int]()

        def note_turn(received: ReceivedEvent) -> None:
            if received.event == "state":
                turns.append(turn)

        async def count_turns() -> None:
            nonlocal turn
            while True:
                turn += 1
                await asyncio.sleep(0)

        listeners = [await setup.listen(home.of_anna, on_event=note_turn) for _ in range(distribution.BUSY.writes * 3)]
        counting = asyncio.create_task(count_turns())
        await home.switch()
        await setup.quiet()
        counting.cancel()
        assert all(len(listener.notices) == 1 for listener in listeners)
        assert turns[-1] - turns[0] >= 2


def data_lines(listener: Listener) -> list[bytes]:
    return [line for line in listener.raw.split(b"\n") if line.startswith(b"data: ")]


class TestTheBytes:
    async def test_are_one_line_of_json_an_event_whatever_people_call_things(self, setup: StreamSetup) -> None:
        anna = await setup.add_user("Anna")
        lamp = msgspec.structs.replace(a_module(DeviceKind.LIGHT), name="a\r\nid: 5\n\nevent: end\u2028 'lamp'")
        plant = await setup.add_plant(anna, lamp)
        listener = await setup.listen(await setup.grant_access(anna))
        await setup.report(plant, lamp)
        await setup.quiet()
        assert len(data_lines(listener)) == 2
        assert json.loads(data_lines(listener)[1][6:])["data"]["name"] == lamp.name
        assert listener.raw.count(b"\r") == 0
