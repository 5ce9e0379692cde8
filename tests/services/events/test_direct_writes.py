"""An event is written to a connection without a task of the stream (Decision 0044)."""

import asyncio

from support.stream_setup import ReceivedEvent, SharedHome, StreamSetup, until


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
