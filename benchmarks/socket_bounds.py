"""The CPU time of steps that events cannot do without: a write to a connection, and a POST with its answer.

Each is measured alone, with the event loop of the gateway and without other code of the gateway.
"""

import asyncio
import multiprocessing
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from support.listener_pool import allow_files

_EVENT = b"x" * 600
"""About as many bytes as an event of the benchmark."""
_BODY = b"x" * 560
_POST = b"POST /1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
_ROUNDS, _EACH = 100, 80
"""The number of rounds, and the number of writes in a round. Eight reports with ten listeners each make 80 writes."""
_PAUSE = 0.003
"""In seconds. The pause between two rounds, in which the readers read."""
_IN_FLIGHT = 16
"""The number of POSTs that wait for their answers. Eight reports with two receivers each make 16 POSTs."""


class _Far(asyncio.Protocol):
    """The other end of a connection. It answers each POST, and ignores events."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._received = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        while self._answer and self._received >= len(_POST):
            self._received -= len(_POST)
            self._transport.write(self._answer)


def _serve(pipe: Connection, answer: bytes, connections: int) -> None:
    os.nice(10)  # as the listeners of the benchmark
    allow_files(connections)

    async def run() -> None:
        listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
        server = await asyncio.get_running_loop().create_server(lambda: _Far(answer), sock=listening)
        pipe.send(listening.getsockname()[1])
        await asyncio.to_thread(pipe.recv)
        server.close()

    asyncio.run(run())


@contextmanager
def _far_end(answer: bytes, connections: int) -> Iterator[int]:
    """Run the other ends of the connections in a separate process. Yields their port."""
    allow_files(connections)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, answer, connections), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.terminate()
        process.join(10)


class _Near(asyncio.Protocol):
    """Our end of a connection."""

    def __init__(self, free: asyncio.Semaphore | None = None) -> None:
        self._free = free

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, _: bytes) -> None:
        if self._free is not None:
            self._free.release()


def _same(protocol: _Near) -> _Near:
    return protocol


async def _connect(port: int, protocols: Sequence[_Near]) -> None:
    for protocol in protocols:
        await asyncio.get_running_loop().create_connection(partial(_same, protocol), "127.0.0.1", port)


async def cpu_of_write(connections: int) -> float:
    """The CPU-seconds of writing one event to one of many connections, each with a reader on this machine."""
    near = [_Near() for _ in range(connections)]
    with _far_end(b"", connections) as port:
        await _connect(port, near)
        spent = 0.0
        for number in range(_ROUNDS):
            started = time.process_time()
            for index in range(_EACH):
                near[(number * _EACH + index) % connections].transport.write(_EVENT)
            await asyncio.sleep(0)  # the event loop writes now
            spent += time.process_time() - started
            await asyncio.sleep(_PAUSE)
        for protocol in near:
            protocol.transport.abort()
    return spent / (_ROUNDS * _EACH)


async def cpu_of_post(connections: int) -> float:
    """The CPU-seconds of sending one POST on an open connection and of reading its answer, without parsing the answer."""
    free = asyncio.Semaphore(_IN_FLIGHT)
    near = [_Near(free) for _ in range(connections)]
    with _far_end(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", connections) as port:
        await _connect(port, near)
        started = time.process_time()
        for number in range(_ROUNDS * _EACH):
            await free.acquire()
            near[number % connections].transport.write(_POST)
        for _ in range(_IN_FLIGHT):
            await free.acquire()
        spent = time.process_time() - started
        for protocol in near:
            protocol.transport.abort()
    return spent / (_ROUNDS * _EACH)
