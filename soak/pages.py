"""A home stays open in a real browser for as many events as in a day: its memory must not grow."""

import asyncio
import random
import time
from collections.abc import Callable
from pathlib import Path

from playwright.async_api import Request, expect

from support.browser_tab import open_chromium
from support.mosquitto import Mosquitto, flood
from support.mqtt_flood import OWNER, messages_for
from support.page_homes import BEHIND_BROKER, page_homes
from support.page_memory import PageMemory, measure_memory
from support.pages import Walk, visit

LAMPS, RATE = 200, 200
"""A lamp is reported at most once a second."""
ROUND = 10
"""In seconds. After each round the network is away, and memory is measured."""
WARM_UP, LEAST_ROUNDS = 2, 5
MAY_GROW, NODES_MAY_GROW = 1_500_000, 500
# Tokens are renewed as often as in a day.
_SETTINGS = {"DOMOGATE_ACCESS_TOKEN_LIFETIME": "10", "DOMOGATE_ID_TOKEN_LIFETIME": "10"}


def keep_a_home_open(directory: Path, seconds: float, seed: int, say: Callable[[str], None]) -> str:
    """Raises AssertionError."""
    chance = random.Random(seed)
    with page_homes(directory, LAMPS, _SETTINGS) as (gateway, broker):

        async def run() -> str:
            async with open_chromium() as browser, visit(browser, gateway, who=OWNER) as walk:
                summary = await _watch(walk, broker, seconds, chance, say)
                walk.complaints.clear()  # the browser reports the lost connections
                return summary

        return asyncio.run(run())


async def _watch(walk: Walk, broker: Mosquitto, seconds: float, chance: random.Random, say: Callable[[str], None]) -> str:
    renewals = 0

    def count(request: Request) -> None:
        nonlocal renewals
        renewals += request.url.endswith("/auth/token")

    walk.page.on("request", count)
    await walk.open(f"/homes/{BEHIND_BROKER}")
    await expect(walk.page.locator(".card")).to_have_count(LAMPS)
    end = time.monotonic() + seconds
    seen: list[PageMemory] = []
    while time.monotonic() < end or len(seen) < LEAST_ROUNDS:
        await asyncio.to_thread(flood, broker.port, messages_for(LAMPS, RATE * ROUND, chance), RATE)
        await walk.page.context.set_offline(True)
        await expect(walk.page.get_by_text("Not live since")).to_be_visible()
        await walk.page.context.set_offline(False)
        await expect(walk.page.get_by_text("Not live since")).to_be_hidden()
        seen.append(await measure_memory(walk.page))
        say(f"after {len(seen) * RATE * ROUND:,} changes: {seen[-1]}")
    early, late = min(seen[:WARM_UP], key=lambda memory: memory.heap), min(seen[-WARM_UP:], key=lambda memory: memory.heap)
    changes = f"{len(seen) * RATE * ROUND:,} changes, {renewals} requests for tokens"
    summary = f"{changes}; heap {early.heap:,} bytes early, {late.heap:,} bytes late"
    assert late.heap <= early.heap + MAY_GROW, f"memory grows: {summary}"
    assert late.nodes <= early.nodes + NODES_MAY_GROW, f"nodes grow: {early} {late}"
    return summary
