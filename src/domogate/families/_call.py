"""The arguments of a handler: the services that it may use, and the call that it answers."""

from typing import Any

import msgspec

from domogate.domain.ids import Id
from domogate.domain.people import Principal
from domogate.domain.plants import Ambient
from domogate.ports import Audit, Clock, EchoBackend
from domogate.services.plants.control import Control
from domogate.services.plants.read_model import ModuleView, PlantView, ReadModel
from domogate.services.plants.scenes import Scenes
from domogate.services.tickets.issuing import Tickets
from domogate.services.webhooks.registration import Webhooks


class ReadServices(msgspec.Struct, frozen=True, kw_only=True):
    """The services that operations use if they only read."""

    read_model: ReadModel
    control: Control
    clock: Clock
    removed_plants_kept: float
    """The seconds for which E6 still lists a removed plant."""


class Services(ReadServices, frozen=True, kw_only=True):
    """The services that the families use."""

    scenes: Scenes
    tickets: Tickets
    webhooks: Webhooks
    echo: EchoBackend
    audit: Audit


_NOT_IN_PATH: Any = None


class Call(msgspec.Struct):
    """A call that has passed all checks except the checks of values in its body.

    `plant` and each later field are set only if the path of the operation has a parameter for the field.
    """

    principal: Principal
    address: str
    """The IP address that the request came from, for the audit log."""
    body: Any = None
    """The request body as an object of the declared type. `document` is the same body as plain JSON."""
    document: Any = None
    plant: PlantView = _NOT_IN_PATH
    ambient: Ambient = _NOT_IN_PATH
    module: ModuleView = _NOT_IN_PATH
    subscription_id: Id = _NOT_IN_PATH
    reference: str = _NOT_IN_PATH
