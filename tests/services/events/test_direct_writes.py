"""Events are written to a connection without a task of the stream (Decisions 0044 and 0145)."""

import asyncio
from typing import Any

import pytest

from domogate.domain.events import Change, ChangesLost, GrantRevoked
from domogate.domain.faults import TokenRefused
from domogate.domain.states import LightState, Report
from domogate.services.events import distribution
from domogate.services.events.write_pace import WritePace
from support.stream_setup import Listener, ReceivedEvent, SharedHome, StreamSetup, open_stream_setup, parse_frames, until


async def _commit_together(home: SharedHome, times: int) -> None:
    """Write several reports of the lamp with one commit, so that the hub gets their changes at the same time."""
    now = home.setup.clock.now()
    reports = [Report(home.plant.id, home.lamp.id, now, LightState(on=number % 2 == 0)) for number in range(times)]
    await home.setup.store.record(reports)


def _count_events_of_writes(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of events of each write."""
    counts: list[int] = []
    write_now = Listener.write_now

    def count(self: Listener, frame: bytes) -> bool:
        if self is listener:
            counts.append(len(parse_frames(frame.decode())))
        return write_now(self, frame)

    monkeypatch.setattr(Listener, "write_now", count)
    return counts


async def test_the_hub_writes_an_event_unless_earlier_events_wait(setup: StreamSetup, home: SharedHome) -> None:
    writers: list[str] = []

    def note_writer(received: ReceivedEvent) -> None:
        task = asyncio.current_task()
        writers.append("hub" if task is not None and task.get_name() == "event streams" else "stream")

    listener = await setup.listen(home.of_anna, on_event=note_writer)
    await setup.quiet()
    writers.clear()
    await home.switch(2)
    await setup.quiet()
    assert writers == ["hub", "hub"]
    listener.reading.clear()
    await home.switch(2)
    await until(lambda: listener.stream.waiting == 2, "two events to wait")
    listener.reading.set()
    await home.switch(2)
    await setup.quiet()
    assert writers[2:4] == ["stream", "stream"]
    assert listener.ids == sorted(set(listener.ids))
    assert len(listener.ids) == 6


async def test_events_that_wait_for_one_stream_are_written_together(
    setup: StreamSetup, home: SharedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = await setup.listen(home.of_anna)
    await setup.quiet()
    counts = _count_events_of_writes(listener, monkeypatch)
    await _commit_together(home, 2)
    await setup.quiet()
    assert counts == [2]
    assert len(listener.ids) == 2
    assert listener.ids == sorted(listener.ids)
    assert setup.hub.sent == 2


def _stop_writes(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let the hub write nothing, as after many writes, until the returned event is set."""
    allowed = asyncio.Event()
    monkeypatch.setattr(WritePace, "may_write", lambda *_: allowed.is_set())
    return allowed


async def _wait_for_waiting(number: int, *listeners: Listener) -> None:
    """Wait until this number of events waits for each of the listeners."""
    await until(lambda: all(one.stream.waiting == number for one in listeners), f"{number} events to wait")


async def test_events_that_come_while_the_hub_rests_are_written_together_in_order(
    setup: StreamSetup, home: SharedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = await setup.listen(home.of_anna)
    await setup.quiet()
    counts = _count_events_of_writes(listener, monkeypatch)
    allowed = _stop_writes(monkeypatch)
    for number in range(1, 6):
        await home.switch()
        await _wait_for_waiting(number, listener)
        assert not setup.hub.idle
    assert counts == []
    allowed.set()
    await setup.quiet()
    assert counts == [5]
    assert len(listener.ids) == 5
    assert listener.ids == sorted(listener.ids)


async def test_a_plant_with_many_events_is_written_also_while_the_hub_rests(
    setup: StreamSetup, home: SharedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = await setup.listen(home.of_anna)
    await setup.quiet()
    counts = _count_events_of_writes(listener, monkeypatch)
    allowed = _stop_writes(monkeypatch)
    await _commit_together(home, distribution.MOST_TOGETHER + 1)
    await _wait_for_waiting(1, listener)
    assert counts == [distribution.MOST_TOGETHER]
    allowed.set()
    await setup.quiet()
    assert counts == [distribution.MOST_TOGETHER, 1]


async def test_streams_that_end_or_close_while_the_hub_rests_get_none_of_the_waiting_events(
    setup: StreamSetup, home: SharedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    revoked, left, stays = await setup.listen(home.of_bruno), await setup.listen(home.of_anna), await setup.listen(home.of_anna)
    await setup.quiet()
    allowed = _stop_writes(monkeypatch)
    await home.switch()
    await _wait_for_waiting(1, revoked, left, stays)
    await setup.store.revoke_grant(home.of_bruno.grant.id, setup.clock.now())
    left.stream.close()
    await until(lambda: revoked.ended and left.ended, "the end of two streams")
    assert setup.hub.open_streams == 1
    allowed.set()
    await setup.quiet()
    assert (len(revoked.notices), revoked.end_code) == (0, "token")
    assert (len(left.notices), len(stays.notices)) == (0, 1)
    assert revoked.stream.waiting == left.stream.waiting == 0


async def test_a_client_that_does_not_read_gets_its_waiting_events_later(
    setup: StreamSetup, home: SharedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = await setup.listen(home.of_anna)
    await setup.quiet()
    allowed = _stop_writes(monkeypatch)
    await home.switch(3)
    await _wait_for_waiting(3, listener)
    listener.reading.clear()
    allowed.set()
    await until(lambda: setup.hub.idle, "the hub to write")
    assert listener.stream.waiting == 3
    listener.reading.set()
    await setup.quiet()
    assert len(listener.ids) == 3
    assert listener.ids == sorted(listener.ids)


async def test_many_events_at_once_do_not_end_the_stream_of_a_client_that_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events that wait for the hub do not count as events that the client has not read."""
    monkeypatch.setattr(distribution, "MOST_TOGETHER", 4)
    monkeypatch.setattr(distribution, "QUIET", distribution.BUSY)
    async with open_stream_setup(queue_events=4) as setup:
        home = await SharedHome(setup).build()
        listener = await setup.listen(home.of_anna)
        await setup.quiet()
        counts = _count_events_of_writes(listener, monkeypatch)
        await _commit_together(home, 13)
        await setup.quiet()
        assert not listener.ended
        assert len(listener.ids) == sum(counts) == 13
        assert max(counts) == 4
        assert listener.ids == sorted(listener.ids)


async def test_a_stream_that_ends_keeps_no_events_for_a_client_that_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_stream_setup(queue_events=2) as setup:
        home = await SharedHome(setup).build()
        listener = await setup.listen(home.of_anna)
        await setup.quiet()
        counts = _count_events_of_writes(listener, monkeypatch)
        listener.reading.clear()
        await _commit_together(home, 5)
        await until(lambda: bool(counts) and setup.hub.idle, "the hub to write all events")
        assert listener.stream.waiting == 0
        listener.reading.set()
        await until(lambda: listener.ended, "the stream to end")


async def test_a_revoked_token_gets_none_of_the_events_that_wait_for_the_hub(
    setup: StreamSetup, home: SharedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token is revoked while the hub writes the event to the first connection."""
    bruno = home.of_bruno

    def refuse(*_: Any) -> Any:
        raise TokenRefused("revoked")

    def revoke(received: ReceivedEvent) -> None:
        if received.event == "state":
            monkeypatch.setattr(setup.verifier, "find_verified", refuse)
            setup.hub.apply([Change(received.id or 0, setup.clock.now(), GrantRevoked(bruno.grant.id))])

    first = await setup.listen(bruno, on_event=revoke)
    others = [await setup.listen(bruno) for _ in range(2 * distribution.BUSY.writes)]
    await setup.quiet()
    await home.switch()
    await until(lambda: all(listener.ended for listener in (first, *others)), "the end")
    assert len(first.notices) == 1
    assert {(len(listener.notices), listener.end_code) for listener in others} == {(0, "token")}


async def test_no_later_event_is_missing_after_changes_were_lost_while_the_hub_distributes(
    setup: StreamSetup, home: SharedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = await setup.listen(home.of_anna)
    find_plant, newest = setup.read_model.find_plant, await setup.store.newest_cursor()

    def lose_changes(plant_id: Any) -> Any:
        setup.hub.apply([Change(newest + 1, setup.clock.now(), ChangesLost())])
        return find_plant(plant_id)

    with monkeypatch.context() as patch:
        patch.setattr(setup.read_model, "find_plant", lose_changes)
        await home.switch()
        await until(lambda: listener.ended, "the end")
    assert listener.end_code == "interrupted"
    again = await setup.listen(home.of_anna)
    await home.switch()
    await until(lambda: len(again.notices) >= 1, "an event")
