"""Streams without HTTP: a real store, read model, tokens and keys, a manual clock, and clients that read."""

import asyncio
import contextlib
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.events import Change
from domogate.domain.ids import Id, new_id
from domogate.domain.people import Client, Grant, Scope, TokenKind, User
from domogate.domain.plants import ControllerDetail, Member, Module, Plant, PlantType, Topology
from domogate.domain.states import EmergencyState, LightState, PlugState, Report, State
from domogate.identity.admission import KeyAdmission
from domogate.identity.signing import KeyRing, TokenSigner
from domogate.identity.subscriptions import new_key, new_subscription
from domogate.identity.tokens import TokenVerifier
from domogate.services.events.filters import EventFilter
from domogate.services.events.hub import Hub
from domogate.services.events.stream import Stream
from domogate.services.plants.read_model import ReadModel
from domogate.services.rights.access import Caller, authenticate, may_manage
from domogate.stores import SqlStore, sqlite_url
from domogate.stores.migrate import migrate
from domogate.stores.opening import open_database
from support.clocks import ManualClock

SOURCE = "https://gateway.example"
EVERY_SCOPE = tuple(Scope)
_PATIENCE = 60.0

_STATES: dict[DeviceKind, Callable[[bool], State]] = {
    DeviceKind.LIGHT: lambda on: LightState(on=on),
    DeviceKind.PLUG: lambda on: PlugState(on=on),
    DeviceKind.EMERGENCY_CONTROLLER: lambda on: EmergencyState(alert=on),
}


@dataclass(frozen=True)
class ReceivedEvent:
    """One server-sent event, as a client parses it."""

    event: str
    data: dict[str, Any]
    id: int | None


