"""A small HTTP balancer: it chooses a gateway at random for each request, and passes all bytes unchanged.

It reads only as much of a message as it needs to find its end. After a request whose end it cannot find, the connection stays
with its gateway. Gateways that are not ready get no requests.
"""

import asyncio
import random
import re
from collections.abc import Sequence
from contextlib import suppress

_HEAD = 1 << 20
_CHUNK = 65_536
_CHECK_SECONDS = 0.2
_CHECK_DEADLINE = 2.0
_BODY_DEADLINE = 10.0

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Balancer:
    """Listens on a port of this machine, in front of gateways on other ports."""

    def __init__(self, port: int, gateways: Sequence[int], seed: int | None = None) -> None:
        self._port = port
        self._gateways = gateways
        self._ready = set(gateways)
        self._choose = random.Random(seed)
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=_HEAD)
        for port in self._gateways:
            self._keep(asyncio.create_task(self._check(port)))

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _keep(self, task: "asyncio.Task[None]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # which gateways are ready

    async def _check(self, port: int) -> None:
        while True:
            (self._ready.add if await _is_ready(port) else self._ready.discard)(port)
            await asyncio.sleep(_CHECK_SECONDS)

    async def _connect(self) -> Connection:
        """Connect to a ready gateway or, if there is none, to any gateway."""
        ports = sorted(self._ready) or list(self._gateways)
        self._choose.shuffle(ports)
        for port in ports:
            with suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", port, limit=_HEAD)
        raise ConnectionRefusedError

    # one client

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._keep(task)
        try:
            while await self._pass_request(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError, TimeoutError):
            pass
        finally:
            writer.close()

    async def _pass_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Pass one request and its answer. Return False if the connection must be closed."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as ended:
            if ended.partial:
                await self._tunnel((reader, writer), ended.partial)
            return False
        length = _body_length(head)
        if length is None or length < 0 or b"\r\nexpect:" in head.lower():
            await self._tunnel((reader, writer), head)
            return False
        inner_reader, inner_writer = await self._connect()
        try:
            inner_writer.write(head)
            sending = asyncio.ensure_future(_copy(reader, inner_writer, length))
            try:
                keeps = await _pass_answer(inner_reader, writer, is_head=head.startswith(b"HEAD "))
                if keeps:  # The gateway may have answered before the whole body arrived.
                    async with asyncio.timeout(_BODY_DEADLINE):
                        await sending
            finally:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
            return keeps
        finally:
            inner_writer.close()

    async def _tunnel(self, client: Connection, first: bytes) -> None:
        inner = await self._connect()
        inner[1].write(first)

        async def back() -> None:
            await _copy(inner[0], client[1], None)
            client[1].close()

        async def forth() -> None:
            await _copy(client[0], inner[1], None)
            with suppress(OSError):
                inner[1].write_eof()

        try:
            await asyncio.gather(back(), forth())
        finally:
            inner[1].close()


async def _pass_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_head: bool) -> bool:
    """Pass one answer. Return True if the connection can be used again."""
    head = await reader.readuntil(b"\r\n\r\n")
    writer.write(head)
    status = int(head[9:12])
    if is_head or status in (204, 304):
        await writer.drain()
    elif b"\r\ntransfer-encoding: chunked" in head.lower():
        await _copy_chunks(reader, writer)
    else:
        length = _body_length(head)
        await _copy(reader, writer, length if length is not None and b"\r\ncontent-length:" in head.lower() else None)
        if b"\r\ncontent-length:" not in head.lower():
            return False
    return b"\r\nconnection: close" not in head.lower()


def _body_length(head: bytes) -> int | None:
    """Return the length of the body, or None if it cannot be known from the head."""
    lower = head.lower()
    if b"\r\ntransfer-encoding:" in lower or b"\r\nupgrade:" in lower:
        return None
    lengths = re.findall(rb"\r\ncontent-length:[ \t]*([^\r\n]*)\r\n", lower)
    if not lengths:
        return 0
    return int(lengths[0]) if len(lengths) == 1 and lengths[0].isdigit() else None


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int | None) -> None:
    """Copy this number of bytes, or all bytes."""
    while length is None or length > 0:
        data = await reader.read(_CHUNK if length is None else min(_CHUNK, length))
        if not data:
            if length is not None:
                raise asyncio.IncompleteReadError(b"", length)
            return
        writer.write(data)
        await writer.drain()
        if length is not None:
            length -= len(data)
    await writer.drain()


async def _copy_chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        line = await reader.readuntil(b"\r\n")
        writer.write(line)
        size = int(line.split(b";")[0], 16)
        await _copy(reader, writer, size + 2)
        if size == 0:
            return


async def _is_ready(port: int) -> bool:
    try:
        async with asyncio.timeout(_CHECK_DEADLINE):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n")
                return (await reader.readline()).startswith(b"HTTP/1.1 200")
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
