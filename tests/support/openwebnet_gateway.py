"""A gateway with a bus behind it, for tests: sessions, the three proofs of the password, devices, and faults on demand.

It reads and writes frames as plain text, with nothing of the driver's own codec: what one gets wrong the other does not share.
What it answers follows the published tables of WHO 0, 1, 2, 4, 13 and 18.
"""

import asyncio
import random
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Self

from domogate.drivers.openwebnet.passwords import Algorithm, answer_open
from support.ports import free_port

ACK, NACK = "*#*1##", "*#*0##"


class BusDevice:
    """Something on the bus. `obey` and `tell` give the frames that the bus then carries."""

    def __init__(self, where: str, *, groups: Iterable[int] = ()) -> None:
        self.where = where
        self.groups = frozenset(groups)

    def is_meant_by(self, where: str) -> bool:
        if where.startswith("#"):
            return int(where[1:]) in self.groups
        return where in ("0", self.where) or (len(where) == 1 and len(self.where) == 2 and self.where[0] == where)

    def obey(self, what: str) -> list[str]:
        """Do it, and say what the bus carries then."""
        raise NotImplementedError

    def status(self) -> list[str]:
        """What it answers to a status request."""
        raise NotImplementedError

    def read(self, dimension: str) -> list[str] | None:
        """None: it does not have that."""
        return None

    def write(self, dimension: str, values: list[str]) -> list[str] | None:
        return None


