"""The developer API in this process, on a real store with real tokens, and people who call it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from domogate import developer
from domogate.app.parts import new_subscription
from domogate.domain.people import DEVELOPER_SCOPE, Client, Standing
from domogate.http_api.credentials import DeveloperToken
from domogate.services.developer.faults import DeveloperFaults
from domogate.services.developer.receivers import Receivers
from domogate.services.developer.self_service import SelfService, SelfServiceRules
from domogate.services.homes.homes import Homes
from domogate.services.homes.limits import PersonLimits
from support.management_setup import DeviceBackend
from support.people_setup import BASE_URL, PeopleSetup, open_people
from support.stores import ANNA, BRUNO
from support.token_api import TokenApi

QUOTA, RATE = 500, "3/second"


class DeveloperApi(TokenApi):
    """The API of one gateway. Anna owns the house, Bruno may use it."""

    def __init__(self, of: PeopleSetup, *, enabled: bool) -> None:
        client = Client("portal", "Portal", redirect_uris=("https://portal.example/back",), scopes=(DEVELOPER_SCOPE,))
        super().__init__(of, "/developer/v1", client)
        devices = DeviceBackend(of).devices
        self.receivers = Receivers(BASE_URL, of.clock)
        rules = SelfServiceRules(enabled, QUOTA, RATE)
        self_service = SelfService(of.store, of.people, of.clock, new_subscription, rules)
        services = developer.DeveloperServices(
            self_service=self_service,
            receivers=self.receivers,
            faults=DeveloperFaults(Homes(devices.read_model, of.clock), devices.fault_injector, self_service, of.clock),
        )
        credentials = DeveloperToken(self.verifier, PersonLimits(of.clock), of.audit)
        self.serve(developer.SURFACE, services, credentials, max_body=20_000)

    async def open(self) -> None:
        await super().open()
        await self.env.people.set_standing(BRUNO.id, Standing.GOOD)
        self.token = await self.mint(ANNA)


@asynccontextmanager
async def open_developer_api(folder: Path, *, enabled: bool = True) -> AsyncIterator[DeveloperApi]:
    async with open_people(folder, gateway=True) as opened:
        built = DeveloperApi(opened, enabled=enabled)
        await built.open()
        async with built.http:
            yield built
