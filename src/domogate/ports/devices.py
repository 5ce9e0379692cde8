"""The ports of drivers, and of the fabric that carries orders and questions to them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol, runtime_checkable

import msgspec

from domogate.domain.commands import Order
from domogate.domain.estate import FirstState
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from domogate.domain.states import Report


class AttachedModule(msgspec.Struct, frozen=True):
    """A module with its last known state, as a driver gets it.

    `reported_at` is the time of the last report. It is 0.0 if there was no report, or if the state may be wrong. The state may
    be wrong in three cases: it came from an estate file; the driver or the options of the module were changed after the report;
    an injected fault has ended.
    """

    module: Module
    last: FirstState
    reported_at: float = 0.0


class Picture(msgspec.Struct, frozen=True):
    """A picture of a camera."""

    media_type: str
    content: bytes


ConnectionState = Literal["connected", "connecting", "lost", "unused"]
"""The state of a connection.

`lost`: the driver tries to connect again. `unused`: the connection is closed, because no module needs it.
"""


class ConnectionHealth(msgspec.Struct, frozen=True):
    """The health of the connection to a broker or an OpenWebNet gateway. `problem` is empty unless the connection is lost."""

    name: str
    address: str
    state: ConnectionState
    since: float | None = None
    problem: str = ""


@runtime_checkable
class HasConnections(Protocol):
    """A driver that has connections, for example to MQTT brokers."""

    def list_connections(self) -> Sequence[ConnectionHealth]: ...


ReportSink = Callable[[Sequence[Report]], Awaitable[None]]


class Driver(Protocol):
    """Reports states, readings and reachability, and executes orders before their deadline.

    A driver keeps its own connections. If it cannot reach a module, it reports the reason (`Report.absence`). After an error
    that the driver cannot repair, the supervisor stops the driver and waits. Then it starts the driver again, and attaches the
    plants to the driver again.
    """

    name: str

    async def start(self, report: ReportSink) -> None:
        """Start the driver, and wait until plants can be attached; a connection is not needed yet.

        The driver passes its reports to the function `report` and awaits each call, which may be slow. The driver must keep the
        reports that devices send during such a call.
        """
        ...

    async def stop(self) -> None: ...
    async def wait_failed(self) -> Exception:
        """Wait until the whole driver has failed, and return the error. For a driver that cannot fail, this never returns."""
        ...

    async def attach(self, plant_id: Id, modules: Sequence[AttachedModule]) -> None:
        """Drive exactly these modules of the plant from now on.

        The gateway calls this method again when the plant has changed, or when reports of its modules could not be stored. In
        both cases, report each module whose state or reachability differs from the stored one (`AttachedModule.last`).

        Return at once, and connect in the background. Report a module with wrong options as absent
        (AbsenceReason.MISCONFIGURED), and drive the other modules.
        """
        ...

    async def detach(self, plant_id: Id) -> None: ...
    async def execute(self, order: Order) -> Report:
        """Execute the order and return the state that the module confirmed.

        Send the order at most once, and not after its deadline. Raise DeviceOffline if the module cannot be reached, and
        DeviceRefused if it refuses the order. Raise DeviceTimeout if the module does not confirm the order before the deadline.
        If the module can never execute the order, send nothing and raise CommandNotSupported.
        """
        ...

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        """Ask the module for its state. If the module is offline, return a report with reachable=False.

        Raise DeviceTimeout if the module does not answer before the deadline.
        """
        ...

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float, /) -> Picture:
        """Take a picture. Raise DeviceRefused if the camera is off or sends no picture.

        Raise DeviceOffline if the camera cannot be reached, and DeviceTimeout if it does not answer before the deadline.
        """
        ...


class NotHeld(Exception):
    """This gateway of a cluster does not drive the plant.

    Nothing was sent to a device, so the caller can ask another gateway.
    """


class DeviceHost(Protocol):
    """The part of the gateway that drives plants. It receives orders and questions from the fabric.

    Each method ends at most 0.1 s after its deadline. In these 0.1 s, the outcome of an order is written.

    In a cluster, all methods raise NotHeld for a plant that another gateway drives.
    """

    async def execute(self, order: Order) -> Report: ...
    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report: ...
    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture: ...


class Fabric(Protocol):
    """Carries orders and questions to the process that drives the plant. Each order and each question has a deadline."""

    def serve(self, host: DeviceHost) -> None: ...
    async def execute(self, order: Order) -> Report:
        """Execute the order, and return the report of the driver.

        Raise DeviceOffline if no process drives the plant, DeviceTimeout at the deadline, or the fault that ended the order.
        """
        ...

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report: ...
    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture: ...
