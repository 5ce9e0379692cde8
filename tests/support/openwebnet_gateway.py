"""A simulated gateway with a bus: sessions, the three proofs of the password, devices, and faults on demand.

It reads and writes frames as plain text, without the code of the driver, so it does not share the driver's errors. Its
answers follow the published tables of WHO 0, 1, 2, 4, 13 and 18.
"""

import asyncio
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

from domogate.drivers.openwebnet.passwords import Algorithm, answer_open
from support.openwebnet_bus import BusLight, Device
from support.ports import free_port

ACK, NACK, BUSY = "*#*1##", "*#*0##", "*#*6##"

IN_EVENTS = {("1", "1"), ("1", "12")}
"""WHO and dimension whose answer comes in the event session only, after the ACK in the command session (WHO 1)."""


class BusGateway:
    """An async context. `told` has the received commands and `asked` the received requests, in order."""

    def __init__(self, *devices: Device, password: str = "", proof: str = "open") -> None:
        self.devices = list(devices)
        self.password = password
        self.proof = proof
        """open, sha1 or sha256; used when there is a password."""
        self.port = free_port()
        self.told: list[str] = []
        self.asked: list[str] = []
        self.sessions = {"0": 0, "1": 0}
        self.wrong_passwords = 0
        # faults
        self.silent: set[str] = set()
        """Addresses whose device ignores commands and never answers; the gateway itself sends ACK."""
        self.refused: set[str] = set()
        """Addresses that always get a NACK."""
        self.disobedient: set[str] = set()
        """Addresses whose commands get a NACK; they can be read."""
        self.busy: set[str] = set()
        """Addresses whose requests the gateway cannot send now, because the bus is busy."""
        self.mute = False
        """The gateway receives everything, but answers nothing in command sessions."""
        self.delay = 0.0
        self.hangs_up_on_wrong_password = False
        self.proves_itself_with: str | None = None
        self.hangs_up_before_answering = False
        self.full = False
        """The gateway opens no more sessions."""
        self._server: asyncio.Server | None = None
        self.connections: dict[asyncio.StreamWriter, str] = {}
        self._handlers: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.shut()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def shut(self) -> None:
        """Close all connections and accept no new ones."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None
        handlers = tuple(self._handlers)
        for handler in handlers:
            handler.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)

    async def drop_connections(self) -> None:
        for writer in tuple(self.connections):
            writer.close()
        await asyncio.sleep(0)

    @property
    def listeners(self) -> int:
        return sum(kind == "1" for kind in self.connections.values())

    async def happen(self, *frames: str) -> None:
        """Send these events to all event sessions."""
        for writer, kind in tuple(self.connections.items()):
            if kind == "1" and not writer.is_closing():
                writer.write("".join(frames).encode("latin-1"))
                with suppress(ConnectionError):
                    await writer.drain()

    def say(self, frame: str) -> None:
        """Send a frame in each command session, without a request."""
        for writer, kind in self.connections.items():
            if kind == "0":
                writer.write(frame.encode())

    def device(self, who: str, where: str) -> Device:
        return next(device for device in self.devices if device.who == who and device.where == where)

    # sessions

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        self.connections[writer] = ""
        try:
            if (kind := await self._greet(reader, writer)) is not None:
                self.sessions[kind] += 1
                self.connections[writer] = kind
                await self._converse(reader, writer, kind)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # the client disconnected, or the test is over
        finally:
            del self.connections[writer]
            self._handlers.discard(task)
            writer.close()

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str | None:
        writer.write(ACK.encode())
        wanted = await _read(reader)
        if wanted not in ("*99*0##", "*99*1##") or self.full:
            writer.write(NACK.encode())
            return None
        if self.password and not await self._challenge(reader, writer):
            self.wrong_passwords += 1
            if not self.hangs_up_on_wrong_password:
                writer.write(NACK.encode())
            await writer.drain()
            return None
        if not self.password or self.proof == "open":
            writer.write(ACK.encode())
        return wanted[4]

    async def _challenge(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if self.proof == "open":
            nonce = str(random.randrange(10**8, 10**10))
            writer.write(f"*#{nonce}##".encode())
            return await _read(reader) == f"*#{answer_open(self.password, nonce)}##"
        algorithm = Algorithm.SHA1 if self.proof == "sha1" else Algorithm.SHA256
        writer.write(f"*98*{algorithm}##".encode())
        if await _read(reader) != ACK:
            return False
        ours = algorithm.make_nonce()
        writer.write(f"*#{ours}##".encode())
        theirs, _, digest = (await _read(reader)).removeprefix("*#").removesuffix("##").partition("*")
        if digest != algorithm.prove_as_client(ours, theirs, self.password):
            return False
        known = self.proves_itself_with or self.password
        writer.write(f"*#{algorithm.prove_as_gateway(ours, theirs, known)}##".encode())
        return await _read(reader) == ACK

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: str) -> None:
        while True:
            frame = await _read(reader)
            if kind == "1":
                continue  # an event session has no requests
            tags = frame.removesuffix("##").split("*")[1:]
            is_question = frame.startswith("*#") and not (len(tags) > 2 and tags[2].startswith("#"))
            (self.asked if is_question else self.told).append(frame)
            if self.delay:
                await asyncio.sleep(self.delay)
            if self.hangs_up_before_answering:
                return
            answer, events = self._answer(tags)
            if not self.mute:
                writer.write("".join(answer).encode())
                await writer.drain()
            await self.happen(*events)

    # the bus

    def _answer(self, tags: list[str]) -> tuple[list[str], list[str]]:
        """The answer in the command session, and the events on the bus."""
        where = tags[2] if not tags[0].startswith("#") and len(tags) == 3 else tags[1] if len(tags) > 1 else ""
        if where in self.refused:
            return [NACK], []
        if where in self.busy:
            return [BUSY], []
        if tags[0] == "#13":
            told = {"15": "*#13**15*200##", "16": "*#13**16*3*1*27##"}.get(tags[2] if len(tags) > 2 else "")
            return ([told, ACK] if told else [NACK]), []
        who = tags[0].removeprefix("#")
        meant = [device for device in self.devices if device.who == who and device.is_meant_by(where)]
        if not meant:
            return ([ACK], []) if where in self.silent else ([NACK], [])
        able = [device for device in meant if device.where not in self.silent]
        if where in self.disobedient and (not tags[0].startswith("#") or (len(tags) > 2 and tags[2].startswith("#"))):
            return [NACK], []
        if not tags[0].startswith("#"):
            return self._command(tags[1], where, able)
        if len(tags) == 2:
            states = [frame for device in able for frame in device.status()]
            return [*states, ACK], states
        return self._dimension(who, tags[2], tags[3:], able)

    def _command(self, what: str, where: str, able: list[Device]) -> tuple[list[str], list[str]]:
        events = [frame for device in able for frame in device.obey(what)]
        if able and where != able[0].where and able[0].who in ("1", "2"):
            events.insert(0, f"*{able[0].who}*{what}*{where}##")
        for device in able:
            if isinstance(device, BusLight) and what == "18":
                task = asyncio.create_task(self._open_again(device))
                self._handlers.add(task)
                task.add_done_callback(self._handlers.discard)
        return [ACK], events

    async def _open_again(self, relay: BusLight) -> None:
        await asyncio.sleep(0.05)
        relay.on = False
        await self.happen(*relay.status())

    def _dimension(self, who: str, dimension: str, values: list[str], able: list[Device]) -> tuple[list[str], list[str]]:
        if dimension.startswith("#"):
            written = [device.write(dimension[1:], values) for device in able]
        else:
            written = [device.read(dimension) for device in able]
        if None in written:
            return [NACK], []
        frames = [frame for one in written for frame in one or ()]
        if dimension.startswith("#") or (who, dimension) in IN_EVENTS:
            return [ACK], frames
        return [*frames, ACK], frames


async def _read(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"##")).decode("ascii", "replace").strip()


@contextmanager
def running_bus(*devices: Device) -> Iterator[BusGateway]:
    """A gateway that runs on its own thread, for tests without a loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    gateway = BusGateway(*devices)
    try:
        asyncio.run_coroutine_threadsafe(gateway.open(), loop).result(60)
        yield gateway
    finally:
        asyncio.run_coroutine_threadsafe(gateway.shut(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
