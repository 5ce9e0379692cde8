"""The Python client listens to events of a real gateway, and continues after lost connections."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from domogate_client import AsyncClient, Client, Session, Tokens
from domogate_client._stream import EventStream, pause_after
from domogate_client.errors import NoAnswer, StreamEnded, UnexpectedAnswer
from domogate_client.events import EventParser, ModuleEvent, OtherEvent, PlantEvent, StreamItem, decode_event
from domogate_client.faults import KeyRefused, NoSuchPlant
from domogate_client.models.events import Ready, Reset
from domogate_client.models.homeauto import LightOrder
from domogate_client.models.states import LightState
from support.gateway import Gateway
from support.scripted_server import ScriptedServer, Step, scripted
from support.sdk_calls import ANNA, HOUSE, LAMP
from support.store_access import issue_key, revoke_key
from support.tcp_proxy import TcpProxy

SSE = {"content-type": "text/event-stream"}


def tokens_of(demo: Gateway) -> Tokens:
    anna = demo.people[ANNA]
    return Tokens(access_token=anna.access_token, id_token=anna.id_token)


def set_level(demo: Gateway, level: int) -> None:
    with Client(demo.base_url, demo.subscription_key, tokens=tokens_of(demo)) as client:
        client.homeauto.set_light(HOUSE, LAMP, LightOrder(status="on", level=level))


def level_of(item: StreamItem) -> int | None:
    is_lamp = isinstance(item, ModuleEvent) and item.data.module_id == LAMP and item.kind == "state"
    return (
        item.data.state.level if is_lamp and isinstance(item, ModuleEvent) and isinstance(item.data.state, LightState) else None
    )


async def next_level(stream: Any) -> int:
    """The level of the lamp in the next event about it."""
    async for item in stream:
        if (level := level_of(item)) is not None:
            return level
    raise AssertionError("the stream ended")


def frames(*events: tuple[str, str, Any]) -> Step:
    """A stream with these events: name, id, data."""
    lines = [
        f"{f'id: {number}' if number else ': none'}\nevent: {name}\ndata: {json.dumps(data)}\n\n"
        for name, number, data in events
    ]
    return Step(headers=SSE, body=("retry: 20\n" + "".join(lines)).encode())


@pytest.mark.slow
class TestRealStream:
    @pytest.fixture(autouse=True)
    def lamp_has_reported(self, demo: Gateway) -> None:
        """Plants start after the gateway is ready. After this command, the first report of the lamp is no new event."""
        set_level(demo, 10)

    def test_it_begins_with_the_present_states_and_goes_on_with_changes(self, demo: Gateway) -> None:
        with (
            Client(demo.base_url, demo.subscription_key, tokens=tokens_of(demo)) as client,
            client.events.listen(plant=[HOUSE], kind=["state"], present=True) as stream,
        ):
            for item in stream:
                if isinstance(item, Ready):
                    assert stream.cursor == str(item.cursor)
                    break
                assert isinstance(item, ModuleEvent)
                assert item.kind == "present"
            set_level(demo, 11)
            assert next(level for item in stream if (level := level_of(item)) is not None) == 11

    async def test_it_continues_after_lost_connections_without_losing_an_event(self, demo: Gateway) -> None:
        proxy = TcpProxy(int(demo.base_url.rpartition(":")[2]))
        await proxy.start()
        async with (
            AsyncClient(f"http://127.0.0.1:{proxy.port}", demo.subscription_key, tokens=tokens_of(demo)) as client,
            client.events.listen(plant=[HOUSE], kind=["state"]) as stream,
        ):
            assert isinstance(await anext(stream), Ready)
            for level in (21, 22, 23):
                proxy.drop()
                await asyncio.to_thread(set_level, demo, level)
                assert await next_level(stream) == level
        await proxy.stop()

    async def test_a_new_process_continues_at_the_stored_cursor(self, demo: Gateway) -> None:
        async with AsyncClient(demo.base_url, demo.subscription_key, tokens=tokens_of(demo)) as client:
            async with client.events.listen(plant=[HOUSE], kind=["state"]) as stream:
                assert isinstance(await anext(stream), Ready)
                cursor = stream.cursor
            await asyncio.to_thread(set_level, demo, 31)
            async with client.events.listen(plant=[HOUSE], kind=["state"], cursor=cursor) as stream:
                assert await next_level(stream) == 31

    def test_a_refused_stream_is_an_error_with_its_fault(self, demo: Gateway) -> None:
        with Client(demo.base_url, demo.subscription_key, tokens=tokens_of(demo)) as client, pytest.raises(NoSuchPlant):
            next(client.events.listen(plant=["00000000-0000-4000-8000-000000000000"]))
        with Client(demo.base_url, "wrong", tokens=tokens_of(demo)) as client, pytest.raises(KeyRefused):
            next(client.events.listen())

    def test_the_end_of_a_key_ends_the_stream(self, demo: Gateway) -> None:
        key = issue_key(demo)
        with Client(demo.base_url, key, tokens=tokens_of(demo)) as client, client.events.listen(kind=["people"]) as stream:
            assert isinstance(next(stream), Ready)
            revoke_key(demo, key)
            with pytest.raises(StreamEnded) as raised:
                next(stream)
        assert raised.value.code == "key"


EVENT = {"id": "2", "source": "s", "type": "domogate.plant", "subject": "s", "time": "t", "data": {"plantId": HOUSE}}
READY, PLANT = ("ready", "1", {"cursor": 1}), ("plant", "2", EVENT)


@contextmanager
def listening(*steps: Step, cursor: str | None = None, **settings: Any) -> Iterator[tuple[ScriptedServer, EventStream]]:
    """A server that answers as the test says, and a stream of it."""
    chosen = settings or {"tokens": Tokens(access_token="a")}
    with (
        scripted(*steps) as server,
        Client(server.url, "key", **chosen) as client,
        client.events.listen(cursor=cursor) as stream,
    ):
        yield server, stream


class TestWhatTheStreamSays:
    @pytest.mark.parametrize("code", ["draining", "slow", "interrupted"])
    def test_it_connects_again_with_the_last_id(self, code: str) -> None:
        with listening(frames(READY, PLANT, ("end", "", {"code": code, "detail": "x"})), frames(READY)) as (server, stream):
            assert [type(next(stream)) for _ in range(3)] == [Ready, PlantEvent, Ready]
        first, second, *_ = server.got
        assert "last-event-id" not in first.headers
        assert second.headers["last-event-id"] == "2"

    @pytest.mark.parametrize("code", ["plant", "password", "terms", "token"])
    def test_it_does_not_connect_again_if_something_must_change_first(self, code: str) -> None:
        with listening(frames(("end", "", {"code": code, "detail": "why"}))) as (server, stream):
            with pytest.raises(StreamEnded, match="why"):
                next(stream)
            assert len(server.got) == 1

    def test_an_expired_token_is_refreshed(self) -> None:
        fresh = Step(body=b'{"access_token":"new","refresh_token":"r2","expires_in":3600}')
        ended = frames(("end", "", {"code": "token", "detail": "x"}))
        session = Session("app", tokens=Tokens(access_token="old", refresh_token="r1"))
        with listening(ended, fresh, frames(READY), session=session) as (server, stream):
            assert isinstance(next(stream), Ready)
        assert [request.headers.get("authorization") for request in server.got[:3]] == ["Bearer old", None, "Bearer new"]

    def test_a_refresh_without_an_answer_does_not_end_the_stream(self) -> None:
        fresh = Step(body=b'{"access_token":"new","refresh_token":"r2","expires_in":3600}')
        ended = frames(("end", "", {"code": "token", "detail": "x"}))
        session = Session("app", tokens=Tokens(access_token="old", refresh_token="r1"))
        lost = Step(drop=True)
        with listening(ended, lost, lost, lost, fresh, frames(READY), session=session) as (server, stream):
            assert isinstance(next(stream), Ready)
        assert server.got[5].headers["authorization"] == "Bearer new"

    def test_missed_events_are_told(self) -> None:
        with listening(frames(("reset", "", {"code": "too old", "detail": "x"}), READY), cursor="1") as (_, stream):
            assert isinstance(next(stream), Reset)
            assert stream.cursor == "1"

    def test_it_waits_for_a_gateway_that_is_busy(self) -> None:
        with listening(Step(503, {"retry-after": "0"}, b"{}"), Step(drop=True), frames(READY)) as (server, stream):
            assert isinstance(next(stream), Ready)
            assert len(server.got) == 3

    def test_it_waits_as_long_as_retry_after_says(self) -> None:
        with listening(Step(429, {"retry-after": "3"}, b"{}"), frames(READY)) as (server, stream):
            assert isinstance(next(stream), Ready)
        first, second, *_ = server.got
        assert second.at - first.at >= 3

    def test_its_pauses_stay_bounded_after_very_many_failures(self) -> None:
        pauses = [pause_after(5000, 2.0, 0.0) for _ in range(100)]
        assert 15.0 <= min(pauses) <= max(pauses) <= 30.0

    def test_it_gives_up_after_the_time_of_the_client(self) -> None:
        settings: dict[str, Any] = {"tokens": Tokens(access_token="a"), "reconnect_for": 0.5}
        with listening(Step(drop=True), **settings) as (_, stream), pytest.raises(NoAnswer):
            next(stream)

    def test_a_kind_of_a_newer_gateway_is_given_as_it_is(self) -> None:
        new = {**EVENT, "type": "domogate.weather", "data": {"rain": True}}
        event = decode_event(json.dumps(new).encode())
        assert isinstance(event, OtherEvent)
        assert event.kind == "weather"
        assert event.data == {"rain": True}


class TestParser:
    TEXT = b"retry: 2000\r\nid: 7\r\nevent: state\r\ndata: {\r\ndata: }\r\n\r\n:\n\nevent: end\ndata: x\n\ndata: unfinished"

    @pytest.mark.parametrize("size", [1, 2, 3, 1000])
    def test_events_in_chunks_of_any_size(self, size: int) -> None:
        parser = EventParser()
        chunks = [self.TEXT[place : place + size] for place in range(0, len(self.TEXT), size)]
        found = [message for chunk in chunks for message in parser.feed(chunk)]
        assert [(one.event, one.data, one.id) for one in found] == [("state", b"{\n}", "7"), ("end", b"x", None)]
        assert parser.retry == 2.0

    def test_an_endless_event_is_refused(self) -> None:
        parser = EventParser()
        for _ in range(4):
            assert parser.feed(b"x" * 1_000_000) == []
        with pytest.raises(UnexpectedAnswer):
            parser.feed(b"x")
