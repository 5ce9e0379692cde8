"""How much other work of the gateway delays a read: the p99 of E8 during the other work, compared with the p99 of E8 alone."""

import asyncio
import statistics
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from benchmarks.load import Load, request, run_load, running_first
from benchmarks.scenarios import SETTLE, Row, light_path, measure
from benchmarks.servers import Running

_ROUNDS = 7
_READERS = 2
_PAUSE = 0.001
"""The seconds between an answer and the next read of the same client.

A client without pauses would use a whole core, and few of its reads would meet other work.
"""
_READS_ALONE, _MOST_READS = 2_000, 1_000_000
_AFTER_WORK = 1.0
"""The seconds after the other work, in which the gateway closes the connections of this work."""
_MOST = 3.0


class _Round(msgspec.Struct, frozen=True):
    """The reads of one round, and the number of seconds until all people were logged in."""

    alone: Load
    busy: Load
    seconds: float

    @property
    def ratio(self) -> float:
        return self.busy.percentile(0.99) / self.alone.percentile(0.99)


async def compare_busy(what: str, gateway: Running, people: int, other_work: Callable[[], AbstractContextManager[None]]) -> Row:
    """Measure E8 alone, and then while people log in and while the gateway does the other work. Do this in several rounds.

    Start the gateway with `first=True`. So neither the gateway nor the reading client waits for a core that another program
    uses, such as the clients that make the load.
    """
    hot = [request("GET", light_path(n % 10, n % 8), gateway.headers()) for n in range(80)]
    await asyncio.sleep(SETTLE)
    await measure(gateway, hot, total=2_000, connections=_READERS)
    await (await _start_crowd(gateway, 1)).communicate(b"begin\n")  # The first login imports the code of the login page.
    with running_first():
        rounds = [await _take_round(gateway, hot, people, other_work) for _ in range(_ROUNDS)]
    found = sorted(one.ratio for one in rounds)
    ratio = statistics.median(found)
    busy, alone = (_median_p99([getattr(one, which) for one in rounds]) for which in ("busy", "alone"))
    seconds = statistics.median(one.seconds for one in rounds)
    detail = (
        f" ({found[0]:.2f} to {found[-1]:.2f}; {busy:.2f} ms / {alone:.2f} ms; all people were logged in after {seconds:.1f} s)"
    )
    return Row(what, f"{ratio:.2f}{detail}", f"<= {_MOST:.0f}", ratio <= _MOST)


def _median_p99(loads: list[Load]) -> float:
    """The median of the p99 of several loads, in milliseconds."""
    return 1000 * statistics.median(load.percentile(0.99) for load in loads)


async def _take_round(
    gateway: Running, hot: list[bytes], people: int, other_work: Callable[[], AbstractContextManager[None]]
) -> _Round:
    alone = await _read(gateway, hot, _READS_ALONE)
    crowd = await _start_crowd(gateway, people)
    with other_work():
        logging_in = asyncio.create_task(crowd.communicate(b"begin\n"))
        busy = await _read(gateway, hot, _MOST_READS, until=logging_in)
        printed, _ = await logging_in
    if crowd.returncode != 0:
        raise RuntimeError("some logins failed")
    await asyncio.sleep(_AFTER_WORK)
    return _Round(alone, busy, float(printed))


async def _read(gateway: Running, hot: list[bytes], total: int, until: asyncio.Future[Any] | None = None) -> Load:
    load = await run_load(gateway.port, gateway.pid, hot, total=total, connections=_READERS, pause=_PAUSE, until=until)
    if set(load.statuses) != {200}:
        raise RuntimeError(f"unexpected answers: {load.statuses}")
    return load


async def _start_crowd(gateway: Running, people: int) -> asyncio.subprocess.Process:
    """Start the process that logs people in. It waits for a line before it begins."""
    command = (sys.executable, "-m", "benchmarks.crowd", str(gateway.port), str(people))
    pipe = asyncio.subprocess.PIPE
    crowd = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert crowd.stdout is not None
    await crowd.stdout.readline()  # The process is ready.
    return crowd
