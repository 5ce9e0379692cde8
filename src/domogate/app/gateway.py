"""The gateway: builds all parts, and starts and stops them in order."""

import asyncio
from datetime import date
from functools import partial
from typing import Protocol

from domogate.app.bridges import build_bridges
from domogate.app.driver_catalogue import DriverCatalogue
from domogate.app.failures import build_failure_answers
from domogate.app.gateway_metrics import build_monitor, name_api, register_metrics
from domogate.app.late_surfaces import NOT_FOUND, OWN_APIS, build_late_surfaces
from domogate.app.maintenance import Maintenance
from domogate.app.pages import build_pages, register_client
from domogate.app.parts import DAY, UnnamedDriversError, open_store
from domogate.app.placement import build_clock, build_placement
from domogate.app.services import (
    build_history,
    build_keyring,
    build_knowledge,
    build_passkeys,
    build_people,
    build_signer,
    build_terms,
)
from domogate.app.slow_requests import build_slow_requests
from domogate.app.traces import build_traces
from domogate.app.webhooks import build_webhooks
from domogate.backends.echo import HttpEchoBackend
from domogate.backends.webhook_sender import HttpWebhookSender
from domogate.common.memory import finish_start_up
from domogate.console.shell import NO_DEMO, Demo
from domogate.drivers import build_drivers
from domogate.edge.direct import Handler
from domogate.edge.metrics import Metrics
from domogate.edge.stack import ASGIApp, Edge, Surfaces
from domogate.families import FAMILIES
from domogate.families._call import Services
from domogate.families._serve import FamilyApp
from domogate.identity.admission import KeyAdmission
from domogate.identity.external import ExternalIssuer
from domogate.identity.fetching import JsonFetcher
from domogate.identity.hashing import PasswordHasher
from domogate.identity.tokens import TokenVerifier
from domogate.ports import Clock
from domogate.services.audit import AuditLog
from domogate.services.authorization.origins import Origins
from domogate.services.clock_check import ClockCheck
from domogate.services.cluster import ShardWork
from domogate.services.developer.receivers import Receivers, ReceiverSender
from domogate.services.driving import Driving
from domogate.services.events.hub import Hub
from domogate.services.people import LoginThrottle, Sessions
from domogate.services.plants.control import Control
from domogate.services.plants.fault_injection import FaultExpiry, FaultInjector
from domogate.services.plants.read_model import ReadModel
from domogate.services.plants.scenes import Scenes
from domogate.services.rights.identity_cache import IdentityCache
from domogate.services.tickets import Redemption
from domogate.services.tickets.issuing import Tickets
from domogate.services.webhooks.administration import WebhookAdministration
from domogate.settings import Settings
from domogate.stores import DatabaseUnusable


class Kit(Protocol):
    """The test kit: it can move the clock, and it gets each request before the surfaces get it."""

    @property
    def clock(self) -> Clock: ...

    def wrap(self, gateway: "Gateway", app: ASGIApp) -> ASGIApp: ...


