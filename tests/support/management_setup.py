"""The management API in this process, on a real store with real tokens, and an operator who calls it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from domogate import management
from domogate.app.backups import make_backup
from domogate.app.driver_catalogue import DriverCatalogue
from domogate.app.estate_files import EstateFiles
from domogate.app.parts import new_subscription
from domogate.app.services import SigningKeyAdministration
from domogate.app.settings_in_force import list_settings
from domogate.domain.ids import new_id
from domogate.domain.people import MANAGE_SCOPE, Client, User
from domogate.drivers import check_options
from domogate.drivers.declaration import DriverSettings
from domogate.edge.logs import RecentLines
from domogate.edge.metrics import BOUNDS
from domogate.fabric.in_process import InProcessFabric
from domogate.http_api.credentials import OperatorToken
from domogate.identity.admission import KeyAdmission
from domogate.ports import Driver
from domogate.services.clock_check import ClockCheck
from domogate.services.cluster import ClusterStatus
from domogate.services.driving import Driving
from domogate.services.events.hub import Hub
from domogate.services.monitoring.counters import Counters
from domogate.services.monitoring.monitor import Monitor
from domogate.services.monitoring.problems import ProblemKind
from domogate.services.plants.control import Control
from domogate.services.plants.editing import PlantEditor
from domogate.services.plants.fault_injection import FaultInjector
from domogate.services.plants.history import History
from domogate.services.plants.read_model import ReadModel
from domogate.services.plants.scenes import Scenes
from domogate.services.rights.identity_cache import IdentityCache
from domogate.services.webhooks.dispatcher import Dispatcher
from domogate.services.webhooks.formats import WebhookFormats
from domogate.services.webhooks.registration import Webhooks
from domogate.settings import Settings
from support.delivery_setup import RecordingSender
from support.devices import FakeDriver
from support.people_setup import BASE_URL, PeopleSetup, open_people
from support.token_api import TokenApi

DAY = 86_400.0


class DeviceBackend:
    """The services for devices. Only the drivers are fake: they execute every command."""

    def __init__(self, of: PeopleSetup) -> None:
        self.drivers = {name: FakeDriver(of.clock, name) for name in ("simulator", "mqtt")}
        self.driving = Driving(of.store, self.drivers, of.clock, simulated_plants=10)
        fabric = InProcessFabric(of.clock)
        fabric.serve(self.driving)
        control = Control(fabric, of.store, of.clock, deadline=5.0, max_age=30.0, max_ages={})
        self.scenes = Scenes(control)
        read_model = ReadModel(of.store, max_modules=1000)
        of.store.listen(read_model.apply)
        of.store.listen(self.driving.apply)
        self.devices = management.Devices(
            read_model,
            control,
            self.scenes,
            FaultInjector(of.store, of.clock, of.audit),
            History(
                of.store,
                of.clock,
                changes_kept=DAY,
                readings_raw=7 * DAY,
                readings_kept=365 * DAY,
                orders_kept=30 * DAY,
                most_readings=1_000_000,
            ),
            self.driving.list_drivers,
        )


class ManagementApi(TokenApi):
    """The API of one gateway, and the operator Olga who calls it with the client `console`."""

    def __init__(self, of: PeopleSetup, folder: Path) -> None:
        self.folder = folder
        client = Client("console", "Console", redirect_uris=("https://console.example/back",), scopes=(MANAGE_SCOPE,))
        super().__init__(of, "/manage/v1", client)
        self.backend = DeviceBackend(of)
        self.hub = Hub(
            of.store,
            self.backend.devices.read_model,
            self.verifier,
            KeyAdmission(of.store, of.clock),
            of.clock,
            source=BASE_URL,
            most=10,
            most_per_user=2,
            most_per_key=2,
        )
        self.clock_check = ClockCheck(of.store, of.clock)
        self.sender = RecordingSender()
        read_model, formats = self.backend.devices.read_model, WebhookFormats(BASE_URL)
        dispatcher = Dispatcher(
            of.store, IdentityCache(of.store), read_model, self.sender, of.clock, formats, of.audit,
            given_up=DAY, dead_kept=DAY, may_prune=self.clock_check.check,
        )  # fmt: skip
        self.webhooks = Webhooks(of.store, read_model, self.sender, of.clock, of.audit, formats, dispatcher.log)
        self.counters = Counters({}, 0, {}, 0)
        """The counters of the gateway. A test may replace them."""
        self.cluster: ClusterStatus | None = None
        """The facts that the gateway knows about its cluster. A test may replace them."""
        self.warnings: dict[ProblemKind, str] = {}
        """The warnings of the gateway. A test may replace them."""
        self.settings = Settings()
        self.log = RecentLines()
        monitor = Monitor(of.store, of.clock, read_counters=lambda: self.counters, count_streams=lambda: 3)
        self.status = management.Status(
            "1",
            monitor,
            BOUNDS,
            lambda: of.store.is_reachable,
            self.clock_check,
            lambda: self.warnings,
            lambda: self.cluster,
            lambda: list_settings(self.settings),
            self.log.list,
        )
        self.driver_settings: dict[str, DriverSettings] = {}
        self.replaced_drivers: list[str] = []
        self.drivers = DriverCatalogue(self.driver_settings, of.store, of.clock, self._replace_driver)
        estate = EstateFiles(of.store, of.hasher, check_options({}))
        services = management.ManagementServices(
            people=of.people,
            store=of.store,
            clock=of.clock,
            audit=of.audit,
            new_subscription=new_subscription,
            signing_keys=SigningKeyAdministration(of.store, of.clock, "ES256"),
            devices=self.backend.devices,
            status=self.status,
            hub=self.hub,
            webhooks=self.webhooks,
            make_backup=lambda: make_backup(of.store, self.folder),
            estate=estate,
            editor=PlantEditor(of.store, estate.check_plant),
            drivers=self.drivers,
        )
        credentials = OperatorToken(self.verifier, of.store, of.audit)
        self.serve(management.SURFACE, services, credentials, max_body=2000)
        self.operator = User(new_id(), "olga@example.com", "Olga", "hash of x", operator=True)

    async def _replace_driver(self, name: str, _driver: Driver) -> None:
        self.replaced_drivers.append(name)

    async def open(self) -> None:
        await super().open()
        await self.env.store.save_user(self.operator)
        await self.status.monitor.start()
        self.token = await self.mint(self.operator)


@asynccontextmanager
async def open_api(folder: Path) -> AsyncIterator[ManagementApi]:
    async with open_people(folder, gateway=True) as opened:
        built = ManagementApi(opened, folder)
        await built.open()
        try:
            async with built.http:
                yield built
        finally:
            await built.status.monitor.stop()
