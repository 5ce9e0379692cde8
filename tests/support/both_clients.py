"""Runs the same call with the client that blocks and with the client that awaits."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from domogate_client import AsyncClient, Client, Retries

QUICK = Retries(first_pause=0.01)

Ask = Callable[..., Any]


def _blocking(base_url: str, act: Callable[[Any], Any], times: int = 1, **settings: Any) -> list[Any]:
    with Client(base_url, "a-subscription-key", **settings) as client:
        return [act(client) for _ in range(times)]


def _awaiting(base_url: str, act: Callable[[Any], Any], times: int = 1, **settings: Any) -> list[Any]:
    async def run() -> list[Any]:
        async with AsyncClient(base_url, "a-subscription-key", **settings) as client:
            return [await act(client) for _ in range(times)]

    return asyncio.run(run())


both_clients = pytest.mark.parametrize("ask", [_blocking, _awaiting], ids=["Client", "AsyncClient"])
"""`ask(base_url, act, times)` calls `act(client)` this number of times and returns the answers."""
