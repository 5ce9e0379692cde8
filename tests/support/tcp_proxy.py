"""A TCP proxy in front of a server. It can delay all bytes, or stop them as a broken network does."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_CHUNK = 65_536


class _Turns:
    """Counts the round trips of one connection, from the first time that the client sends the marker."""

    def __init__(self, proxy: "TcpProxy", marker: bytes) -> None:
        self._proxy, self._marker, self._asks, self.is_marked = proxy, marker, False, False

    def note_question(self, data: bytes) -> None:
        self.is_marked = self.is_marked or (bool(self._marker) and self._marker in data)
        if self.is_marked and not self._asks:
            self._asks = True
            self._proxy.round_trips += 1

    def note_answer(self, _data: bytes) -> None:
        self._asks = False


class TcpProxy:
    """Passes bytes to a port of this machine or to a Unix socket."""

    def __init__(self, target: int | Path, delay: float = 0.0, marker: bytes = b"") -> None:
        """`delay`: the seconds that each byte is late, in each direction. `marker`: see `round_trips`."""
        self.cut_at = b""
        """If a client sends these bytes, they and all later bytes of its connection are lost."""
        self._target = target
        self._delay = delay
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._marker = marker
        self.round_trips = 0
        """How often a client sent something after an answer, on connections on which it has sent the marker."""
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def cut(self) -> None:
        """From now on no byte passes. Connections stay open, as after a broken cable."""
        self._open.clear()

    def drop(self) -> None:
        """Close the open connections. New connections are served."""
        for task in tuple(self._connections):
            task.cancel()

    def heal(self) -> None:
        self._open.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._open.wait()
            if isinstance(self._target, Path):
                inner = await asyncio.open_unix_connection(str(self._target))
            else:
                inner = await asyncio.open_connection("127.0.0.1", self._target)
            try:
                turns = _Turns(self, self._marker)
                await asyncio.gather(
                    self._pass(reader, inner[1], turns.note_question), self._pass(inner[0], writer, turns.note_answer)
                )
            finally:
                inner[1].close()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, note: Callable[[bytes], None]) -> None:
        """Pass bytes until one side closes. The two directions are independent."""
        if self._delay:
            await self._pass_late(reader, writer)
            return
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                note(data)
                await self._open.wait()
                passed, lost, _ = data.partition(self.cut_at) if self.cut_at else (data, b"", b"")
                writer.write(passed)
                await writer.drain()
                if lost:
                    await asyncio.Event().wait()
        writer.close()

    async def _pass_late(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while data := await reader.read(_CHUNK):
            await self._open.wait()
            loop.call_later(self._delay, writer.write, data)
        loop.call_later(self._delay, writer.close)
