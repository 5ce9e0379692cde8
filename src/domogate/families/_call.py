"""The arguments of a handler: the services that it may use, and the call that it answers."""

from typing import Any

import msgspec

from domogate.domain.ids import Id
from domogate.domain.people import Principal
from domogate.domain.plants import Ambient
from domogate.ports import Audit, Clock, EchoBackend
from domogate.services.audit import AuditAction, AuditResult, user_ref
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


class Call:
    """A call that has passed all checks except the checks of values in its body.

    `plant`, `ambient` and `module` are set only if the path of the operation has such a parameter.
    """

    __slots__ = ("address", "ambient", "body", "document", "module", "plant", "principal", "reference", "subscription_id")

    principal: Principal
    address: str
    """The IP address that the request came from, for the audit log."""
    body: Any
    """The request body as an object of the declared type. `document` is the same body as plain JSON."""
    document: dict[str, Any]
    plant: PlantView
    ambient: Ambient
    module: ModuleView
    subscription_id: Id
    reference: str

    def __init__(self, principal: Principal, address: str) -> None:
        self.principal = principal
        self.address = address

    def note(self, audit: Audit, action: AuditAction, *, what: str) -> None:
        """Record in the audit log that the caller did this action to `what`, with the result OK."""
        audit.note(action, who=user_ref(self.principal.user_id), what=what, result=AuditResult.OK, address=self.address)