def parse_frames(text: str) -> list[ReceivedEvent]:
    """Complete events only; comments and `retry` are skipped."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "event" in fields:
            cursor = int(fields["id"]) if "id" in fields else None
            found.append(ReceivedEvent(fields["event"], json.loads(fields["data"]), cursor))
    return found


@dataclass
class Credentials:
    """The credentials of an application, and the ids by which they can be revoked."""

    user: User
    client: Client
    grant: Grant
    token: str
    key: str
    subscription_id: Id

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        return [(b"ocp-apim-subscription-key", self.key.encode()), (b"authorization", b"Bearer " + self.token.encode())]


@dataclass
class Listener:
    """Reads a stream as a surface does. While `reading` is cleared, it does not read."""

    stream: Stream
    on_event: Callable[[ReceivedEvent], None] = lambda received: None
    received: list[ReceivedEvent] = field(default_factory=list)
    raw: bytes = b""
    reading: asyncio.Event = field(default_factory=asyncio.Event)
    ended: bool = False
    failure: BaseException | None = None

    async def run(self) -> None:
        try:
            async with contextlib.aclosing(self.stream.frames(self)) as pieces:
                while True:
                    await self.until_writable()
                    piece = await anext(pieces, None)
                    if piece is None:
                        break
                    self._take(piece)
        except BaseException as failure:
            self.failure = failure
            raise
        finally:
            self.ended = True

    def write_now(self, frame: bytes) -> bool:
        is_reading = self.reading.is_set()
        if is_reading:
            self._take(frame)
        return is_reading

    async def until_writable(self) -> None:
        await self.reading.wait()

    def _take(self, piece: bytes) -> None:
        self.raw += piece
        for received in parse_frames(piece.decode()):
            self.received.append(received)
            self.on_event(received)

    @property
    def notices(self) -> list[ReceivedEvent]:
        """The events about plants, without messages about the stream itself."""
        return [received for received in self.received if received.event not in ("ready", "reset", "end", "present")]

    @property
    def is_idle(self) -> bool:
        """It has read all events so far."""
        ready = any(received.event == "ready" for received in self.received)
        return ready and self.stream.idle

    @property
    def ids(self) -> list[int]:
        return [received.id for received in self.notices if received.id is not None]

    @property
    def last_id(self) -> bytes | None:
        known = [received.id for received in self.received if received.id is not None]
        return b"%d" % known[-1] if known else None

    @property
    def end_code(self) -> str | None:
        return str(self.received[-1].data["code"]) if self.received and self.received[-1].event == "end" else None


class StreamSetup:
    """All parts for a test of streams, connected as in the gateway."""

    def __init__(self, store: SqlStore, clock: ManualClock, **hub_options: Any) -> None:
        self.store = store
        self.clock = clock
        self.keyring = KeyRing(store, clock)
        self.signer = TokenSigner(self.keyring, clock, f"{SOURCE}/auth", SOURCE, 3600.0, 3600.0)
        self.admission = KeyAdmission(store, clock)
        self.verifier = TokenVerifier(self.keyring, store, clock, f"{SOURCE}/auth", SOURCE)
        self.read_model = ReadModel(store, max_modules=10_000)
        self.hub = Hub(
            store,
            self.read_model,
            self.verifier,
            self.admission,
            clock,
            **{"source": SOURCE, "most": 200, "most_per_user": 100, "most_per_key": 100, "heartbeat": 60.0, **hub_options},
        )
        self.before: list[Callable[[Sequence[Change]], None]] = []
        """Listeners of the store that are called first."""
        self.listeners: list[Listener] = []
        self.failure: Exception | None = None
        """The error of a listener of the store."""
        self._tasks: list[asyncio.Task[None]] = []
        store.listen(self._apply)

    def _apply(self, changes: Sequence[Change]) -> None:
        try:
            for listener in self.before:
                listener(changes)
            self.read_model.apply(changes)
            for part in (self.keyring, self.verifier, self.admission):
                part.apply(changes)
            self.hub.apply(changes)
        except Exception as failure:  # the store would only log it
            self.failure = failure

    async def close(self) -> None:
        await self.hub.stop()
        for listener in self.listeners:
            listener.stream.close()
            listener.reading.set()
        await asyncio.gather(*self._tasks)

    # people and plants

    async def add_user(self, name: str = "Anna", **facts: Any) -> User:
        user = User(new_id(), facts.pop("email", f"{new_id()}@example.com"), name, "hash of a password", **facts)
        await self.store.add_user(user)
        return user

    async def add_plant(self, owner: User, *modules: Module, allowed: Sequence[User] = ()) -> Plant:
        site = any(module.kind is DeviceKind.EMERGENCY_CONTROLLER for module in modules)
        plant = Plant(
            new_id(), new_id(), "Casa", PlantType.HOUSE, Member(owner.id, owner.email),
            emergency_lighting=site, allowed=tuple(Member(user.id, user.email) for user in allowed),
        )  # fmt: skip
        await self.store.import_estate(Estate(plants=(EstatePlant(plant, Topology(modules=modules)),)), prune=False)
        return plant

    async def grant_access(
        self,
        user: User,
        scopes: Sequence[str] = EVERY_SCOPE,
        *,
        kind: TokenKind = TokenKind.ACCESS,
        lifetime: float | None = None,
        key_life: float | None = None,
    ) -> Credentials:
        client = Client(new_id(), "An app", scopes=tuple(scopes))
        await self.store.save_client(client)
        grant = Grant(new_id(), user.id, client.id, tuple(scopes), created_at=self.clock.now())
        await self.store.add_grant(grant)
        key, now = new_key(), self.clock.now()
        subscription = new_subscription("app", key, now, expires_at=None if key_life is None else now + key_life)
        await self.store.add_subscription(subscription)
        token = await self.signer.mint_token(kind, user, client, grant, lifetime)
        return Credentials(user, client, grant, token, key, subscription.id)

    async def report(self, plant: Plant, module: Module, *, on: bool = True, reachable: bool = True) -> None:
        state = _STATES[module.kind](on) if reachable else None
        await self.store.record([Report(plant.id, module.id, self.clock.now(), state, reachable=reachable)])

    # listening

    async def call(self, credentials: Credentials) -> Caller:
        return await authenticate(credentials.headers, self.admission, self.verifier)

    async def listen(
        self,
        credentials: Credentials,
        event_filter: EventFilter | None = None,
        last_event_id: bytes | None = None,
        *,
        on_event: Callable[[ReceivedEvent], None] = lambda received: None,
        ready: bool = True,
    ) -> Listener:
        """Open a stream and read it. With `ready`, return when it gets new events."""
        opening = self.hub.open(await self.call(credentials), event_filter or EventFilter(), last_event_id)
        return await self._read(opening, on_event, ready=ready)

    async def listen_as_operator(
        self, credentials: Credentials, event_filter: EventFilter | None = None, last_event_id: bytes | None = None
    ) -> Listener:
        async def is_operator(user_id: Id) -> bool:
            return may_manage(await self.store.find_user(user_id))

        caller = await self.call(credentials)
        opening = self.hub.open_for_operator(caller, is_operator, event_filter or EventFilter(), last_event_id)
        return await self._read(opening, lambda received: None, ready=True)

    async def _read(self, opening: Awaitable[Stream], on_event: Callable[[ReceivedEvent], None], *, ready: bool) -> Listener:
        stream = await opening
        listener = Listener(stream, on_event)
        listener.reading.set()
        self.listeners.append(listener)
        self._tasks.append(asyncio.create_task(listener.run()))
        if ready:
            await until(lambda: any(received.event in ("ready", "end") for received in listener.received), "a ready stream")
        return listener

    async def quiet(self) -> None:
        """Wait until all clients have read all events."""
        if self.failure is not None:
            raise self.failure
        await until(self.is_quiet, "the last events")
        for _ in range(3):
            await asyncio.sleep(0)

    def is_quiet(self) -> bool:
        return self.hub.idle and all(
            listener.ended or not listener.reading.is_set() or listener.is_idle for listener in self.listeners
        )


class SharedHome:
    """Anna's plant, with Bruno as allowed user: a lamp, a plug, and a lock whose state no operation shows."""

    def __init__(self, setup: StreamSetup) -> None:
        self.setup = setup
        self.lamp, self.plug = a_module(DeviceKind.LIGHT), a_module(DeviceKind.PLUG)
        self.lock = a_module(DeviceKind.LOCK)

    async def build(self) -> "SharedHome":
        self.anna, self.bruno = await self.setup.add_user("Anna"), await self.setup.add_user("Bruno")
        self.plant = await self.setup.add_plant(self.anna, self.lamp, self.plug, self.lock, allowed=[self.bruno])
        self.of_anna, self.of_bruno = await self.setup.grant_access(self.anna), await self.setup.grant_access(self.bruno)
        return self

    async def switch(self, times: int = 1) -> None:
        for number in range(times):
            await self.setup.report(self.plant, self.lamp, on=number % 2 == 0)


