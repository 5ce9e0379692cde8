"""The JSON of a chronothermostat (Spec 2.8), for the answers of E12 and X9 and for notifications (X6, Decision 0047)."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from domogate.domain.events import StateChanged
from domogate.domain.notices import Notice
from domogate.domain.states import Reading, ThermostatFunction, ThermostatMode, ThermostatState, Unit
from domogate.families._wire import Uuid, encode, print_date_time, print_local_time, print_number, print_time
from domogate.services.plants.read_model import ModuleView, PlantView
from domogate.services.webhooks.formats import Printed

# Some receivers use the second header to distinguish a notification from a handshake.
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
    """A chronothermostat in an answer (Spec 2.8)."""

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
    """The body of the answer to E12: the status of one chronothermostat."""

    chronothermostats: list[Chronothermostat]


class Measures(msgspec.Struct, omit_defaults=True):
    """The body of the answer to X9: the measured values of a chronothermostat, without its settings."""

    thermometer: Thermometer | UnsetType = UNSET
    hygrometer: Hygrometer | UnsetType = UNSET


class Notification(msgspec.Struct, rename="camel"):
    """One item of the list that a subscriber receives (X6). It shows a thermostat in the same form as E12."""

    id: str
    event_type: Literal["DeviceToCloud"]
    subject: str
    event_time: str
    data: ChronothermostatStatus


def cached_wire(state: ThermostatState, view: ModuleView) -> Chronothermostat:
    """Return the JSON model of a state. It is cached until the next report.

    Between two reports only the time of the thermostat's clock changes. So the caller sets the field `time` for each answer.
    """
    cached: tuple[ThermostatState, Chronothermostat] | None = view.encodings.get("E12 model")
    if cached is None or cached[0] is not state:
        cached = view.encodings["E12 model"] = (state, _state_to_wire(state, view))
    return cached[1]


def measures_to_wire(state: ThermostatState, view: ModuleView) -> Measures:
    wire = cached_wire(state, view)
    return Measures(wire.thermometer, wire.hygrometer)


def _state_to_wire(state: ThermostatState, view: ModuleView) -> Chronothermostat:
    offset = state.utc_offset_minutes
    fields: dict[str, Any] = {}
    if state.mode is not ThermostatMode.BOOST:
        # The range 3..40 is in Celsius, so the set point is always printed in Celsius (Decision 0011).
        fields["set_point"] = SetPoint(print_number(state.set_point), "C")
    if state.mode is ThermostatMode.AUTOMATIC and state.program is not None:
        fields["programs"] = [ActiveProgram(state.program)]
    if state.activation_time is not None:
        fields["activation_time"] = print_local_time(state.activation_time, offset)
    if state.temperature is not None:
        fields["thermometer"] = Thermometer([_temperature_to_wire(state.temperature, offset)])
    if state.humidity is not None:
        humidity = state.humidity
        fields["hygrometer"] = Hygrometer([Humidity(print_time(humidity.at, offset), print_number(humidity.value), "%")])
    return Chronothermostat(
        function=_FUNCTIONS[state.function],
        mode=_MODES[state.mode],
        temperature_format=_SCALES[state.scale],
        load_state="active" if state.load_active else "inactive",
        time="",
        sender=sender_to_wire(view),
        **fields,
    )


def _temperature_to_wire(reading: Reading, offset: int) -> Temperature:
    return Temperature(print_time(reading.at, offset), print_number(reading.value), _SCALES[reading.unit])


def sender_to_wire(view: ModuleView) -> Sender:
    """Return the field `sender` of the answer. It is cached, because it does not depend on the state."""
    sender: Sender | None = view.encodings.get("E12 sender")
    if sender is None:
        sender = view.encodings["E12 sender"] = Sender(
            "addressLocation", "thermoregulation", SenderPlant(view.plant_id, SenderModule(view.module.id))
        )
    return sender


def print_notification(notice: Notice, plant: PlantView) -> Printed | None:
    """Return the notification. Return None if the event is not about a state of a thermostat, or if the thermostat is offline.

    E12 does not show the state of an offline thermostat either.
    """
    event = notice.event
    if not isinstance(event, StateChanged) or not isinstance(event.state, ThermostatState) or not event.reachable:
        return None
    wire = _state_to_wire(event.state, plant.modules[event.module_id])
    wire.time = print_time(event.at, event.state.utc_offset_minutes)
    subject = f"/plants/{event.plant_id}/modules/{event.module_id}"
    notification = Notification(
        str(notice.cursor), "DeviceToCloud", subject, print_date_time(notice.at), ChronothermostatStatus([wire])
    )
    return Printed(encode([notification]), _NOTIFICATION_HEADERS)
