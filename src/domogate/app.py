"""Composition root: the only file that imports everything. It says who fulfils each port, and how all start and stop."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from domogate import __version__, auth
from domogate.backends.echo import EmbeddedEcho, HttpEchoBackend
from domogate.domain.events import Change, StateChanged
from domogate.domain.people import Subscription
from domogate.drivers import build_drivers
from domogate.edge import server
from domogate.edge.logs import setup_logs
from domogate.edge.metrics import Metrics
from domogate.edge.stack import Edge
from domogate.fabric.in_process import InProcessFabric
from domogate.families import FAMILIES
from domogate.families._call import Services
from domogate.families._documents import build_documents
from domogate.families._openapi import openapi_document as _openapi_document
from domogate.families._serve import FamilyApp
from domogate.identity.admission import KeyAdmission
from domogate.identity.hashing import PasswordHasher
from domogate.identity.signing import KeyRing, TokenSigner
from domogate.identity.subscriptions import new_key
from domogate.identity.subscriptions import new_subscription as _new_subscription
from domogate.identity.tokens import TokenVerifier
from domogate.ports import Clock, Hasher, Signer, Store
from domogate.services.control import Control
from domogate.services.driving import Driving
from domogate.services.history import History
from domogate.services.origins import Origins
from domogate.services.scenes import Scenes
from domogate.services.tickets import Tickets
from domogate.services.world import World
from domogate.settings import Settings
from domogate.stores import SqlStore, restore, sqlite_url

_DAY = 86_400.0

ASGIApp = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]


class SystemClock:
    """The machine's own time."""

    def now(self) -> float:
        return time.time()


class Tools(msgspec.Struct, frozen=True):
    """Enough for the command line, without serving."""

    settings: Settings
    clock: Clock
    store: Store
    signer: Signer
    hasher: Hasher


@asynccontextmanager
async def open_tools(settings: Settings) -> AsyncIterator[Tools]:
    """Open the store beside a gateway that may be running on it."""
    clock = SystemClock()
    store = _open_store(settings, clock, gateway=False)
    hasher = PasswordHasher()
    await store.start()
    try:
        keyring = _build_keyring(settings, store, clock)
        await keyring.start()
        yield Tools(settings, clock, store, _build_signer(settings, keyring, clock), hasher)
    finally:
        hasher.close()
        await store.stop()


