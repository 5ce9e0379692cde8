"""The services that the operations of the home API use."""

import msgspec

from domogate.domain.people import Principal
from domogate.http_api.operations import Call
from domogate.ports import Clock
from domogate.services.homes.applications import Applications
from domogate.services.homes.commands import HomeCommands
from domogate.services.homes.energy import EnergyPrice, HomeHistory
from domogate.services.homes.favourites import Favourites
from domogate.services.homes.homes import Home, Homes
from domogate.services.homes.limits import PersonLimits
from domogate.services.homes.recent import RecentEvents
from domogate.services.people import People
from domogate.services.rights.identity_cache import IdentityCache

HomeCall = Call[Principal]


class HomeServices(msgspec.Struct, frozen=True):
    homes: Homes
    commands: HomeCommands
    people: People
    applications: Applications
    favourites: Favourites
    recent: RecentEvents
    history: HomeHistory
    limits: PersonLimits
    identities: IdentityCache
    clock: Clock
    mails_links: bool
    """Whether a mail server sends links to invited people."""
    energy_price: EnergyPrice | None = None

    async def open_home(self, call: HomeCall) -> Home:
        """Return the home whose id is in the path, as the person sees it now.

        Raises NotFound if the path has no valid id, and NoSuchPlant if the home does not exist. Raises NotYourPlant if the
        person may not see it.
        """
        return await self.homes.open(call.caller, call.id_of("homeId"))
