"""The home API in this process, on a real store with real tokens, and people who call it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from domogate import homes
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.people import HOME_SCOPE, Client, Scope, Standing
from domogate.domain.plants import Ambient, Topology
from domogate.http_api.credentials import HomeToken
from domogate.services.homes.applications import Applications
from domogate.services.homes.commands import HomeCommands
from domogate.services.homes.energy import EnergyPrice, HomeHistory
from domogate.services.homes.favourites import Favourites
from domogate.services.homes.homes import Homes
from domogate.services.homes.limits import PersonLimits
from domogate.services.homes.recent import RecentEvents
from domogate.services.rights.identity_cache import IdentityCache
from domogate.services.webhooks.administration import WebhookAdministration
from support.full_plant import FULL_PLANT, MODULE_OF, STATES
from support.management_setup import DeviceBackend
from support.people_setup import PeopleSetup, open_people
from support.stores import ANNA, BRUNO, CARLA, HOUSE, a_webhook, an_id
from support.token_api import TokenApi

SCOPES = (HOME_SCOPE, Scope.AUDIOVIDEO_READ.value)
STUDIO = Ambient(an_id(297), an_id(296), "Studio", modules=tuple(MODULE_OF.values()))
VILLA = EstatePlant(
    FULL_PLANT,
    Topology(ambients=(STUDIO,)),
    tuple(FirstState(MODULE_OF[kind].id, state) for kind, state in STATES.items() if state is not None),
)
"""A home of Anna with a module of every kind."""
WEBHOOK = a_webhook()


class HomeApi(TokenApi):
    """The API of one gateway. Anna owns the house and the villa, Bruno may use the house, Carla may use nothing."""

    def __init__(self, of: PeopleSetup) -> None:
        client = Client("pages", "Pages", redirect_uris=("https://pages.example/back",), scopes=SCOPES)
        super().__init__(of, "/home/v1", client)
        self.identities = IdentityCache(of.store)
        of.store.listen(self.identities.apply)
        self.backend = DeviceBackend(of)
        services = self._build_services()
        self.serve(homes.SURFACE, services, HomeToken(self.verifier, services.limits, of.audit), max_body=4000)

    def _build_services(self) -> homes.HomeServices:
        of, devices = self.env, self.backend.devices
        limits = PersonLimits(of.clock)
        return homes.HomeServices(
            homes=Homes(devices.read_model, of.clock),
            commands=HomeCommands(devices.read_model, devices.control, devices.scenes, of.store, limits, of.clock, of.audit),
            people=of.people,
            applications=Applications(of.store, of.people, WebhookAdministration(of.store, of.clock, of.audit)),
            favourites=Favourites(of.store),
            recent=RecentEvents(of.store),
            history=HomeHistory(devices.history, of.store),
            limits=limits,
            identities=self.identities,
            clock=of.clock,
            mails_links=of.mail.sends,
            energy_price=EnergyPrice(0.25, "EUR"),
        )

    async def open(self) -> None:
        await super().open()
        await self.env.store.import_estate(Estate(users=(ANNA,), plants=(VILLA,)), prune=False)
        await self.env.people.set_standing(BRUNO.id, Standing.GOOD)
        await self.env.people.withdraw(HOUSE.id, CARLA.email)
        await self.env.people.change_user(CARLA.id, lambda user: msgspec.structs.replace(user, password_hash="hash of Carla"))
        self.token = await self.mint(ANNA)


@asynccontextmanager
async def open_home_api(folder: Path, *, mails_links: bool = False) -> AsyncIterator[HomeApi]:
    async with open_people(folder, gateway=True) as opened:
        opened.mail.sends = mails_links
        built = HomeApi(opened)
        await built.open()
        driving = built.backend.driving
        driver = built.backend.drivers["simulator"]
        driver.answers = {MODULE_OF[kind].id: state for kind, state in STATES.items() if state is not None}
        await driving.start()
        await driving.start_plants()
        await driving.settled()
        try:
            async with built.http:
                yield built
        finally:
            await built.backend.scenes.finish()
            await driving.stop()
