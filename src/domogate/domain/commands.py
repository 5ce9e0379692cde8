"""Wishes: what a module can be told to do."""

from enum import StrEnum

import msgspec

from domogate.domain.faults import DeviceTimeout, Fault
from domogate.domain.ids import Id
from domogate.domain.states import Color, ThermostatFunction, ThermostatMode


class _Command(msgspec.Struct, frozen=True, gc=False, tag_field="do", kw_only=True):
    """Base of all commands: the tag `do` tells them apart where they are stored or carried."""


class SwitchPlug(_Command, tag="switch plug", frozen=True, gc=False):
    on: bool


class SwitchSocket(_Command, tag="switch socket", frozen=True, gc=False):
    socket: int
    on: bool


class SwitchHeater(_Command, tag="switch heater", frozen=True, gc=False):
    on: bool


class SetLight(_Command, tag="set light", frozen=True, gc=False):
    """What is None stays as it is."""

    on: bool | None = None
    level: int | None = None
    color: Color | None = None


class MoveShutter(_Command, tag="move shutter", frozen=True, gc=False):
    position: int


class SetThermostat(_Command, tag="set thermostat", frozen=True, gc=False):
    """What is None stays as it is; the set point is in Celsius."""

    function: ThermostatFunction | None = None
    mode: ThermostatMode | None = None
    set_point: float | None = None
    program: int | None = None
    activation_time: float | None = None


class OpenLock(_Command, tag="open lock", frozen=True, gc=False):
    pass


class Activate(_Command, tag="activate", frozen=True, gc=False):
    pass


class SwitchCamera(_Command, tag="switch camera", frozen=True, gc=False):
    on: bool


Command = SwitchPlug | SwitchSocket | SwitchHeater | SetLight | MoveShutter | SetThermostat | OpenLock | Activate | SwitchCamera


class SceneStep(msgspec.Struct, frozen=True, gc=False):
    """One command of a scene, on a module of the same plant."""

    module_id: Id
    command: Command


class Order(msgspec.Struct, frozen=True, gc=False):
    """A command on its way: for one module, never to be carried out after its deadline nor twice under the same id."""

    id: str
    plant_id: Id
    module_id: Id
    command: Command
    deadline: float

    def repeats(self, other: "Order") -> bool:
        """Whether both ask for the same command on the same module."""
        return (self.plant_id, self.module_id, self.command) == (other.plant_id, other.module_id, other.command)


class OrderState(StrEnum):
    """Where an order is in its life. The last four are ends."""

    QUEUED = "queued"
    """On disk, not sent yet."""
    SENT = "sent"
    """On disk as sent, before the device is told: it is never sent again."""
    CONFIRMED = "confirmed"
    FAILED = "failed"
    """The device refused, or could not be reached."""
    EXPIRED = "expired"
    """Its deadline passed: before it was sent, or (`sent_at` is there) without the device confirming it."""
    UNKNOWN = "unknown"
    """Sent, and the outcome was lost with the process."""

    @property
    def is_end(self) -> bool:
        return self is not OrderState.QUEUED and self is not OrderState.SENT


def end_after(fault: Fault) -> OrderState:
    """The end of an order that was not confirmed because of this fault."""
    return OrderState.EXPIRED if isinstance(fault, DeviceTimeout) else OrderState.FAILED


class OrderRecord(msgspec.Struct, frozen=True, gc=False):
    """An order and what became of it so far."""

    order: Order
    state: OrderState
    queued_at: float
    sent_at: float | None = None
    ended_at: float | None = None
    problem: str = ""
    """For an order that failed: the device's or driver's words."""


class OrderEnd(msgspec.Struct, frozen=True, gc=False):
    """How an order ended. It is written once: a second end of the same order changes nothing."""

    order_id: str
    state: OrderState
    at: float
    problem: str = ""