async def until(true: Callable[[], bool], what: str, patience: float = _PATIENCE) -> None:
    give_up = asyncio.get_running_loop().time() + patience
    for rounds in range(1_000_000):
        if true():
            return
        assert asyncio.get_running_loop().time() < give_up, f"waited without success for {what}"
        await asyncio.sleep(0 if rounds < 20 else 0.001)


def a_module(kind: DeviceKind, **facts: Any) -> Module:
    identity = new_id()
    if kind is DeviceKind.EMERGENCY_CONTROLLER:
        facts = {"detail": ControllerDetail("ref", "serial", 1), **facts}
    return Module(identity, identity, f"a {kind}", kind, **facts)


_patterns: list[tempfile.TemporaryDirectory[str]] = []


def _fresh_database(folder: Path) -> str:
    """A copy of a database with tables, because creating tables takes longer than most tests."""
    if not _patterns:
        _patterns.append(tempfile.TemporaryDirectory(prefix="domogate-tables-"))
        database = open_database(sqlite_url(Path(_patterns[0].name) / "domogate.db"))
        migrate(database)
        with database.writing.connect() as connection:
            connection.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
    shutil.copy(Path(_patterns[0].name) / "domogate.db", folder / "domogate.db")
    return sqlite_url(folder / "domogate.db")


@asynccontextmanager
async def open_stream_setup(clock: ManualClock | None = None, **hub_options: Any) -> AsyncIterator[StreamSetup]:
    clock = clock or ManualClock()
    with tempfile.TemporaryDirectory(prefix="domogate-streams-") as folder:
        store = SqlStore(_fresh_database(Path(folder)), clock=clock, poll=5.0, temporary=True)  # no other process writes
        setup = StreamSetup(store, clock, **hub_options)
        await store.start()
        await setup.keyring.start()
        await setup.hub.start()
        try:
            yield setup
        finally:
            await setup.close()
            await store.stop()
