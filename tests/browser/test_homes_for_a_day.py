"""A home that stays open for hours: events, lost streams and new tokens take no more memory."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Request, Route, expect

from support.examples import is_long
from support.gateway import Gateway, running, start
from support.page_memory import PageMemory, measure_memory
from support.pages import visit

pytestmark = pytest.mark.slow

ANNA = "anna@example.com"
HOUSE_ID = "ca5a0001-0000-4000-8000-000000000000"
EVENTS = 3_000
"""Events of one connection of the stream. Then it ends, and the page connects again."""
EARLY, LATE = 2, 12 if is_long() else 7
"""Connections of the stream, two hours each. The soak tests a whole day."""
TWO_HOURS = 7_200_000
MAY_GROW = 1_000_000
"""In bytes. If the page kept each event, it would grow by more than twice as much."""
NODES_MAY_GROW, LISTENERS_MAY_GROW = 500, 150
"""A device that cannot be reached has fewer controls."""
TRIES = 20


class Stream:
    """Answers in place of the gateway: each connection brings events about all modules, and ends."""

    def __init__(self) -> None:
        self.modules: list[dict[str, Any]] = []
        self.connections = 0
        self._numbers = itertools.count(1)

    async def answer(self, route: Route) -> None:
        self.connections += 1
        numbers = [next(self._numbers) for _ in range(EVENTS if self.modules else 0)]
        body = "event: ready\ndata: {}\n\n" + "".join(map(self._event, numbers))
        await route.fulfill(headers={"content-type": "text/event-stream"}, body=body)

    def _event(self, number: int) -> str:
        module = self.modules[number % len(self.modules)]
        state = module["state"]
        if state and state["of"] == "light":
            state = {**state, "on": number % 3 == 0}
        notice = {
            "plantId": HOUSE_ID,
            "moduleId": module["id"],
            "reachable": number % 7 > 0,
            "absentSince": None,
            "state": state,
        }
        return f"id: {number}\nevent: state\ndata: {json.dumps({'time': '2026-11-16T08:00:00Z', 'data': notice})}\n\n"


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    """Its tokens have the usual lifetime."""
    with running(start("demo", tmp_path)) as started:
        yield started


async def test_hours_of_events_and_new_tokens_take_no_more_memory(chromium: Browser, gateway: Gateway) -> None:
    stream, renewals = Stream(), []

    def note(request: Request) -> None:
        if request.url.endswith("/auth/token") and "refresh_token" in (request.post_data or ""):
            renewals.append(request)

    async with visit(chromium, gateway, who=ANNA) as walk:
        walk.page.on("request", note)
        await walk.page.clock.install()
        await walk.page.route("**/events?*", stream.answer)
        answers = await walk.keep_answers(f"**/home/v1/homes/{HOUSE_ID}")
        async with walk.page.expect_response(f"**/home/v1/homes/{HOUSE_ID}"):
            await walk.open(f"/homes/{HOUSE_ID}")
        stream.modules = answers[0]["modules"]
        await walk.page.unroute(f"**/home/v1/homes/{HOUSE_ID}")

        async def live_until(connections: int) -> PageMemory:
            while stream.connections < connections:
                before = stream.connections
                await walk.page.clock.fast_forward(TWO_HOURS)
                while stream.connections == before:
                    await walk.page.clock.run_for(1_000)
            await expect(walk.page.locator(".card").first).to_be_visible()
            return await measure_memory(walk.page)

        early = await live_until(EARLY)
        most = PageMemory(early.heap + MAY_GROW, early.nodes + NODES_MAY_GROW, early.listeners + LISTENERS_MAY_GROW)
        late = await live_until(LATE)
        for _ in range(TRIES):  # the page may still read the last events
            if late.is_within(most):
                break
            await asyncio.sleep(0.5)
            late = await measure_memory(walk.page)
        assert late.is_within(most), (early, late)
        assert len(renewals) > LATE / 2, "tokens are renewed"
