"""A connection that has ended is freed at once. Otherwise what strangers sent stays until the next garbage collection."""

import asyncio
import gc
from collections.abc import Iterator
from typing import Any

import pytest

from domogate.edge.protocol import GuardedProtocol
from support.edge_server import raw_connection, serving

pytestmark = pytest.mark.slow

GET = b"GET /x HTTP/1.1\r\nHost: gateway\r\n\r\n"


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def flood(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(10_000):
        await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})


@pytest.fixture
def without_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def open_connections() -> int:
    return sum(type(one) is GuardedProtocol for one in gc.get_objects())


@pytest.mark.usefixtures("without_collection")
class TestAnEndedConnection:
    on_both_loops = True

    @pytest.mark.parametrize(
        "sent", [b"", b"GET /", GET, GET * 500, b"nonsense\r\n\r\n"], ids=["", "half", "one", "ahead", "bad"]
    )
    @pytest.mark.parametrize("app", [answer, flood])
    async def test_is_freed_without_a_collection(self, sent: bytes, app: Any) -> None:
        async with serving(app) as bound:
            for _ in range(3):
                async with raw_connection(bound.port) as connection:
                    await connection.send(sent)
                    await asyncio.sleep(0.05)
            for _ in range(100):
                if not open_connections():
                    return
                await asyncio.sleep(0.02)
            raise AssertionError(f"{open_connections()} connections are still in memory")
