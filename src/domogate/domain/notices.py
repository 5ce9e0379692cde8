"""Notices: the committed changes that streams and webhooks send to applications."""

from enum import StrEnum

import msgspec

from domogate.domain.devices import EMERGENCY_KINDS, DeviceKind
from domogate.domain.events import PlantAspect, PlantChanged, StateChanged
from domogate.domain.ids import Id


class NoticeKind(StrEnum):
    """The kinds of notices that an application can subscribe to. The APIs for events and webhooks also use these words."""

    STATE = "state"
    """A module reported its state."""
    REACHABILITY = "reachability"
    """A module went offline or online."""
    SAFETY = "safety"
    """A unit or controller of emergency lighting reported its state: its failures, tests or alert."""
    PLANT = "plant"
    """A plant's data (name, address, status and so on) or topology changed. The application should read the plant again."""
    PEOPLE = "people"
    """The members of a plant changed."""


class Notice(msgspec.Struct, frozen=True, gc=False):
    """A change that is sent to applications. It can have several kinds. The first kind is its name on the wire."""

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

    @property
    def members(self) -> tuple[Id, ...]:
        """The users who joined the plant, left it, or got other limits."""
        return self.event.members if isinstance(self.event, PlantChanged) else ()


_OF_PLANTS: dict[PlantAspect, tuple[NoticeKind, ...]] = {
    PlantAspect.FACTS: (NoticeKind.PLANT,),
    PlantAspect.PEOPLE: (NoticeKind.PEOPLE,),
    PlantAspect.FAULTS: (),
}


def kinds_of_state(event: StateChanged, kind: DeviceKind) -> tuple[NoticeKind, ...]:
    """Return the kinds of the notice about a module's report.

    If the report changes the reachability of the module, the notice has two kinds.
    """
    reported = NoticeKind.SAFETY if kind in EMERGENCY_KINDS else NoticeKind.STATE
    return (NoticeKind.REACHABILITY, reported) if event.turned else (reported,)


def kinds_of_plant(event: PlantChanged) -> tuple[NoticeKind, ...]:
    return _OF_PLANTS[event.aspect]
