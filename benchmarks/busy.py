"""E8 while 32 clients command, a thousand listeners get events and people log in, compared with E8 alone."""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.delays import compare_busy
from benchmarks.estates import plant_id
from benchmarks.load import request, run_in_background, run_load
from benchmarks.scenarios import Row, Scenario, plugs_path
from benchmarks.servers import Running, fill, running
from domogate.domain.people import TokenKind
from support.listener_pool import allow_files, listener_pool

_PLANTS, _LISTENERS = 100, 1_000
_CLIENTS, _PEOPLE = 32, 20
_PAUSE = 0.1
"""The mean number of seconds between an answer and the next command of the same client."""


async def everything() -> AsyncIterator[Row]:
    allow_files(2 * _LISTENERS)
    with TemporaryDirectory() as folder:
        await fill(Path(folder), plants=_PLANTS, modules=100)
        most = {"streams_most_per_user": _LISTENERS, "connections_most_per_address": 2 * _LISTENERS}
        with running("gateway", data=folder, first=True, **most) as gateway:
            yield await compare_busy(
                f"p99 of E8 while {_CLIENTS} clients command, {_LISTENERS:,} listeners get events and {_PEOPLE} people log in"
                " / alone",
                gateway,
                _PEOPLE,
                lambda: _commanding_and_listening(gateway),
            )


@contextmanager
def _commanding_and_listening(gateway: Running) -> Iterator[None]:
    headers = gateway.headers(TokenKind.ACCESS)
    orders = [
        request("POST", plugs_path(plant, room), headers, b'{"status":"%s"}' % status)
        for status in (b"on", b"off")
        for room in range(10)
        for plant in range(_PLANTS)
    ]
    commanding = multiprocessing.get_context("spawn").Process(
        target=_command, args=(gateway.port, gateway.pid, orders), daemon=True
    )
    plants = [plant_id(number) for number in range(_PLANTS)]
    with listener_pool(gateway.port, gateway.headers(), plants, _LISTENERS):
        commanding.start()
        try:
            yield
        finally:
            commanding.terminate()
            commanding.join(10)


def _command(port: int, pid: int, orders: Sequence[bytes]) -> None:
    """Command until the process is ended."""
    run_in_background()
    asyncio.run(run_load(port, pid, orders, total=_CLIENTS * 1_000_000, connections=_CLIENTS, pause=_PAUSE))


BUSY: dict[str, Scenario] = {"busy": everything}