class BusLight(BusDevice):
    """An actuator: a switch, a dimmer of ten or a hundred levels, or a light with colours."""

    who = "1"

    def __init__(self, where: str, *, levels: int = 1, color: bool = False, groups: Iterable[int] = ()) -> None:
        super().__init__(where, groups=groups)
        self.levels = levels
        self.on = False
        self.level = 100
        self.hsv = (0, 0, 100) if color else None

    def obey(self, what: str) -> list[str]:
        number = int(what.split("#")[0])
        if number in range(2, 11):
            if self.levels == 1:
                return []
            self.level = number * 10
        if number in (30, 31):
            self.level = max(10, min(100, self.level + (10 if number == 30 else -10)))
            return [f"*1*{what}*{self.where}##"]
        self.on = number != 0
        return self.status()

    def status(self) -> list[str]:
        shown = "0" if not self.on else "1" if self.levels == 1 and self.hsv is None else str(max(2, self.level // 10))
        return [f"*1*{shown}*{self.where}##"]

    def read(self, dimension: str) -> list[str] | None:
        if dimension in ("1", "4") and self.levels == 100:
            return [f"*#1*{self.where}*{dimension}*{100 + self.level if self.on else 100}*255##"]
        if dimension == "12" and self.hsv is not None:
            hue, saturation, value = self.hsv
            return [f"*#1*{self.where}*12*{hue}*{saturation}*{value if self.on else 0}##"]
        return None

    def write(self, dimension: str, values: list[str]) -> list[str] | None:
        if dimension == "1" and self.levels == 100:
            level = int(values[0]) - 100
            self.on, self.level = level > 0, level or self.level
        elif dimension == "12" and self.hsv is not None:
            hue, saturation, value = (int(it) for it in values)
            self.hsv, self.on, self.level = (hue, saturation, value), value > 0, value
        else:
            return None
        return self.read(dimension)


class BusShutter(BusDevice):
    """A shutter; an advanced one knows its position. It moves when the test says so (`arrive`)."""

    who = "2"

    def __init__(self, where: str, *, advanced: bool = False, position: int = 0, groups: Iterable[int] = ()) -> None:
        super().__init__(where, groups=groups)
        self.advanced = advanced
        self.position = position
        self.bound_for = position
        self.moving = 0

    def obey(self, what: str) -> list[str]:
        self.moving = {"0": 0, "1": 1, "2": 2}[what]
        self.bound_for = {0: self.position, 1: 100, 2: 0}[self.moving]
        return [f"*2*1000#{what}*{self.where}##", *self.status()]

    def status(self) -> list[str]:
        return [*(self.read("10") or ()), f"*2*{self.moving}*{self.where}##"]

    def read(self, dimension: str) -> list[str] | None:
        if dimension != "10" or not self.advanced:
            return None
        return [f"*#2*{self.where}*10*{10 + self.moving}*{self.position}*000*0##"]

    def write(self, dimension: str, values: list[str]) -> list[str] | None:
        if not dimension.startswith("11") or not self.advanced:
            return None
        self.bound_for = int(values[0])
        self.moving = 0 if self.bound_for == self.position else 1 if self.bound_for > self.position else 2
        return self.read("10")

    def arrive(self) -> list[str]:
        self.position, self.moving = self.bound_for, 0
        return self.status()


class BusZone(BusDevice):
    """A zone of thermoregulation with its probe, or the central unit (where #0)."""

    who = "4"

    def __init__(self, where: str, *, through_central_unit: bool = False) -> None:
        super().__init__(where)
        self.through_central_unit = through_central_unit
        self.mode = "311"
        self.temperature = "0205"
        self.set_point = "0210"
        self.offset = "00"
        self.valves = ("0", "0")
        self.humidity: str | None = None

    def is_meant_by(self, where: str) -> bool:
        return where in (self.where, f"#{self.where}")

    def obey(self, what: str) -> list[str]:
        self.mode = what
        return [f"*4*{what}*{self._answers_as}##"]

    @property
    def _answers_as(self) -> str:
        return f"#{self.where}" if self.through_central_unit else self.where

    def status(self) -> list[str]:
        mode = f"*4*{self.mode}*{self._answers_as}##"
        if self.where == "#0":
            return [mode]
        adjusted = f"*#4*{self.where}*12*{self.set_point}*3##"
        rest = [line for dimension in ("13", "14", "60") for line in self.read(dimension) or ()]
        return [*(self.read("0") or ()), adjusted, mode, *rest]

    def read(self, dimension: str) -> list[str] | None:
        said = {
            "0": self.temperature,
            "13": self.offset,
            "14": f"{self.set_point}*3",
            "19": "*".join(self.valves),
            "60": self.humidity,
        }.get(dimension)
        return None if said is None or self.where == "#0" else [f"*#4*{self.where}*{dimension}*{said}##"]

    def write(self, dimension: str, values: list[str]) -> list[str] | None:
        if dimension != "14":
            return None
        self.set_point, self.mode = values[0], f"{values[1]}10"
        return [f"*#4*{self.where}*0*{self.temperature}##", f"*4*{self.mode}#{self.set_point}*{self._answers_as}##"]


class BusMeter(BusDevice):
    """A meter."""

    who = "18"

    def __init__(self, where: str, *, watts: int = 0, watt_hours: int = 0) -> None:
        super().__init__(where)
        self.watts = watts
        self.watt_hours = watt_hours
        self.updates = 0

    def read(self, dimension: str) -> list[str] | None:
        value = {"113": self.watts, "51": self.watt_hours}.get(dimension)
        return None if value is None else [f"*#18*{self.where}*{dimension}*{value}##"]

    def write(self, dimension: str, values: list[str]) -> list[str] | None:
        if dimension != "1200#1":
            return None
        self.updates = int(values[0])
        return [f"*#18*{self.where}*1200#1*{values[0]}##"]


class BusScenarios(BusDevice):
    """A scenario module."""

    who = "0"

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.started: list[str] = []

    def obey(self, what: str) -> list[str]:
        self.started.append(what)
        return [f"*0*{what}*{self.where}##"]


Device = BusLight | BusShutter | BusZone | BusMeter | BusScenarios

IN_EVENTS = {("1", "1"), ("1", "12")}
"""WHO and dimension that are answered in the event session only, after the ACK in the command session (WHO 1)."""


class BusGateway:
    """Used as an async context. `told` are the commands and `asked` the questions that came, in order."""

    def __init__(self, *devices: Device, password: str = "", proof: str = "open") -> None:
        self.devices = list(devices)
        self.password = password
        self.proof = proof
        """open, sha1 or sha256; asked for where there is a password."""
        self.port = free_port()
        self.told: list[str] = []
        self.asked: list[str] = []
        self.sessions = {"0": 0, "1": 0}
        self.wrong_passwords = 0
        # faults
        self.silent: set[str] = set()
        """Addresses whose device does nothing and never answers; the gateway itself says ACK."""
        self.refused: set[str] = set()
        """Addresses that the gateway says NACK to, whatever they are told or asked."""
        self.disobedient: set[str] = set()
        """Addresses whose commands get a NACK; their status can be asked."""
        self.mute = False
        """The gateway hears everything and says nothing in command sessions."""
        self.delay = 0.0
        self.hangs_up_on_wrong_password = False
        self.proves_itself_with: str | None = None
        self.hangs_up_before_answering = False
        self.full = False
        """Opens no more sessions."""
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.StreamWriter, str] = {}
        self._handlers: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.shut()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def shut(self) -> None:
        """Gone: nobody is connected, nobody can connect."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None
        handlers = tuple(self._handlers)
        for handler in handlers:
            handler.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)

    async def drop_connections(self) -> None:
        for writer in tuple(self._connections):
            writer.close()
        await asyncio.sleep(0)

    @property
    def listeners(self) -> int:
        return sum(kind == "1" for kind in self._connections.values())

    async def happen(self, *frames: str) -> None:
        """The bus carries these: everybody with an event session hears them."""
        for writer, kind in tuple(self._connections.items()):
            if kind == "1" and not writer.is_closing():
                writer.write("".join(frames).encode("latin-1"))
                with suppress(ConnectionError):
                    await writer.drain()

    def say(self, frame: str) -> None:
        """In each command session, by itself."""
        for writer, kind in self._connections.items():
            if kind == "0":
                writer.write(frame.encode())

    def device(self, who: str, where: str) -> Device:
        return next(device for device in self.devices if device.who == who and device.where == where)

    # sessions

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        self._connections[writer] = ""
        try:
            if (kind := await self._greet(reader, writer)) is not None:
                self.sessions[kind] += 1
                self._connections[writer] = kind
                await self._converse(reader, writer, kind)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # they went, or the test is over
        finally:
            del self._connections[writer]
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
                continue  # in an event session nothing is asked
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
        """What the command session is answered, and what the bus then carries."""
        where = tags[2] if not tags[0].startswith("#") and len(tags) == 3 else tags[1] if len(tags) > 1 else ""
        if where in self.refused:
            return [NACK], []
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
            told = [frame for device in able for frame in device.status()]
            return [*told, ACK], told
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