class Gateway:
    """All parts of a gateway: one store, one read model, nine families and the other surfaces."""

    def __init__(self, settings: Settings, demo: Demo = NO_DEMO, process: int | None = None, kit: "Kit | None" = None) -> None:
        """`process` is the number of this process, if it is one of several on the same port."""
        self.settings = settings
        self._demo = demo
        self._kit = kit
        self._traces = build_traces(settings, process)
        self.clock: Clock = build_clock(settings) if kit is None else kit.clock
        self.store = open_store(settings, self.clock, gateway=True, temporary=kit is not None)
        self.store.on_damage = self._note_damage
        self.damage: DatabaseUnusable | None = None
        self.must_stop = asyncio.Event()
        """Set if the gateway must stop: the database is damaged, or the supervisor of this process asks for it."""
        self.metrics = Metrics(name_api)
        self.clock_check = ClockCheck(self.store, self.clock)
        self.knowledge = build_knowledge(settings, self.store)
        self.keyring = build_keyring(settings, self.store, self.clock, self.knowledge)
        self.signer = build_signer(settings, self.keyring, self.clock)
        self.hasher = PasswordHasher()
        self.admission = KeyAdmission(self.store, self.clock)
        self._fetcher = JsonFetcher()
        self._issuers = [ExternalIssuer(profile, self._fetcher, self.clock) for profile in settings.issuers]
        build_verifier = partial(TokenVerifier, self.keyring, self.store, self.clock, settings.auth_url, settings.base_url)
        self.verifier = build_verifier(others=self._issuers, own=settings.own_issuer)
        # /auth accepts only our own tokens. The families also accept tokens of other issuers.
        self.own_verifier = build_verifier()
        self.audit = AuditLog(self.store, self.clock)
        self.people = build_people(settings, self.store, self.hasher, self.clock, self.audit)
        self.sessions = Sessions(
            self.store,
            self.hasher,
            self.clock,
            lifetime=settings.session_lifetime,
            idle_lifetime=settings.session_idle_lifetime,
            throttle=LoginThrottle(self.store, self.clock),
            second_factor_required=settings.second_factor_required,
            audit=self.audit,
        )
        self.passkeys = build_passkeys(settings, self.store, self.sessions, self.signer, self.clock)
        self.origins = Origins(self.store)
        self.identities = IdentityCache(self.store)
        self.read_model = ReadModel(self.store, max_modules=settings.world_modules)
        self.hub = Hub(
            self.store,
            self.read_model,
            self.verifier,
            self.admission,
            self.clock,
            source=settings.base_url,
            most=settings.streams_most,
            most_per_user=settings.streams_most_per_user,
            most_per_key=settings.streams_most_per_key,
        )
        wrap_driver = self._traces.wrap_driver
        drivers = {name: wrap_driver(one) for name, one in build_drivers(self.clock, settings.drivers).items()}
        self.placement = build_placement(settings, self.store, self.clock, process, self._traces.messages)
        self.placement.share_rates(self.admission.rates)
        self.driving = Driving(
            self.store, drivers, self.clock, simulated_plants=settings.simulator_awake_plants, holdings=self.placement.held
        )
        self.drivers = DriverCatalogue(
            settings.drivers,
            self.store,
            self.clock,
            lambda name, driver: self.driving.replace_driver(name, wrap_driver(driver)),
        )
        self.fabric = self.placement.fabric
        self.fabric.serve(self._traces.wrap_host(self.driving))
        self._slow_requests = build_slow_requests(self)
        self.control = Control(
            self.fabric,
            self.store,
            self.clock,
            deadline=settings.device_deadline,
            max_age=settings.state_max_age,
            max_ages=settings.state_max_ages,
        )
        self.scenes = Scenes(self.control)
        self.redemption = Redemption(
            self.store,
            self.signer,
            self.identities,
            self.read_model,
            self.control,
            self.clock,
            self.audit,
            settings.auth_url,
            in_cluster=self.placement.held is not None,
        )
        self.webhook_sender = HttpWebhookSender(settings.webhook_networks, settings.webhook_deadline)
        self.receivers = Receivers(settings.base_url, self.clock)
        sender = self._traces.wrap_sender(ReceiverSender(self.receivers, self.webhook_sender, self.clock))
        self.dispatcher, self.webhooks = build_webhooks(self, sender)
        self.bridges = build_bridges(self)
        self.webhook_administration = WebhookAdministration(self.store, self.clock, self.audit)
        self.fault_injector = FaultInjector(self.store, self.clock, self.audit)
        self.fault_expiry = FaultExpiry(self.fault_injector, self.clock)
        self.history = build_history(settings, self.store, self.clock, self.clock_check)
        self.terms = build_terms(settings)
        self.monitor = build_monitor(self)
        self.maintenance = Maintenance(self)
        stall = settings.echo_deadline + 1 if demo.users else None
        self._echo = HttpEchoBackend(settings.echo_url, settings.echo_deadline, stall=stall)
        self._ready = False
        register_metrics(self)

    async def start(self, *, named_drivers: bool = False) -> Edge:
        """Start all parts that requests need, and return the ASGI application. Plants are driven after `driving.start_plants`.

        If no estate file names the driver of a module, the simulator drives this module. If there is such a module and
        `named_drivers` is true, stop all started parts and raise UnnamedDriversError.
        """
        self.store.listen(self.read_model.apply)
        for listener in (
            self.keyring,
            self.verifier,
            self.own_verifier,
            self.admission,
            self.identities,
            self.audit,
            self.origins,
            self.driving,
            self.drivers,
            self.fault_expiry,
        ):
            self.store.listen(listener.apply, states=False)
        for traced in self._traces.listeners:
            self.store.listen(traced)
        self.store.listen(self.hub.apply)
        self.store.listen(self.dispatcher.apply)
        if self.bridges.declared:
            self.store.listen(self.bridges.apply)
        await self.store.start(self.placement.prepare)
        if named_drivers and (unnamed := await self.store.find_unnamed_drivers()) is not None:
            await self.store.stop()
            raise UnnamedDriversError(unnamed)
        if await self.store.find_address() != self.settings.base_url:
            await self.store.set_address(self.settings.base_url)
        await register_client(self.settings, self.store)
        await self.keyring.start()
        if self._issuers:
            await self._fetcher.start()
        self.audit.start()
        if self.terms is not None:
            await self.people.ask_for_changed_terms(self.terms.version)
        await self.admission.start()
        await self.hub.start()
        await self.dispatcher.start()
        await self.bridges.start()
        await self.drivers.start()
        await self.driving.start()
        await self.maintenance.start()
        application = self._build_asgi()
        if self._kit is None:  # The process of the kit must start fast, and starts several gateways.
            finish_start_up()
        # Join the cluster as the last step: the start blocks the event loop, and meanwhile the lease could end.
        await self.placement.start(ShardWork(self.driving, self.dispatcher, self.bridges))
        self._ready = True
        return application

    @property
    def is_ready(self) -> bool:
        """Whether the gateway accepts requests. /readyz shows this value."""
        return self._ready and self.store.is_reachable and self.knowledge.is_kept and not self.placement.is_cut_off

    def _note_damage(self, damage: DatabaseUnusable) -> None:
        self.damage = self.damage or damage
        self.must_stop.set()

    def drain(self) -> None:
        """Report that the gateway is not ready, hand over its plants, and end the streams.

        Running requests can still finish.
        """
        self._ready = False
        self.placement.begin_leave()
        self.hub.drain()

    async def stop(self) -> None:
        """Stop all parts. The store stops after all parts that write to it, so everything is on disk."""
        self._ready = False
        await self.hub.stop()
        await self.bridges.stop()
        await self.dispatcher.stop()
        await self.webhook_sender.stop()
        await self.scenes.finish()
        await self._echo.stop()
        await self.maintenance.stop()
        await self.drivers.stop()
        await self.placement.leave()
        await self.driving.stop()
        await self.placement.stop()
        await self.admission.stop()
        await self.audit.stop()
        for issuer in self._issuers:
            await issuer.stop()
        await self._fetcher.stop()
        self.hasher.close()
        await self.store.stop()
        await self._traces.stop()

    def _build_asgi(self) -> Edge:
        settings = self.settings
        services = Services(
            read_model=self.read_model,
            control=self.control,
            scenes=self.scenes,
            tickets=Tickets(self.signer, self.clock, settings.auth_url, settings.ticket_lifetime),
            webhooks=self.webhooks,
            echo=self._echo,
            clock=self.clock,
            audit=self.audit,
            removed_plants_kept=settings.removed_plants_kept_days * DAY,
        )
        sunset = {name: date.fromisoformat(day) for name, day in settings.sunset.items()}
        families = {
            family.root.encode(): FamilyApp(
                family, services, admission=self.admission, verifier=self.verifier, max_body=settings.max_body, sunset=sunset
            )
            for family in FAMILIES
        }
        late = build_late_surfaces(self)
        not_found_page = late.pop(NOT_FOUND)
        surfaces: dict[bytes, ASGIApp] = {**families, **late}
        pages = build_pages(settings, self._demo, self.store)
        reads: dict[bytes, Handler] = {root: family.answer for root, family in families.items()}
        direct = {b"home": late[b"home"], b"tickets": late[b"tickets"], b"/auth/token": late[b"auth"]}
        writes = reads | {place: surface.answer for place, surface in direct.items()}
        handlers = {("GET", root): handler for root, handler in reads.items()}
        handlers |= {("POST", place): self.placement.wrap_handler(handler) for place, handler in writes.items()}
        every: ASGIApp = Surfaces(pages | surfaces, not_found_page)
        roots = frozenset(name.decode() for name in surfaces)
        traces = self._traces
        traces.name_roots(roots)
        return Edge(
            traces.wrap(self.placement.wrap(every if self._kit is None else self._kit.wrap(self, every))),
            is_allowed_origin=self.origins.is_allowed,
            is_ready=lambda: self.is_ready,
            failure_answers=build_failure_answers(OWN_APIS),
            find_warnings=self.maintenance.find_warnings,
            gateway_id=self.store.gateway_id,
            metrics=self.metrics,
            access_log=settings.access_log,
            surfaces=roots,
            handlers={place: traces.wrap_handler(handler) for place, handler in handlers.items()},
            slow=self._slow_requests,
        )
