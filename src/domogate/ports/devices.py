"""What drives devices, and what carries orders and questions to it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from domogate.domain.commands import Order
from domogate.domain.estate import FirstState
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.states import Report


class AttachedModule(msgspec.Struct, frozen=True):
    """A module as a driver is given it: what it is, and its last known state to go on from.

    `reported_at` is 0.0 where no driver has vouched for that state yet: it came from an estate file, or the options changed.
    """

    module: Module
    last: FirstState
    reported_at: float = 0.0


class Picture(msgspec.Struct, frozen=True):
    """What a camera sees at this moment."""

    media_type: str
    content: bytes


ReportSink = Callable[[Sequence[Report]], Awaitable[None]]


class Driver(Protocol):
    """Reports states, readings and reachability; carries out orders within their deadline.

    It keeps its own connections up, and says of each module that it lost why (`Report.absence`). What it cannot mend itself it
    raises: whoever supervises it stops it, waits, starts it and attaches its plants again.
    """

    name: str

    async def start(self, report: ReportSink) -> None:
        """Returns once it can be given plants, connected or not. `report` may take its time: await it, lose nothing newer."""
        ...

    async def stop(self) -> None: ...
    async def wait_failed(self) -> Exception:
        """Returns when the driver as a whole cannot go on; one that can never fail waits for ever."""
        ...

    async def attach(self, plant_id: Id, modules: Sequence[AttachedModule]) -> None:
        """Drive these modules of the plant from now on, and only these; called again when the plant changed.

        Returns at once: what takes time (a connection, a first answer) goes on behind it. A module that cannot be driven as its
        options are is reported absent (Why.MISCONFIGURED); the others are driven.
        """
        ...

    async def detach(self, plant_id: Id) -> None: ...
    async def execute(self, order: Order) -> Report:
        """Carry the order out and say what the module is in now, as it confirmed it.

        Sends it at most once, never after its deadline. Raises DeviceOffline, DeviceTimeout or DeviceRefused.
        """
        ...

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        """Ask the module. Raises DeviceTimeout; a module known to be offline is a report with reachable=False."""
        ...

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        """What a camera that is on sees. Raises DeviceOffline, DeviceTimeout; DeviceRefused when it is off or gives none."""
        ...


class DeviceHost(Protocol):
    """Whoever drives a plant: the far end of the fabric."""

    async def execute(self, order: Order) -> Report: ...
    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report: ...
    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture: ...


class Fabric(Protocol):
    """Carries motion between processes: orders and questions to whoever drives the plant, each under its deadline."""

    def serve(self, host: DeviceHost) -> None: ...
    async def execute(self, order: Order) -> Report:
        """Raises DeviceOffline when nobody drives the plant, DeviceTimeout at the deadline, else what the driver raised."""
        ...

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report: ...
    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture: ...
