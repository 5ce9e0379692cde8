"""A flood of MQTT messages: reads stay fast, memory stays flat, and every module shows its newest state."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from soak.memory import MB, Watch
from support.mqtt_flood import FloodedGateway, flooded_gateway, messages_for, percentile

LAMPS = 500
STEADY, BURST = 5_000, 20_000
"""In messages a second."""
STEADY_FOR, BURST_FOR, IDLE_FOR = 60, 10, 15
TIMES_IDLE = 3.0
LEAST_IDLE = 0.0005
"""In seconds. Shorter times only measure the clock and the scheduler."""
MAY_GROW = 8 * MB
SETTLED_WITHIN = 10.0


def flood_with_mqtt(directory: Path, seconds: float, seed: int, say: Callable[[str], None]) -> str:
    """Raises AssertionError."""
    chance = random.Random(seed)
    with flooded_gateway(directory, LAMPS) as flooded:
        flooded.warm_up(chance)
        idle = percentile(flooded.read_for(IDLE_FOR, chance), 0.99)
        say(f"E8 alone: p99 {idle * 1000:.2f} ms")
        rounds, worst, end = 0, 0.0, time.monotonic() + seconds
        watch = Watch(flooded.gateway.process.pid)
        with watch.watching():
            while not rounds or time.monotonic() < end:
                p99 = _steady(flooded, chance)
                burst = _burst(flooded, chance)
                rounds, worst = rounds + 1, max(worst, p99)
                say(f"E8 under {STEADY} a second: p99 {p99 * 1000:.2f} ms; {BURST} a second: shown in {burst:.1f} s")
                assert p99 <= TIMES_IDLE * max(idle, LEAST_IDLE), f"p99 {p99 * 1000:.2f} ms, idle {idle * 1000:.2f} ms"
        quarter = max(1, len(watch.seen) // 4)
        first, last = median(watch.seen[quarter : 2 * quarter]), median(watch.seen[-quarter:])
        summary = f"{rounds} rounds; p99 idle {idle * 1000:.2f} ms, flooded {worst * 1000:.2f} ms; memory {last / MB:.1f} MB"
        assert last - first <= MAY_GROW, f"memory grows from {first / MB:.1f} MB: {summary}"
        return summary


def _steady(flooded: FloodedGateway, chance: random.Random) -> float:
    messages = messages_for(LAMPS, STEADY * STEADY_FOR, chance)
    with flooded.flooded(messages, STEADY) as sender:
        time.sleep(2)  # The start of the sender is not measured.
        took = flooded.read_for(STEADY_FOR - 4, chance)
        assert sender.is_alive(), "the sender finished too early"
    return percentile(took, 0.99)


def _burst(flooded: FloodedGateway, chance: random.Random) -> float:
    messages = messages_for(LAMPS, BURST * BURST_FOR, chance)
    with flooded.flooded(messages, BURST):
        pass
    return _settle(flooded, messages)


def _settle(flooded: FloodedGateway, messages: list[tuple[str, bytes]]) -> float:
    started = time.monotonic()
    while True:
        stale = flooded.find_stale(messages)
        if not stale:
            return time.monotonic() - started
        assert time.monotonic() - started < SETTLED_WITHIN, f"{len(stale)} lamps are behind: {stale[0]}"
        time.sleep(0.2)
