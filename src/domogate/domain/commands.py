"""Commands to modules, and orders: commands with a deadline and a state."""

from enum import StrEnum

import msgspec

from domogate.domain.faults import DeviceTimeout, Fault
from domogate.domain.ids import Id
from domogate.domain.states import Color, ThermostatFunction, ThermostatMode


class _Command(msgspec.Struct, frozen=True, gc=False, tag_field="do", kw_only=True):
    """Base of all commands. When a command is stored or sent, its field `do` names the type of the command."""


class SwitchPlug(_Command, tag="switch plug", frozen=True, gc=False):
    on: bool


class SwitchSocket(_Command, tag="switch socket", frozen=True, gc=False):
    socket: int
    on: bool


class SwitchHeater(_Command, tag="switch heater", frozen=True, gc=False):
    on: bool


class SetLight(_Command, tag="set light", frozen=True, gc=False):
    """Set a light. The value of a field that is None does not change, with two exceptions (Decision 0067).

    `level` and the field `value` of the colour are the same brightness: if only one of them is set, the other changes too. The
    brightness 0 without `on` switches the light off.
    """

    on: bool | None = None
    level: int | None = None
    color: Color | None = None

    @property
    def brightness(self) -> int | None:
        """The brightness: the level, or the field `value` of the colour if there is no level. None if there is neither."""
        return round(self.color.value) if self.level is None and self.color is not None else self.level

    def find_contradiction(self) -> str | None:
        """Return the reason why no light can execute this command. Return None if the command has no contradiction."""
        if self.on is None and self.level is None and self.color is None:
            return "the command changes nothing: it needs on, level or color"
        if self.on and self.brightness == 0:
            return "a light cannot be on with level 0: leave the level out, or switch the light off"
        return None


class MoveShutter(_Command, tag="move shutter", frozen=True, gc=False):
    position: int


class SetThermostat(_Command, tag="set thermostat", frozen=True, gc=False):
    """Set a thermostat. The set point is in Celsius.

    The value of a field that is None does not change. But a new function, mode or program can also change the set point. A new
    mode can also change the end of the mode (`activation_time`).
    """

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
    """A command for one module. It is not executed after its deadline. Of two orders with the same id, only one is executed."""

    id: str
    plant_id: Id
    module_id: Id
    command: Command
    deadline: float
    user_id: Id | None = None
    """The person who sent the command.

    None if no person sent the command, or if an earlier version of Domogate stored the order.
    """
    once: bool = False
    """Whether this order is refused if an order with the same id was given before.

    If this field is False, the order is refused only if its command or module differs from that of the first order. Otherwise
    it gets the first order's answer. The store does not keep this field.
    """
    is_new: bool = False
    """Whether the id was made for this order, so that no other order has it. The store does not keep this field."""

    def repeats(self, other: "Order") -> bool:
        """Whether this order and `other` have the same command for the same module."""
        return (self.plant_id, self.module_id, self.command) == (other.plant_id, other.module_id, other.command)


class OrderState(StrEnum):
    """The state of an order. CONFIRMED and all states that are listed after it are final."""

    QUEUED = "queued"
    """The order is stored and not sent yet."""
    SENT = "sent"
    """The order is stored as SENT before the device gets the command. An order in this state is never sent again."""
    CONFIRMED = "confirmed"
    FAILED = "failed"
    """The device refused the order or could not be reached, or the driver or the gateway failed."""
    EXPIRED = "expired"
    """The deadline passed before the order was sent, or before the device confirmed it. In the second case `sent_at` is set."""
    UNKNOWN = "unknown"
    """The order was sent, but its outcome was not stored: the process ended too early, or the write of the outcome failed."""

    @property
    def is_end(self) -> bool:
        return self is not OrderState.QUEUED and self is not OrderState.SENT


def end_after(fault: Fault) -> OrderState:
    """Return the final state of an order that ended with this fault."""
    return OrderState.EXPIRED if isinstance(fault, DeviceTimeout) else OrderState.FAILED


class OrderRecord(msgspec.Struct, frozen=True, gc=False):
    """An order with its current state."""

    order: Order
    state: OrderState
    queued_at: float
    sent_at: float | None = None
    ended_at: float | None = None
    problem: str = ""
    """The message of the fault that ended the order (FAILED or EXPIRED). Empty if no fault ended it."""


class OrderEnd(msgspec.Struct, frozen=True, gc=False):
    """The end of an order. It is stored once; a second end of the same order changes nothing."""

    order_id: str
    state: OrderState
    at: float
    problem: str = ""
