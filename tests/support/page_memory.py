"""The memory of an open page: what the browser holds after it has collected garbage."""

from dataclasses import dataclass

from playwright.async_api import CDPSession, Page


@dataclass(frozen=True)
class PageMemory:
    """Bytes of the heap of the scripts, and counts of DOM nodes and event listeners."""

    heap: int
    nodes: int
    listeners: int

    def is_within(self, most: "PageMemory") -> bool:
        return self.heap <= most.heap and self.nodes <= most.nodes and self.listeners <= most.listeners


async def measure_memory(page: Page) -> PageMemory:
    devtools: CDPSession = await page.context.new_cdp_session(page)
    for _ in range(2):  # some objects are released only by a second collection
        await devtools.send("HeapProfiler.collectGarbage")
    heap, counts = await devtools.send("Runtime.getHeapUsage"), await devtools.send("Memory.getDOMCounters")
    await devtools.detach()
    return PageMemory(int(heap["usedSize"]), int(counts["nodes"]), int(counts["jsEventListeners"]))
