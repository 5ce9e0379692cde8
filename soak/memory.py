"""Memory must not grow under mixed load, or under requests that never end."""

import http.client
import json
import random
import secrets
import select
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from support.gateway import Gateway
from support.http import KEY_HEADER, connect, host_of
from support.spec_operations import E1, E7, E8, E20, OPERATIONS, Operation

MB = 1_000_000
CLIENTS = 4
WARM_UP = 0.4
"""After this share of the time the caches are full."""
MAY_GROW = 8 * MB
MAY_GROW_BY_BODIES = 24 * MB
BODIES = 12
CUT_WITHIN = 45.0
"""In seconds. The gateway's own deadline for a body is 30 seconds."""
NEVER_ENDED = "never ended"
_PACE = 0.002
_EVERY = 0.5
_KNOWN_TARGETS = 40


def resident(pid: int) -> int:
    """The resident memory of the process in bytes."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024
    return int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(pid)])) * 1024


@contextmanager
def repeating(step: Callable[[], object], pause: float) -> Iterator[None]:
    """Call `step` repeatedly from a thread, with `pause` seconds between two calls, and once more at the end."""
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(pause):
            step()
        step()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@dataclass
class Watch:
    """Samples the memory of a process."""

    pid: int
    seen: list[int] = field(default_factory=list)

    def watching(self) -> AbstractContextManager[None]:
        return repeating(lambda: self.seen.append(resident(self.pid)), _EVERY)


# Mixed load


@dataclass
class Visitor:
    """A client that sends reads, commands and requests that must be refused."""

    gateway: Gateway
    chance: random.Random
    asked: int = 0
    broken: list[str] = field(default_factory=list)

    def run(self, end: float) -> None:
        known = [(operation, *case) for operation in OPERATIONS for case in self._cases(operation)]
        while time.monotonic() < end and not self.broken:
            connection = http.client.HTTPConnection(urlsplit(self.gateway.base_url).netloc, timeout=20)
            try:
                for _ in range(self.chance.randrange(1, 200)):
                    if time.monotonic() >= end:
                        break
                    self._ask(connection, *self.chance.choice(known))
            except (OSError, http.client.HTTPException) as error:
                self.broken.append(f"the gateway closed the connection: {error!r}")
            finally:
                connection.close()

    def _cases(self, operation: Operation) -> list[tuple[str, dict[str, str]]]:
        cases = list(self.gateway.cases(operation))
        return self.chance.sample(cases, min(len(cases), _KNOWN_TARGETS))

    def _ask(self, connection: http.client.HTTPConnection, operation: Operation, who: str, target: dict[str, str]) -> None:
        headers = {
            KEY_HEADER: self.gateway.subscription_key,
            "Authorization": f"Bearer {self.gateway.people[who].token_for(operation)}",
        }
        method, url, body = str(operation.method), operation.url(target), operation.body
        choice = self.chance.randrange(20)
        if choice == 0:
            headers[KEY_HEADER] = secrets.token_urlsafe(24)
        elif choice == 1:
            headers["Authorization"] = (
                f"Bearer {secrets.token_urlsafe(8)}.{secrets.token_urlsafe(60)}.{secrets.token_urlsafe(20)}"
            )
        elif choice == 2:
            url = self.chance.choice((E7, E8, E1)).url(
                {"plant": str(uuid.uuid4()), "module": str(uuid.uuid4()), "ambient": "x"}
            )
        elif choice == 3:
            url += f"/{secrets.token_urlsafe(12)}"
        elif choice == 4:
            method = self.chance.choice(("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"))
        elif operation is E20:
            body = json.dumps({secrets.token_hex(4): "x" * self.chance.randrange(4000), "maxSpeed": 1}).encode()
        elif operation is E1:
            body = self.chance.choice((b'{"status": "on"}', b'{"status": "off"}'))
        connection.request(method, url, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        self.asked += 1
        if answer.status >= 500:
            self.broken.append(f"{method} {url}: {answer.status} {text[:300]!r}")


def load_evenly(gateway: Gateway, seconds: float, chance: random.Random, say: Callable[[str], None]) -> str:
    """Check that memory at the end is not higher than after the warm-up. Raises AssertionError."""
    visitors = [Visitor(gateway, random.Random(chance.random())) for _ in range(CLIENTS)]
    begin = resident(gateway.process.pid)
    end = time.monotonic() + seconds
    watch = Watch(gateway.process.pid)
    with watch.watching(), ThreadPoolExecutor(CLIENTS) as pool:
        for work in [pool.submit(visitor.run, end) for visitor in visitors]:
            work.result()
    broken = [text for visitor in visitors for text in visitor.broken]
    assert not broken, broken[0]
    warm = watch.seen[int(len(watch.seen) * WARM_UP) :]
    quarter = max(1, len(warm) // 4)
    first, last = median(warm[:quarter]), median(warm[-quarter:])
    summary = (
        f"{sum(visitor.asked for visitor in visitors)} requests; memory at the start {begin / MB:.1f} MB, "
        f"warm {first / MB:.1f} MB, at the end {last / MB:.1f} MB"
    )
    say(summary)
    assert last - first <= MAY_GROW, f"memory grows: {summary}"
    return summary


# Endless bodies


def send_endless_bodies(gateway: Gateway, seconds: float) -> str:
    """Check that endless bodies are refused or cut off in time and use little memory. Raises AssertionError."""
    before = resident(gateway.process.pid)
    end = time.monotonic() + seconds
    watch = Watch(gateway.process.pid)
    outcomes: dict[str, int] = {}
    sent = 0
    with watch.watching(), ThreadPoolExecutor(BODIES) as pool:
        while time.monotonic() < end or not outcomes:
            for outcome, size in pool.map(lambda number: _send_endless_body(gateway, number), range(BODIES)):
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
                sent += size
    peak = max(watch.seen)
    summary = f"{sent / MB:.0f} MB sent, outcomes {outcomes}; memory {before / MB:.1f} MB before, {peak / MB:.1f} MB at most"
    assert NEVER_ENDED not in outcomes, f"an endless body was not cut off: {summary}"
    assert {"413", "401"} <= outcomes.keys(), f"some clients got no status: {summary}"
    assert peak - before <= MAY_GROW_BY_BODIES, f"memory grows with the bytes that are sent: {summary}"
    return summary


def _send_endless_body(gateway: Gateway, number: int) -> tuple[str, int]:
    """Send chunks until the gateway closes the connection. Returns its status and the number of bytes sent."""
    operation = E1 if number % 2 else E20
    who, target = gateway.case(operation)
    lines = [f"POST {operation.url(target)} HTTP/1.1", f"Host: {host_of(gateway.base_url)}", "Transfer-Encoding: chunked"]
    if number % 4 < 2:
        token = gateway.people[who].token_for(operation)
        lines += [f"{KEY_HEADER}: {gateway.subscription_key}", f"Authorization: Bearer {token}"]
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    sent, answer = 0, b""
    deadline = time.monotonic() + CUT_WITHIN
    with connect(gateway.base_url, timeout=5) as connection, suppress(OSError):  # the gateway may reset the connection
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        while time.monotonic() < deadline:
            readable, writable, _ = select.select([connection], [connection], [], 1)
            if readable:
                received = connection.recv(4096)
                if not received:
                    break
                answer += received
            if writable:
                connection.sendall(piece)
                sent += len(piece)
            time.sleep(_PACE)
        else:
            return NEVER_ENDED, sent
    status = answer.split(b" ")[1:2]
    return (status[0].decode() if status else "cut off"), sent
