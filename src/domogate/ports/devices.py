"""Drivers of devices, and the fabric that carries orders and queries to them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from domogate.domain.commands import Order
from domogate.domain.estate import FirstState
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.states import Report


class AttachedModule(msgspec.Struct, frozen=True):
    """A module, and its last known state, as a driver gets them.

    `reported_at` is 0.0 if no driver has reported this state: it came from an estate file, or the options changed.
    """

    module: Module
    last: FirstState
    reported_at: float = 0.0


class Picture(msgspec.Struct, frozen=True):
    """A picture of a camera."""

    media_type: str
    content: bytes


ReportSink = Callable[[Sequence[Report]], Awaitable[None]]


class Driver(Protocol):
    """Reports states, readings and reachability, and executes orders before their deadline.

    It keeps its own connections. For each module that it loses it reports the reason (`Report.absence`). After an error that
    it cannot repair, the supervisor stops it, waits, starts it and attaches its plants again.
    """

    name: str

    async def start(self, report: ReportSink) -> None:
        """Return when plants can be attached, connected or not. `report` may be slow: await it, and drop no later report."""
        ...

    async def stop(self) -> None: ...
    async def wait_failed(self) -> Exception:
        """Return when the whole driver has failed. A driver that cannot fail never returns."""
        ...

    async def attach(self, plant_id: Id, modules: Sequence[AttachedModule]) -> None:
        """Drive exactly these modules of the plant from now on. It is called again when the plant has changed.

        Return at once; connect in the background. Report a module with wrong options as absent
        (AbsenceReason.MISCONFIGURED), and drive the others.
        """
        ...

    async def detach(self, plant_id: Id) -> None: ...
    async def execute(self, order: Order) -> Report:
        """Execute the order and return the state that the module confirmed.

        Send it at most once, never after its deadline. Raises DeviceOffline, DeviceTimeout or DeviceRefused.
        """
        ...

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        """Ask the module for its state. If it is offline, return a report with reachable=False. Raises DeviceTimeout."""
        ...

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        """Take a picture. Raises DeviceOffline, DeviceTimeout; DeviceRefused if the camera is off or sends no picture."""
        ...


class DeviceHost(Protocol):
    """The receiver of the fabric: the part of the gateway that drives plants."""

    async def execute(self, order: Order) -> Report: ...
    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report: ...
    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture: ...


class Fabric(Protocol):
    """Carries orders and queries to the process that drives the plant, each with a deadline."""

    def serve(self, host: DeviceHost) -> None: ...
    async def execute(self, order: Order) -> Report:
        """Raises DeviceOffline if the plant is not driven, DeviceTimeout at the deadline, or the exception of the driver."""
        ...

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report: ...
    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture: ...
