"""Notices: committed changes as applications are told of them, by streams and webhooks alike."""

from enum import StrEnum

import msgspec

from domogate.domain.devices import EMERGENCY_KINDS, DeviceKind
from domogate.domain.events import PlantAspect, PlantChanged, StateChanged
from domogate.domain.ids import Id


class NoticeKind(StrEnum):
    """What an application can ask to be told of. Members are the words on the wire."""

    STATE = "state"
    """A module reported what it is in now."""
    REACHABILITY = "reachability"
    """A module went away or came back."""
    SAFETY = "safety"
    """An emergency light or its controller reported: failures, tests, alert."""
    PLANT = "plant"
    """A plant's facts or what stands in it changed: read it anew."""
    PEOPLE = "people"
    """Who may see a plant changed."""


class Notice(msgspec.Struct, frozen=True, gc=False):
    """A change that somebody may want to hear of. `kinds` are all it is one of; the first is what it is called."""

    cursor: int
    at: float
    event: StateChanged | PlantChanged
    kinds: tuple[NoticeKind, ...]

    @property
    def plant_id(self) -> Id:
        return self.event.plant_id

    @property
    def module_id(self) -> Id | None:
        return self.event.module_id if isinstance(self.event, StateChanged) else None


_OF_PLANTS: dict[PlantAspect, tuple[NoticeKind, ...]] = {
    PlantAspect.FACTS: (NoticeKind.PLANT,),
    PlantAspect.PEOPLE: (NoticeKind.PEOPLE,),
    PlantAspect.FAULTS: (),
}


def kinds_of_state(event: StateChanged, kind: DeviceKind) -> tuple[NoticeKind, ...]:
    """A module that turned up with a new state is told to those who want states as well."""
    reported = NoticeKind.SAFETY if kind in EMERGENCY_KINDS else NoticeKind.STATE
    return (NoticeKind.REACHABILITY, reported) if event.turned else (reported,)


def kinds_of_plant(event: PlantChanged) -> tuple[NoticeKind, ...]:
    return _OF_PLANTS[event.aspect]
