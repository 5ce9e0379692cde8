"""A chronothermostat on the wire (Spec 2.8): as E12 answers it, and as subscribers are told of it (X6, Decision 0047)."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.domain.events import StateChanged
from domogate.domain.notices import Notice
from domogate.domain.states import Reading, ThermostatFunction, ThermostatMode, ThermostatState, Unit
from domogate.families._wire import Uuid, encode, print_date_time, print_local_time, print_number, print_time
from domogate.services.plants.read_model import ModuleView, PlantView
from domogate.services.webhooks.formats import Printed

# Some receivers tell a notification from a handshake by the second.
_NOTIFICATION_HEADERS = {"content-type": "application/json", "aeg-event-type": "Notification"}

WireMode = Literal["automatic", "manual", "boost", "off", "protection"]
WireScale = Literal["C", "F"]

_FUNCTIONS: dict[ThermostatFunction, Literal["heating", "cooling"]] = {
    ThermostatFunction.HEATING: "heating",
    ThermostatFunction.COOLING: "cooling",
}
_MODES: dict[ThermostatMode, WireMode] = {
    ThermostatMode.AUTOMATIC: "automatic",
    ThermostatMode.MANUAL: "manual",
    ThermostatMode.BOOST: "boost",
    ThermostatMode.OFF: "off",
    ThermostatMode.PROTECTION: "protection",
}
_SCALES: dict[Unit, WireScale] = {Unit.CELSIUS: "C", Unit.FAHRENHEIT: "F"}

LocalTime = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$")]
OffsetTime = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$")]


class SetPoint(msgspec.Struct):
    value: str
    unit: WireScale


class ActiveProgram(msgspec.Struct):
    number: Annotated[int, Meta(ge=0, le=11)]


class Temperature(msgspec.Struct, rename="camel"):
    time_stamp: OffsetTime
    value: str
    unit: WireScale


class Humidity(msgspec.Struct, rename="camel"):
    time_stamp: OffsetTime
    value: str
    unit: Literal["%"]


class Thermometer(msgspec.Struct):
    measures: list[Temperature]


class Hygrometer(msgspec.Struct):
    measures: list[Humidity]


class SenderModule(msgspec.Struct):
    id: Uuid


class SenderPlant(msgspec.Struct):
    id: Uuid
    module: SenderModule


class Sender(msgspec.Struct, rename="camel"):
    address_type: str
    system: str
    plant: SenderPlant


class Chronothermostat(msgspec.Struct, rename="camel", omit_defaults=True):
    """Spec 2.8."""

    function: Literal["heating", "cooling"]
    mode: WireMode
    temperature_format: WireScale
    load_state: Literal["active", "inactive"]
    time: OffsetTime
    sender: Sender
    set_point: SetPoint | UnsetType = UNSET
    programs: list[ActiveProgram] | UnsetType = UNSET
    activation_time: LocalTime | UnsetType = UNSET
    thermometer: Thermometer | UnsetType = UNSET
    hygrometer: Hygrometer | UnsetType = UNSET


class ChronothermostatStatus(msgspec.Struct):
    """E12's answer."""

    chronothermostats: list[Chronothermostat]


class Notification(msgspec.Struct, rename="camel"):
    """What a subscriber is sent, in a list (X6): a thermostat as E12 shows it."""

    id: str
    event_type: Literal["DeviceToCloud"]
    subject: str
    event_time: str
    data: ChronothermostatStatus


def kept_wire(state: ThermostatState, view: ModuleView) -> Chronothermostat:
    """Made once a state: only the thermostat's clock moves between two reports."""
    kept: tuple[ThermostatState, Chronothermostat] | None = view.encodings.get("E12")
    if kept is None or kept[0] is not state:
        kept = view.encodings["E12"] = (state, _state_to_wire(state, view))
    return kept[1]


def _state_to_wire(state: ThermostatState, view: ModuleView) -> Chronothermostat:
    offset = state.utc_offset_minutes
    shown: dict[str, Any] = {}
    if state.mode is not ThermostatMode.BOOST:
        # The bound 3..40 is Celsius, so the set point is always printed so (Decision 0011).
        shown["set_point"] = SetPoint(print_number(state.set_point), "C")
    if state.mode is ThermostatMode.AUTOMATIC and state.program is not None:
        shown["programs"] = [ActiveProgram(state.program)]
    if state.activation_time is not None:
        shown["activation_time"] = print_local_time(state.activation_time, offset)
    if state.temperature is not None:
        shown["thermometer"] = Thermometer([_temperature_to_wire(state.temperature, offset)])
    if state.humidity is not None:
        humidity = state.humidity
        shown["hygrometer"] = Hygrometer([Humidity(print_time(humidity.at, offset), print_number(humidity.value), "%")])
    return Chronothermostat(
        function=_FUNCTIONS[state.function],
        mode=_MODES[state.mode],
        temperature_format=_SCALES[state.scale],
        load_state="active" if state.load_active else "inactive",
        time="",
        sender=sender_to_wire(view),
        **shown,
    )


def _temperature_to_wire(reading: Reading, offset: int) -> Temperature:
    return Temperature(print_time(reading.at, offset), print_number(reading.value), _SCALES[reading.unit])


def sender_to_wire(view: ModuleView) -> Sender:
    """Made once: nothing in it changes with the thermostat's state."""
    sender: Sender | None = view.encodings.get("E12 sender")
    if sender is None:
        sender = view.encodings["E12 sender"] = Sender(
            "addressLocation", "thermoregulation", SenderPlant(view.plant_id, SenderModule(view.module.id))
        )
    return sender


def print_notification(notice: Notice, plant: PlantView) -> Printed | None:
    """Of a thermostat that is there: of one that is not, E12 would show nothing either."""
    event = notice.event
    if not isinstance(event, StateChanged) or not isinstance(event.state, ThermostatState) or not event.reachable:
        return None
    wire = _state_to_wire(event.state, plant.modules[event.module_id])
    wire.time = print_time(event.at, event.state.utc_offset_minutes)
    subject = f"/plants/{event.plant_id}/modules/{event.module_id}"
    told = Notification(
        str(notice.cursor), "DeviceToCloud", subject, print_date_time(notice.at), ChronothermostatStatus([wire])
    )
    return Printed(encode([told]), _NOTIFICATION_HEADERS)
