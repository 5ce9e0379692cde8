"""The CPU time that the Python client adds to a call with httpx: for the same read, on the same connection."""

import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from benchmarks.estates import KEY, module_id, plant_id
from benchmarks.scenarios import SETTLE, Row, Scenario, at_most, light_path
from benchmarks.servers import Running, fill, running
from domogate.domain.devices import DeviceKind
from domogate_client import AsyncClient, Client, Tokens

_ROUNDS, _CALLS = 15, 60
_MICROSECONDS = 1e6
_MOST = 60.0


async def client() -> AsyncIterator[Row]:
    """The median of the differences between a round with the client and the round with httpx beside it."""
    with TemporaryDirectory() as folder:
        await fill(Path(folder), plants=1, modules=100)
        with running("gateway", data=folder) as gateway:
            time.sleep(SETTLE)
            yield _row("Client", _compare_blocking(gateway))
            yield _row("AsyncClient", await _compare_awaiting(gateway))


def _row(name: str, pairs: list[tuple[float, float]]) -> Row:
    ours, plain = (statistics.median(figures) * _MICROSECONDS for figures in zip(*pairs, strict=True))
    added = statistics.median(one - other for one, other in pairs) * _MICROSECONDS
    medians = f"medians: {ours:,.0f} µs with it, {plain:,.0f} µs without"
    what = f"Python client: CPU time that `{name}` adds to a read with httpx ({medians})"
    return at_most(what, added, _MOST, " µs")


def _compare_blocking(gateway: Running) -> list[tuple[float, float]]:
    place, light, url = plant_id(0), module_id(0, DeviceKind.LIGHT, 0), f"{_base(gateway)}{light_path(0, 0)}"
    with httpx.Client(trust_env=False) as http, Client(_base(gateway), KEY, tokens=_tokens(gateway), http=http) as ours:

        def read_plain() -> None:
            answer = http.get(url, headers=gateway.headers())
            if answer.status_code != 200:
                raise RuntimeError(answer.text)

        def read_ours() -> None:
            ours.homeauto.read_light(place, light)

        return [(_time(read_ours), _time(read_plain)) for _ in range(_ROUNDS + 1)][1:]


def _time(act: Callable[[], None]) -> float:
    begin = time.thread_time()
    for _ in range(_CALLS):
        act()
    return (time.thread_time() - begin) / _CALLS


async def _compare_awaiting(gateway: Running) -> list[tuple[float, float]]:
    place, light, url = plant_id(0), module_id(0, DeviceKind.LIGHT, 0), f"{_base(gateway)}{light_path(0, 0)}"
    async with (
        httpx.AsyncClient(trust_env=False) as http,
        AsyncClient(_base(gateway), KEY, tokens=_tokens(gateway), http=http) as ours,
    ):

        async def read_plain() -> None:
            answer = await http.get(url, headers=gateway.headers())
            if answer.status_code != 200:
                raise RuntimeError(answer.text)

        async def read_ours() -> None:
            await ours.homeauto.read_light(place, light)

        return [(await _time_async(read_ours), await _time_async(read_plain)) for _ in range(_ROUNDS + 1)][1:]


async def _time_async(act: Callable[[], Awaitable[None]]) -> float:
    begin = time.thread_time()
    for _ in range(_CALLS):
        await act()
    return (time.thread_time() - begin) / _CALLS


def _base(gateway: Running) -> str:
    return f"http://127.0.0.1:{gateway.port}"


def _tokens(gateway: Running) -> Tokens:
    return Tokens(access_token=gateway.access_token, id_token=gateway.id_token)


CLIENT: dict[str, Scenario] = {"client": client}
