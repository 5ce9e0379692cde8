"""The pages in a real browser: how soon a home is drawn, and how soon a change is."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from playwright.async_api import Browser, CDPSession

from benchmarks.scenarios import Row, Scenario
from support.browser_tab import open_chromium
from support.gateway import Gateway
from support.mosquitto import DeviceClient, Mosquitto
from support.mqtt_flood import BASE, OWNER, percentile
from support.page_homes import BEHIND_BROKER, LARGE, SMALL, home_id, page_homes
from support.pages import Walk, visit

_SLOWED = 4
_ROUNDS = 5
_CHANGES = 20
_PAUSE = 1.1
"""Seconds between two changes: a lamp is reported at most once a second."""
_FIRST, _DRAWN, _BY_HAND = 1.0, 0.05, 0.3

# A frame is on the screen when a message that was sent in its animation callback arrives.
_NOTE_FRAMES = """
    const now = () => performance.timeOrigin + performance.now();
    const afterFrame = act => requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = act;
        port2.postMessage(0);
    });
"""
_NOTE_CARDS = (
    _NOTE_FRAMES
    + """
    window.drawn = {};
    new MutationObserver(() => {
        const cards = document.querySelectorAll(".card").length;
        for (const amount of [1, %d]) {
            if (cards < amount || amount in window.drawn) continue;
            window.drawn[amount] = null;
            afterFrame(() => { window.drawn[amount] = now(); });
        }
    }).observe(document, { childList: true, subtree: true });
"""
)
_NOTE_CHANGES = (
    _NOTE_FRAMES
    + """
    window.changes = [];
    let received = 0;
    const read = ReadableStreamDefaultReader.prototype.read;
    ReadableStreamDefaultReader.prototype.read = async function () {
        const piece = await read.call(this);
        if (piece.value && new TextDecoder().decode(piece.value).includes("moduleId")) received = now();
        return piece;
    };
    new MutationObserver(() => {
        const begun = received;
        received = 0;
        if (begun) afterFrame(() => { window.changes.push([begun, now()]); });
    }).observe(document, { childList: true, subtree: true, characterData: true, attributes: true });
"""
)


async def pages_drawn() -> AsyncIterator[Row]:
    with TemporaryDirectory() as folder, page_homes(Path(folder), lamps=1) as (gateway, broker):
        async with open_chromium() as browser:
            for devices in (SMALL, LARGE):
                slow = [await _open(browser, gateway, devices, _SLOWED) for _ in range(_ROUNDS)]
                fast = [await _open(browser, gateway, devices, 1) for _ in range(_ROUNDS)]
                first = median(one for one, _ in slow)
                yield Row(
                    f"Pages: first cards of a home of {devices:,} devices, empty cache, CPU slowed four times",
                    f"{first:.2f} s ({median(one for one, _ in fast):.2f} s without slowing)",
                    f"<= {_FIRST} s",
                    first <= _FIRST,
                )
            yield Row(
                f"Pages: all {LARGE:,} cards, CPU slowed four times",
                f"{median(every for _, every in slow):.2f} s ({median(every for _, every in fast):.2f} s without slowing)",
            )
            drawn, by_hand = await _change(browser, gateway, broker)
    yield Row(
        "Pages: from an event to the frame that shows it, CPU slowed four times, p50 / p90",
        f"{percentile(drawn, 0.5) * 1000:.0f} ms / {percentile(drawn, 0.9) * 1000:.0f} ms",
        f"<= {_DRAWN * 1000:.0f} ms",
        percentile(drawn, 0.9) <= _DRAWN,
    )
    yield Row(
        "Pages: from the MQTT message of a wall switch to the frame that shows it, p50 / p90",
        f"{percentile(by_hand, 0.5) * 1000:.0f} ms / {percentile(by_hand, 0.9) * 1000:.0f} ms",
        f"<= {_BY_HAND * 1000:.0f} ms",
        percentile(by_hand, 0.9) <= _BY_HAND,
    )


@asynccontextmanager
async def _slowed(browser: Browser, gateway: Gateway, rate: int) -> AsyncIterator[Walk]:
    """A new browser profile, so that its cache is empty. The login page loads none of the scripts."""
    async with visit(browser, gateway, who=OWNER) as walk:
        devtools: CDPSession = await walk.page.context.new_cdp_session(walk.page)
        await devtools.send("Emulation.setCPUThrottlingRate", {"rate": rate})
        yield walk


async def _open(browser: Browser, gateway: Gateway, devices: int, rate: int) -> tuple[float, float]:
    """The seconds from the opening of the address to the first cards, and to all cards."""
    async with _slowed(browser, gateway, rate) as walk:
        await walk.page.add_init_script(_NOTE_CARDS % devices)
        begun = time.time()
        await walk.page.goto(f"{gateway.base_url}/homes/{home_id(devices)}", wait_until="commit")
        drawn: dict[str, float | None] = {}
        while not drawn.get(str(devices)):
            await asyncio.sleep(0.05)
            drawn = await walk.page.evaluate("window.drawn")
    first, every = (drawn[key] or 0.0 for key in ("1", str(devices)))
    return first / 1000 - begun, every / 1000 - begun


async def _change(browser: Browser, gateway: Gateway, broker: Mosquitto) -> tuple[list[float], list[float]]:
    """The seconds from each event, and from each message of the lamp, to the frame that shows it."""
    lamp = DeviceClient(broker.port)
    sent = []
    async with _slowed(browser, gateway, _SLOWED) as walk:
        await walk.page.add_init_script(_NOTE_CHANGES)
        await walk.open(f"/homes/{BEHIND_BROKER}")
        await walk.page.locator(".card").wait_for()
        for number in range(_CHANGES + 1):
            await asyncio.sleep(_PAUSE)
            sent.append(time.time())
            lamp.publish(f"{BASE}/lamp_0", '{"state":"%s","brightness":100}' % ("OFF" if number % 2 else "ON"), wait=False)
        await asyncio.sleep(_PAUSE)
        changes: list[tuple[float, float]] = await walk.page.evaluate("window.changes")
    lamp.close()
    # The first message also says that the lamp is there.
    by_hand = [min(shown / 1000 - at for _, shown in changes if shown / 1000 > at) for at in sent[1:]]
    return [(shown - begun) / 1000 for begun, shown in changes[1:]], by_hand


PAGES: dict[str, Scenario] = {"pages": pages_drawn}
