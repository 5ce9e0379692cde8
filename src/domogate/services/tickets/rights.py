"""Checks whether the user of a ticket may still use the module: for each redemption and each picture."""

from domogate.domain.commands import Command, OpenLock, SwitchCamera
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import NoSuchPlant, NotYourPlant, PasswordToRenew, TermsToAccept
from domogate.domain.people import Scope
from domogate.ports import Clock
from domogate.services.plants.read_model import ModuleView, ReadModel
from domogate.services.rights.access import check_standing, get_access
from domogate.services.rights.grants import GrantEnded, get_grant_holder
from domogate.services.rights.identity_cache import IdentityCache
from domogate.services.tickets.permits import Permit, TicketAction
from domogate.services.tickets.refusals import NotRedeemed, Reason

SCOPE = Scope.AUDIOVIDEO_READ
"""The scope for tickets (E11, E15). The application must still have it when a ticket is redeemed."""

KIND_OF: dict[TicketAction, DeviceKind] = {
    TicketAction.OPEN: DeviceKind.LOCK,
    TicketAction.VIDEO_OUT: DeviceKind.AUDIOVIDEO_UNIT,
}
COMMAND_OF: dict[TicketAction, Command] = {TicketAction.OPEN: OpenLock(), TicketAction.VIDEO_OUT: SwitchCamera(on=True)}


class TicketRights:
    """Checks the grant of a ticket and the rights of its user."""

    def __init__(self, identities: IdentityCache, read_model: ReadModel, clock: Clock) -> None:
        self._identities = identities
        self._read_model = read_model
        self._clock = clock

    async def get_module(self, permit: Permit) -> ModuleView:
        """Return the module if the user may still use it as the permit says. Otherwise raise NotRedeemed."""
        try:
            holder = await get_grant_holder(self._identities, permit.grant_id, permit.user_id, permit.client_id)
            if SCOPE not in holder.scopes:
                raise GrantEnded(f"the application does not have the scope {SCOPE} any more")
            check_standing(holder.standing)
            plant = await self._read_model.get_plant(permit.plant_id)
            access = get_access(holder, permit.plant_id, plant, self._clock.now())
        except GrantEnded as ended:
            raise NotRedeemed(Reason.WITHDRAWN, str(ended)) from None
        except PasswordToRenew as due:
            raise NotRedeemed(Reason.PASSWORD_TO_RENEW, due.message) from None
        except TermsToAccept as due:
            raise NotRedeemed(Reason.TERMS_TO_ACCEPT, due.message) from None
        except NoSuchPlant:
            raise NotRedeemed(Reason.NO_SUCH_DEVICE, "the plant does not exist any more") from None
        except NotYourPlant:
            raise NotRedeemed(Reason.WITHDRAWN, "the user has no rights on the plant any more") from None
        module = access.plant.modules.get(permit.module_id)
        if module is None or module.module.kind is not KIND_OF[permit.action]:
            raise NotRedeemed(Reason.NO_SUCH_DEVICE, f"the plant does not have this {KIND_OF[permit.action]} any more")
        return module
