"""Loads that need no credentials. Memory must rise little and fall again, and health checks must be answered all the time."""

import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from soak.attackers import ATTACKS
from soak.memory import MB, Watch, repeating, resident
from support.gateway import Gateway
from support.http import connect

ROOT = Path(__file__).resolve().parent.parent
SIZES = (10, 40, 150, 400)
"""Number of clients at the same time. The largest number is more than one address may have."""
ROUND = 6.0
SHORTEST_ROUND = 1.0
MAY_RISE = 60 * MB
MAY_STAY = 30 * MB
"""The memory that may still be used after the connections are closed: caches, and free memory that the allocator keeps."""
BACK_WITHIN = 30.0
HEALTHY_WITHIN = 5.0
"""In seconds. Load balancers wait this long for a health check. A shared machine can stop all its programs for two seconds."""
_EVERY = 0.1
_HEALTH = b"GET /healthz HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n"


@dataclass
class HealthChecks:
    """Requests /healthz repeatedly, each time on a new connection. The times are those that a client sees."""

    gateway: Gateway
    times: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def checking(self) -> AbstractContextManager[None]:
        return repeating(self._check, _EVERY)

    def _check(self) -> None:
        started = time.monotonic()
        try:
            with connect(self.gateway.base_url, timeout=10) as connection:
                connection.sendall(_HEALTH)
                answer = connection.recv(4096)
        except OSError as error:
            answer = repr(error).encode()
        self.times.append(time.monotonic() - started)
        if not answer.startswith(b"HTTP/1.1 200"):
            self.failures.append(f"{answer[:200]!r} after {self.times[-1]:.1f} s")


def attack_without_credentials(gateway: Gateway, seconds: float, chance: random.Random, say: Callable[[str], None]) -> str:
    """Run each attack with each number of clients. Raises AssertionError."""
    end = time.monotonic() + seconds
    length = max(SHORTEST_ROUND, min(ROUND, seconds / len(ATTACKS) / len(SIZES)))
    _attack(gateway, "passwords", 2, SHORTEST_ROUND, chance)  # The first login loads code and data. This memory is not a leak.
    before = resident(gateway.process.pid)
    rounds, slowest, highest = 0, 0.0, before
    while rounds < len(ATTACKS) or time.monotonic() < end:
        size = SIZES[(rounds + rounds // len(ATTACKS)) % len(SIZES)]
        name = list(ATTACKS)[rounds % len(ATTACKS)]
        watch, checks = Watch(gateway.process.pid), HealthChecks(gateway)
        with watch.watching(), checks.checking():
            _attack(gateway, name, size, length, chance)
        slow, peak = max(checks.times), max(watch.seen)
        result = f"{name} by {size}: memory {before / MB:.0f} -> {peak / MB:.0f} MB, /healthz within {slow:.2f} s"
        say(result)
        assert gateway.process.poll() is None, f"the gateway ended: {result}"
        assert not checks.failures, f"/healthz: {checks.failures[0]}; {result}"
        assert slow < HEALTHY_WITHIN, f"/healthz was too slow: {result}"
        assert peak - before < MAY_RISE, f"memory rises too far: {result}"
        rounds, slowest, highest = rounds + 1, max(slowest, slow), max(highest, peak)
    after = _wait_until_back(gateway, before)
    summary = (
        f"{rounds} attacks; memory {before / MB:.1f} MB before, {highest / MB:.1f} MB at most, {after / MB:.1f} MB after; "
        f"/healthz within {slowest:.2f} s"
    )
    assert after - before < MAY_STAY, f"memory does not come back: {summary}"
    return summary


def _attack(gateway: Gateway, name: str, size: int, seconds: float, chance: random.Random) -> None:
    """Runs in a separate process, so that it does not delay the health checks."""
    port = urlsplit(gateway.base_url).port
    arguments = [name, str(port), str(size), str(seconds), str(chance.randrange(2**32))]
    subprocess.run([sys.executable, "-m", "soak.attackers", *arguments], cwd=ROOT, timeout=seconds + 60, check=True)


def _wait_until_back(gateway: Gateway, before: int) -> int:
    end = time.monotonic() + BACK_WITHIN
    while (now := resident(gateway.process.pid)) - before >= MAY_STAY and time.monotonic() < end:
        time.sleep(0.5)
    return now
