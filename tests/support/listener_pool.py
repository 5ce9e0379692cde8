"""Thousands of clients of /events in their own process. They use plain sockets, so that they cost little CPU time."""

import asyncio
import multiprocessing
import os
import random
import re
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from multiprocessing.connection import Connection
from typing import Any

_OPEN_AT_ONCE = 40
_PATIENCE = 60.0
_ID = re.compile(rb"^id: (\d+)\nevent: (\w+)$", re.MULTILINE)
_TIME = re.compile(rb'"(?:time|at)":"([^"]+)"')
_SAMPLED = 16
"""The age is measured of one event in this many."""


@dataclass
class Listener:
    """One client: its plant and the events that it received."""

    plant: str
    ids: list[int] = field(default_factory=list)
    last: int | None = None
    writer: asyncio.StreamWriter | None = None
    connections: int = 0
    odd: list[str] = field(default_factory=list)
    """Events that a healthy client never gets (`end`, `reset`)."""


class _ListenerPool:
    """Runs in the process of the clients."""

    def __init__(self, port: int, headers: Mapping[str, str], plants: Sequence[str], count: int, seed: int) -> None:
        self._port = port
        self._head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._listeners = [Listener(plants[number % len(plants)]) for number in range(count)]
        self._chance = random.Random(seed)
        self._slots = asyncio.Semaphore(_OPEN_AT_ONCE)
        self._ready = 0
        self._ages: list[float] = []

    async def run(self, pipe: Connection, reconnects: float) -> None:
        """`reconnects`: clients per second that disconnect and connect again."""
        tasks = [asyncio.create_task(self._follow(listener)) for listener in self._listeners]
        while self._ready < len(self._listeners):
            await asyncio.sleep(0.05)
        pipe.send("ready")
        leaving = asyncio.create_task(self._leave(reconnects)) if reconnects else None
        while not pipe.poll():
            await asyncio.sleep(0.05)
        if leaving is not None:
            leaving.cancel()
        newest: dict[str, int] = pipe.recv()
        give_up = time.monotonic() + _PATIENCE
        while time.monotonic() < give_up and any((one.last or 0) < newest[one.plant] for one in self._listeners):
            await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        pipe.send(([(one.plant, one.ids, one.connections, one.odd) for one in self._listeners], self._ages))

    async def _leave(self, reconnects: float) -> None:
        while True:
            await asyncio.sleep(1 / reconnects)
            writer = self._chance.choice(self._listeners).writer
            if writer is not None:
                writer.transport.abort()

    async def _follow(self, listener: Listener) -> None:
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._listen(listener)
            await asyncio.sleep(0.01)

    async def _listen(self, listener: Listener) -> None:
        async with self._slots:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            last = "" if listener.last is None else f"Last-Event-ID: {listener.last}\r\n"
            writer.write(f"GET /events?plant={listener.plant} HTTP/1.1\r\nHost: localhost\r\n{self._head}{last}\r\n".encode())
            status = await reader.readline()
            assert b" 200 " in status, status
            await reader.readuntil(b"\r\n\r\n")
        listener.writer = writer
        listener.connections += 1
        try:
            while True:
                size = int(await reader.readuntil(b"\r\n"), 16)
                chunk = await reader.readexactly(size + 2)
                if not size:
                    return
                self._take(listener, chunk)
        finally:
            listener.writer = None
            writer.close()

    def _take(self, listener: Listener, chunk: bytes) -> None:
        now = time.time()
        if b"event: end" in chunk or b"event: reset" in chunk:
            listener.odd.append(chunk.decode()[:300])
        for cursor, event in _ID.findall(chunk):
            self._ready += listener.last is None
            listener.last = int(cursor)
            if event != b"ready":
                listener.ids.append(listener.last)
                if listener.last % _SAMPLED == 0:
                    self._ages += [
                        now - datetime.fromisoformat(found.decode()).timestamp() for found in _TIME.findall(chunk)[:1]
                    ]


def _serve(pipe: Connection, port: int, headers: Mapping[str, str], plants: Sequence[str], count: int, **how: Any) -> None:
    allow_files(count)
    seed, reconnects = how["seed"], how["reconnects"]

    os.nice(10)  # the clients must not take CPU time from the gateway or from the reader

    async def run() -> None:
        await _ListenerPool(port, headers, plants, count, seed).run(pipe, reconnects)

    asyncio.run(run())


@dataclass
class ListenerPool:
    """The pool as the parent process uses it."""

    pipe: Connection
    received: list[tuple[str, list[int], int, list[str]]] = field(default_factory=list)
    """For each client: its plant, the ids of its events, its number of connections, and unexpected events."""
    ages: list[float] = field(default_factory=list)
    """Seconds from the report or the commit to the client, for a sample of events."""

    def finish(self, newest: Mapping[str, int]) -> None:
        """Wait until each client has the newest change of its plant, or until a timeout."""
        self.pipe.send(dict(newest))
        self.received, self.ages = self.pipe.recv()


@contextmanager
def listener_pool(
    port: int, headers: Mapping[str, str], plants: Sequence[str], count: int, *, seed: int = 1, reconnects: float = 0.0
) -> Iterator[ListenerPool]:
    """All clients are connected when the block begins."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_serve,
        args=(theirs, port, dict(headers), list(plants), count),
        kwargs={"seed": seed, "reconnects": reconnects},
        daemon=True,
    )
    process.start()
    try:
        assert ours.poll(_PATIENCE * 2), "the clients did not connect"
        assert ours.recv() == "ready"
        yield ListenerPool(ours)
    finally:
        process.terminate()
        process.join(10)


def allow_files(count: int) -> None:
    """Raise the limit of open files, also for a gateway that this process starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 500
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
