"""Token refreshes compared with the most that are possible (two signatures and one commit), and logins during hot reads."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

from benchmarks.bounds import cpu_of_commit, cpu_of_signature
from benchmarks.delays import compare_busy
from benchmarks.estates import CLIENT, CLIENT_SECRET, PEOPLE
from benchmarks.load import FORM, cpu_seconds, find_length, request
from benchmarks.scenarios import SETTLE, Row, Scenario, compare_rounds
from benchmarks.servers import Running, fill, running

_CLIENTS = 8
_ROUNDS = 9
_WARM, _REFRESHES = 5, 25
"""The refreshes of each client: before the measurement, and in each round."""
_BOUND_TIMES = 150


async def refreshes() -> AsyncIterator[Row]:
    """In each round, the gateway and the bound are measured one after the other, because other programs slow both down."""
    rates, bounds = [], []
    with TemporaryDirectory() as folder:
        await fill(Path(folder), plants=1, modules=10)
        with running("gateway", data=folder, refresh_tokens=_CLIENTS) as gateway:
            await asyncio.sleep(SETTLE)
            tokens, _ = await _refresh(gateway, gateway.refresh_tokens, _WARM)
            for _ in range(_ROUNDS):
                tokens, rate = await _refresh(gateway, tokens, _REFRESHES)
                rates.append(rate)
                bounds.append(1 / (2 * cpu_of_signature(_BOUND_TIMES) + cpu_of_commit(2, _BOUND_TIMES)))
    what = "refreshes per CPU-second / the most that are possible with two ES256 signatures and one commit"
    yield compare_rounds(what, rates, bounds, 0.37, goal=1_500)


async def _refresh(gateway: Running, tokens: list[str], times: int) -> tuple[list[str], float]:
    """Return the last refresh token of each client, and the refreshes per CPU-second."""
    before = cpu_seconds(gateway.pid)
    tokens = await asyncio.gather(*(_refresh_chain(gateway.port, token, times) for token in tokens))
    return tokens, _CLIENTS * times / (cpu_seconds(gateway.pid) - before)


async def _refresh_chain(port: int, token: str, times: int) -> str:
    """Refresh a token, then its successor, and so on. Return the last refresh token.

    The client is as small as possible, because it shares the processor's caches with the gateway.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    headers = {"User-Agent": "bench/1", "Accept": "application/json"}
    for _ in range(times):
        form = {"grant_type": "refresh_token", "client_id": CLIENT.id, "client_secret": CLIENT_SECRET, "refresh_token": token}
        writer.write(request("POST", "/auth/token", headers, urlencode(form).encode(), content_type=FORM))
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(find_length(head))
        if not head.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"a refresh was refused: {body.decode()}")
        token = json.loads(body)["refresh_token"]
    writer.close()
    return token


async def logins() -> AsyncIterator[Row]:
    with TemporaryDirectory() as folder:
        await fill(Path(folder), plants=10, modules=100)
        with running("gateway", data=folder, first=True) as gateway:
            yield await compare_busy(f"p99 of E8 while {PEOPLE} people log in / without logins", gateway, PEOPLE, nullcontext)


IDENTITY: dict[str, Scenario] = {"refreshes": refreshes, "logins": logins}
