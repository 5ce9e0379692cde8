"""Whether what a permission says still holds: asked anew each time, of what is true at that moment."""

from typing import Protocol

from domogate.domain.commands import Command, OpenLock, SwitchCamera
from domogate.domain.devices import DeviceKind
from domogate.domain.people import Scope, User
from domogate.domain.plants import PlantStatus
from domogate.ports import GrantStore
from domogate.services.authorization.identity_cache import IdentityCache, IdentityStore
from domogate.services.plants.read_model import ModuleView, ReadModel
from domogate.services.tickets.issuing import TicketAction, is_foreign_grant
from domogate.services.tickets.permits import Permit
from domogate.services.tickets.refusals import NotRedeemed, Reason

SCOPE = Scope.AUDIOVIDEO_READ
"""What lets an application ask for tickets (E11, E15), and must still let it when they are redeemed."""

KIND_OF: dict[TicketAction, DeviceKind] = {
    TicketAction.OPEN: DeviceKind.LOCK,
    TicketAction.VIDEO_OUT: DeviceKind.AUDIOVIDEO_UNIT,
}
COMMAND_OF: dict[TicketAction, Command] = {
    TicketAction.OPEN: OpenLock(),
    TicketAction.VIDEO_OUT: SwitchCamera(on=True),
}


class StandingStore(IdentityStore, GrantStore, Protocol):
    """Grants, users and clients."""


class StandingRights:
    """Asks the store for grants, and what the feed keeps true for people, applications and the plant."""

    def __init__(self, store: StandingStore, read_model: ReadModel) -> None:
        self._store = store
        self._known = IdentityCache(store)
        self._read_model = read_model

    async def find_module(self, permit: Permit) -> ModuleView:
        """The module, if its user may still do this to it. Raises NotRedeemed."""
        user = await self._known.find_user(permit.user_id)
        if user is None or not user.active:
            raise _withdrawn("its user does not exist here any more")
        await self._check_application(permit)
        _check_standing(user)
        plant = await self._read_model.get_plant(permit.plant_id)
        if plant is None or plant.plant.status is not PlantStatus.ACTIVE:
            raise NotRedeemed(Reason.NO_SUCH_DEVICE, "its plant does not exist any more")
        if permit.user_id not in plant.readers:
            raise _withdrawn("its user has no right on the plant any more")
        module = plant.modules.get(permit.module_id)
        if module is None or module.module.kind is not KIND_OF[permit.action]:
            raise NotRedeemed(Reason.NO_SUCH_DEVICE, f"its plant has no such {KIND_OF[permit.action]} any more")
        return module

    async def _check_application(self, permit: Permit) -> None:
        client = await self._known.find_client(permit.client_id)
        if client is None:
            raise _withdrawn("its application is not registered here any more")
        if is_foreign_grant(permit.grant_id):
            # Only the other issuer knows the grant; what is ours to withdraw is what the client is registered for.
            if SCOPE not in client.scopes:
                raise _withdrawn(f"its application may not have the scope {SCOPE} any more")
            return
        grant = await self._store.find_grant(permit.grant_id)
        if grant is None or grant.revoked_at is not None or (grant.user_id, grant.client_id) != (permit.user_id, client.id):
            raise _withdrawn("its user has withdrawn what they had granted the application")
        if SCOPE not in grant.scopes:
            raise _withdrawn(f"its application has not been granted the scope {SCOPE}")


def _check_standing(user: User) -> None:
    """469 before 470, as everywhere."""
    if user.standing.password_is_due:
        raise NotRedeemed(Reason.PASSWORD_TO_RENEW, "the user must renew their password on their account page")
    if user.standing.terms_are_due:
        raise NotRedeemed(Reason.TERMS_TO_ACCEPT, "the user must accept the terms and conditions on their account page")


def _withdrawn(message: str) -> NotRedeemed:
    return NotRedeemed(Reason.WITHDRAWN, message)