class Gateway:
    """Everything wired: one store, one read model, nine families, and what stands around them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clock: Clock = SystemClock()
        self.store = _open_store(settings, self.clock, gateway=True)
        self.metrics = Metrics()
        self.keyring = _build_keyring(settings, self.store, self.clock)
        self.signer = _build_signer(settings, self.keyring, self.clock)
        self.hasher = PasswordHasher()
        self.admission = KeyAdmission(self.store, self.clock)
        self.verifier = TokenVerifier(self.keyring, self.store, self.clock, settings.auth_url, settings.base_url)
        self.origins = Origins(self.store)
        self.world = World(self.store, max_modules=settings.world_modules)
        drivers = build_drivers(self.clock, {"simulator": {"seed": settings.simulator_seed, "tick": settings.simulator_tick}})
        self.driving = Driving(self.store, drivers, self.clock, awake_plants=settings.simulator_awake_plants)
        self.fabric = InProcessFabric(self.clock)
        self.fabric.serve(self.driving)
        self.control = Control(
            self.fabric,
            self.clock,
            deadline=settings.device_deadline,
            max_age=settings.state_max_age,
            max_ages=settings.state_max_ages,
        )
        self.scenes = Scenes(self.control)
        self.history = History(self.store, self.clock, settings.changes_kept_days * _DAY, settings.readings_kept_days * _DAY)
        self._embedded_echo = EmbeddedEcho() if settings.echo_url is None else None
        self._echo: HttpEchoBackend | None = None
        self._ready = False
        self._register_metrics()

    async def start(self) -> ASGIApp:
        """The application, ready to be served."""
        self.store.listen(self._apply)
        await self.store.start()
        await self.keyring.start()
        await self.admission.start()
        await self.origins.start()
        await self.driving.start()
        await self.history.start()
        echo_url = self.settings.echo_url
        if self._embedded_echo is not None:
            echo_url = await self._embedded_echo.start()
        assert echo_url is not None
        self._echo = HttpEchoBackend(echo_url, self.settings.echo_deadline)
        await self._echo.start()
        application = self._build_asgi(self._echo)
        # What stands now stands until the end: it need not be walked through at every full collection.
        gc.collect()
        gc.freeze()
        self._ready = True
        return application

    def _apply(self, changes: Sequence[Change]) -> None:
        """Tell everyone what was committed. Nearly all of it is states, and those concern the read model alone."""
        self.world.apply(changes)
        rare = [change for change in changes if type(change.event) is not StateChanged]
        if rare:
            for listener in (self.keyring, self.verifier, self.admission, self.origins, self.driving):
                listener.apply(rare)

    def drain(self) -> None:
        """No longer ready: what runs is finished, nothing new should be sent here."""
        self._ready = False

    async def stop(self) -> None:
        """In the reverse order of the start; the store last, so that everything is on disk."""
        self._ready = False
        await self.scenes.finish()
        if self._echo is not None:
            await self._echo.stop()
        if self._embedded_echo is not None:
            await self._embedded_echo.stop()
        await self.history.stop()
        await self.driving.stop()
        await self.admission.stop()
        self.hasher.close()
        await self.store.stop()

    def _build_asgi(self, echo: HttpEchoBackend) -> ASGIApp:
        settings = self.settings
        services = Services(
            world=self.world,
            control=self.control,
            scenes=self.scenes,
            tickets=Tickets(self.signer, self.clock, settings.auth_url, settings.ticket_lifetime),
            echo=echo,
            clock=self.clock,
            removed_plants_kept=settings.removed_plants_kept_days * _DAY,
        )
        sunset = {name: date.fromisoformat(day) for name, day in settings.sunset.items()}
        surfaces: dict[bytes, ASGIApp] = {
            family.root.encode(): FamilyApp(
                family,
                services,
                admission=self.admission,
                verifier=self.verifier,
                max_body=settings.max_body,
                sunset=sunset,
            )
            for family in FAMILIES
        }
        surfaces[b"auth"] = auth.build(self.signer)
        surfaces[b"openapi"] = build_documents(FAMILIES, base_url=settings.base_url, version=__version__)
        return Edge(
            Surfaces(surfaces),
            is_allowed_origin=self.origins.is_allowed,
            is_ready=lambda: self._ready,
            metrics=self.metrics,
            access_log=settings.access_log,
            surfaces=frozenset(name.decode() for name in surfaces),
        )

    def _register_metrics(self) -> None:
        self.metrics.gauge("domogate_world_modules", "Modules held by the read model", lambda: self.world.held_modules)
        self.metrics.counter("domogate_commits", "Commits to the store", lambda: self.store.commits)


class Surfaces:
    """Hands a request to the surface its first path segment names."""

    def __init__(self, surfaces: Mapping[bytes, ASGIApp]) -> None:
        self._surfaces = dict(surfaces)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        first = scope["raw_path"].split(b"/", 2)[1:2]
        await self._surfaces.get(first[0] if first else b"", _nothing_here)(scope, receive, send)


async def _nothing_here(_scope: MutableMapping[str, Any], _receive: Any, send: Any) -> None:
    body = b'{"statusCode":404,"message":"nothing has this URL; /openapi lists what there is"}'
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 404, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def serve(settings: Settings, on_ready: Callable[[Gateway], Awaitable[None]] | None = None) -> None:
    """Run until SIGTERM or SIGINT, then drain. `on_ready` is called once requests are accepted."""
    setup_logs(settings.log_level, settings.log_format)
    async with server.listen(settings.host, settings.port, settings.metrics_host, settings.metrics_port) as listening:
        # A port that was picked is part of the issuer of every token, so it must be known before anything is wired.
        gateway = Gateway(msgspec.structs.replace(settings, port=listening.port))
        application = await gateway.start()

        async def tell(_: object) -> None:
            if on_ready is not None:
                await on_ready(gateway)

        try:
            await server.run(
                application,
                listening,
                limits=server.Limits(
                    max_header=settings.max_header,
                    header_deadline=settings.header_deadline,
                    body_deadline=settings.body_deadline,
                    keep_alive=settings.keep_alive,
                ),
                drain=settings.drain,
                tls=_tls(settings),
                trusted_proxies=settings.trusted_proxies,
                metrics=gateway.metrics.app,
                on_ready=tell,
                on_drain=gateway.drain,
                on_refused=gateway.metrics.count_refused,
            )
        finally:
            await gateway.stop()


def new_subscription(
    name: str, rate: str | None, daily_quota: int | None, expires_at: float | None, now: float
) -> tuple[str, Subscription]:
    """A new key, to be shown once, and the subscription that keeps its hash. Raises ValueError."""
    key = new_key()
    return key, _new_subscription(name, key, now, rate=rate, daily_quota=daily_quota, expires_at=expires_at)


def openapi_document(slug: str, settings: Settings) -> dict[str, Any]:
    """Raises KeyError for a family that is not there."""
    family = {family.slug: family for family in FAMILIES}[slug]
    return _openapi_document(family, base_url=settings.base_url, version=__version__)


async def restore_backup(settings: Settings, backup: Path) -> None:
    """Raises ValueError or FileExistsError with what to do about it."""
    if settings.database is not None:
        raise ValueError("restore is for the embedded store; restore a PostgreSQL database with pg_restore")
    target = _sqlite_file(settings)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    await asyncio.to_thread(restore, backup, target)


def _sqlite_file(settings: Settings) -> Path:
    return settings.data / "domogate.sqlite3"


def _open_store(settings: Settings, clock: Clock, *, gateway: bool) -> SqlStore:
    if settings.database is not None:
        return SqlStore(settings.database, clock=clock, gateway=gateway)
    # For its owner only: it holds the signing keys.
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    return SqlStore(sqlite_url(_sqlite_file(settings)), clock=clock, gateway=gateway)


def _build_keyring(settings: Settings, store: Store, clock: Clock) -> KeyRing:
    # A retired key must outlive every token it signed.
    return KeyRing(store, clock, retired_kept=max(_DAY, settings.access_token_lifetime, settings.id_token_lifetime))


def _build_signer(settings: Settings, keyring: KeyRing, clock: Clock) -> TokenSigner:
    return TokenSigner(
        keyring,
        clock,
        settings.auth_url,
        settings.base_url,
        settings.access_token_lifetime,
        settings.id_token_lifetime,
    )


def _tls(settings: Settings) -> server.Tls | None:
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    return server.Tls(settings.tls_certificate, settings.tls_key)
