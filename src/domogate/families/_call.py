"""What a handler is given: the services it may use, and the call it answers."""

from typing import Any

import msgspec

from domogate.domain.people import Principal
from domogate.domain.plants import Ambient
from domogate.ports import Clock, EchoBackend
from domogate.services.control import Control
from domogate.services.scenes import Scenes
from domogate.services.tickets import Tickets
from domogate.services.world import ModuleView, PlantView, World


class Services(msgspec.Struct, frozen=True):
    """What stands behind the families."""

    world: World
    control: Control
    scenes: Scenes
    tickets: Tickets
    echo: EchoBackend
    clock: Clock
    removed_plants_kept: float
    """Seconds for which E6 still lists a removed plant."""


class Call:
    """A call that has passed all checks up to its own values: who calls, and what of.

    An operation declares by its path which of these are there; the others are never looked at.
    """

    __slots__ = ("ambient", "body", "document", "module", "plant", "principal", "reference")

    principal: Principal
    body: Any
    """The request's body as the operation's type; `document` is the JSON it was read from."""
    document: dict[str, Any]
    plant: PlantView
    ambient: Ambient
    module: ModuleView
    reference: str

    def __init__(self, principal: Principal) -> None:
        self.principal = principal
