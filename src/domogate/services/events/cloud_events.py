"""Notices as CloudEvents 1.0 in JSON: one text for streams and webhooks, printed once for all who get it."""

from datetime import datetime
from typing import Any

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.events import PlantChanged, StateChanged
from domogate.domain.notices import Notice
from domogate.domain.plants import Module
from domogate.services.plants.read_model import PlantView
from domogate.wire import Shown, moment
from domogate.wire.states import ShownState, show_state

MEDIA_TYPE = "application/cloudevents+json"

_encode = msgspec.json.Encoder().encode


class ModuleData(Shown, frozen=True):
    """What a module is in; `state` is null when it never reported one.

    Why it cannot be reached is for operators: the evidence may name machines that are no business of an application.
    """

    plant_id: str
    module_id: str
    kind: DeviceKind
    name: str
    reachable: bool
    absent_since: datetime | None
    state: ShownState | None


class PlantData(Shown, frozen=True):
    plant_id: str


class CloudEvent(msgspec.Struct, frozen=True):
    """The attributes of the standard, spelled as it has them. `source` and `id` together tell a duplicate."""

    specversion: str
    id: str
    source: str
    type: str
    subject: str
    time: datetime
    datacontenttype: str
    data: Any


def print_notice(notice: Notice, plant: PlantView, source: str) -> bytes:
    """`source` is the gateway's own URL."""
    event = notice.event
    subject, data = _print_module(event, plant) if isinstance(event, StateChanged) else _print_plant(event)
    return _encode(
        CloudEvent(
            specversion="1.0",
            id=str(notice.cursor),
            source=source,
            type=f"domogate.{notice.kinds[0]}",
            subject=subject,
            time=moment(notice.at),
            datacontenttype="application/json",
            data=data,
        )
    )


def show_module(module: Module, event: StateChanged) -> ModuleData:
    return ModuleData(
        plant_id=event.plant_id,
        module_id=event.module_id,
        kind=module.kind,
        name=module.name,
        reachable=event.reachable,
        absent_since=None if event.absence is None else moment(event.absence.since),
        state=None if event.state is None else show_state(event.state),
    )


def _print_module(event: StateChanged, plant: PlantView) -> tuple[str, ModuleData]:
    module = plant.modules[event.module_id].module
    return f"plants/{event.plant_id}/modules/{event.module_id}", show_module(module, event)


def _print_plant(event: PlantChanged) -> tuple[str, PlantData]:
    return f"plants/{event.plant_id}", PlantData(event.plant_id)
