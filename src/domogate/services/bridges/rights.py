"""The rights of a bridge: what its user may see and command now."""

from math import inf

import msgspec

from domogate.domain.bridges import BridgePlan
from domogate.domain.faults import NoSuchPlant, NotYourPlant, PasswordToRenew, TermsToAccept
from domogate.domain.ids import Id, derived_id
from domogate.domain.people import HOME_SCOPE, GrantType, Principal, TokenKind
from domogate.ports import BridgeBroker, Clock, PeopleStore
from domogate.services.homes.homes import DOOR_SCOPE, Home, Homes
from domogate.services.plants.read_model import ModuleView, PlantView, ReadModel
from domogate.services.rights.access import check_standing

BRIDGE_CLIENT = "mqtt-bridge"
"""The client id of all bridges. In the audit log, it is the client of the commands that came through a bridge."""


class Shown(msgspec.Struct, frozen=True):
    """A plant as the user of the bridge saw it when this object was made. The bridge publishes the modules in `modules`."""

    principal: Principal
    home: Home
    modules: dict[Id, ModuleView]
    source: PlantView | None
    """The plant as it was in the read model when this object was made."""

    @property
    def until(self) -> float:
        return self.home.access.until


class BridgeRights:
    """Finds out what the user of a bridge may see now."""

    def __init__(self, people: PeopleStore, read_model: ReadModel, clock: Clock) -> None:
        self._people = people
        self._read_model = read_model
        self._homes = Homes(read_model, clock)

    def is_fresh(self, shown: Shown) -> bool:
        """Whether the modules of `shown` still get new states. They get none after the read model has replaced the plant."""
        return shown.source is not None and self._read_model.find_plant(shown.home.plant.id) is shown.source

    async def find(self, plan: BridgePlan, broker: BridgeBroker) -> Shown | None:
        """Return what the bridge may show, or None if its user may not use the plant now.

        A module is left out if the gateway itself drives it through the same broker. So a message that the bridge publishes can
        never come back as a new state.
        """
        user = await self._people.find_user_by_email(plan.email)
        if user is None or not user.active:
            return None
        principal = Principal(
            user_id=user.id,
            client_id=BRIDGE_CLIENT,
            grant_id=derived_id("bridge", f"{plan.base} {plan.plant_id}"),
            kind=TokenKind.ACCESS,
            scopes=frozenset({HOME_SCOPE, *((DOOR_SCOPE,) if plan.doors else ())}),
            expires_at=inf,
            flow=GrantType.AUTHORIZATION_CODE,
            access_token_everywhere=False,
            standing=user.standing,
            plants=frozenset({plan.plant_id}),
        )
        try:
            check_standing(user.standing)
            home = await self._homes.open(principal, plan.plant_id)
        except (NoSuchPlant, NotYourPlant, PasswordToRenew, TermsToAccept):
            return None
        modules = {
            module_id: view
            for module_id, view in home.view.modules.items()
            if home.access.may_see(module_id) and not broker.carries(view.module)
        }
        return Shown(principal, home, modules, self._read_model.find_plant(plan.plant_id))
