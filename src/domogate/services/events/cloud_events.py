"""Notices as CloudEvents 1.0 in JSON, for streams and webhooks.

The hub encodes a new notice once for all open streams. `WebhookFormats` keeps the last encoded notices, because
several webhooks may deliver the same notice.
"""

from datetime import datetime

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.events import PlantChanged, StateChanged
from domogate.domain.notices import Notice
from domogate.domain.plants import Module
from domogate.services.plants.read_model import PlantView
from domogate.wire import OutputModel, to_datetime
from domogate.wire.states import StateOut, state_out

MEDIA_TYPE = "application/cloudevents+json"

_encode = msgspec.json.Encoder().encode


class ModuleData(OutputModel, frozen=True):
    """The state of a module. `state` is null if the module never reported a state. `simulated`: the device does not exist.

    The reason why a module cannot be reached is not included. Only operators may see this reason, because it may name machines
    of the network.
    """

    plant_id: str
    module_id: str
    kind: DeviceKind
    name: str
    simulated: bool
    reachable: bool
    absent_since: datetime | None
    state: StateOut | None


class PlantData(OutputModel, frozen=True):
    plant_id: str


class CloudEvent(msgspec.Struct, frozen=True):
    """A CloudEvent with the attribute names of the standard. Two events with the same `source` and `id` are duplicates."""

    specversion: str
    id: str
    source: str
    type: str
    subject: str
    time: datetime
    datacontenttype: str
    data: msgspec.Struct


def encode_event(*, id: str, source: str, type: str, subject: str, at: float, data: msgspec.Struct) -> bytes:
    """Return the CloudEvent as JSON. `source` is the URL of the gateway."""
    return _encode(CloudEvent("1.0", id, source, type, subject, to_datetime(at), "application/json", data))


def print_notice(notice: Notice, plant: PlantView, source: str) -> bytes:
    event = notice.event
    subject, data = _print_module(event, plant) if isinstance(event, StateChanged) else _print_plant(event)
    return encode_event(
        id=str(notice.cursor), source=source, type=f"domogate.{notice.kinds[0]}", subject=subject, at=notice.at, data=data
    )


def show_module(module: Module, event: StateChanged) -> ModuleData:
    return ModuleData(
        plant_id=event.plant_id,
        module_id=event.module_id,
        kind=module.kind,
        name=module.name,
        simulated=module.is_simulated,
        reachable=event.reachable,
        absent_since=None if event.absence is None else to_datetime(event.absence.since),
        state=None if event.state is None else state_out(event.state),
    )


def _print_module(event: StateChanged, plant: PlantView) -> tuple[str, ModuleData]:
    module = plant.modules[event.module_id].module
    return f"plants/{event.plant_id}/modules/{event.module_id}", show_module(module, event)


def _print_plant(event: PlantChanged) -> tuple[str, PlantData]:
    return f"plants/{event.plant_id}", PlantData(event.plant_id)
