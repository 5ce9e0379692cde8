"""For tests of the store: a small house, generated estates, and a recorder of changes."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast
from unittest.mock import patch
from uuid import UUID

import hypothesis.strategies as st
from sqlalchemy import Connection, Engine, event

from domogate.domain.authorization import AuthorizationCode, RefreshToken, Session
from domogate.domain.commands import SceneStep, SetLight
from domogate.domain.devices import Capability, DeviceKind, Metric, MetricType
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.events import Change, Event, PlantAspect, PlantChanged, StateChanged
from domogate.domain.ids import Id, new_id
from domogate.domain.limits import Limits
from domogate.domain.passkeys import Passkey
from domogate.domain.people import Client, Grant, GrantType, Standing, Subscription, User
from domogate.domain.plants import (
    Ambient,
    ControllerDetail,
    Detail,
    Floor,
    Invitation,
    Member,
    Module,
    Plant,
    PlantStatus,
    PlantType,
    Program,
    SceneDetail,
    ThermostatDetail,
    Topology,
    UnitDetail,
)
from domogate.domain.safety import SparePart, SpareParts, SparePartType
from domogate.domain.states import LightState, PlugState, Reading, State, Unit
from domogate.domain.webhooks import Webhook
from domogate.ports import StoredState
from domogate.stores import SqlStore, direct
from domogate.stores.direct import Write
from support.clocks import NOW

OpenStore = Callable[..., Awaitable[SqlStore]]
"""The type of the fixture `open_store`: it takes a URL and the arguments of a SqlStore, and starts the store."""

T = TypeVar("T")


class ChangeRecorder:
    """A listener that keeps all changes."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def __call__(self, changes: Sequence[Change]) -> None:
        self.changes += changes

    @property
    def events(self) -> list[Event]:
        return [change.event for change in self.changes]

    @property
    def cursors(self) -> list[int]:
        return [change.cursor for change in self.changes]


def record_changes(store: SqlStore) -> ChangeRecorder:
    recorder = ChangeRecorder()
    store.listen(recorder)
    return recorder


def level_in(source: Event | StoredState) -> int:
    """The level of a light, from an event or from the store."""
    assert isinstance(source, StateChanged | StoredState)
    assert isinstance(source.state, LightState)
    assert source.state.level is not None
    return source.state.level


class HeldStore(SqlStore):
    """A store whose commits wait until the test releases them."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # fields by name
        self.committing = threading.Event()
        self.released = threading.Event()
        self.released.set()

    async def hold(self, call: Awaitable[T]) -> asyncio.Future[T]:
        """Start the call and return when its commit waits."""
        self.released.clear()
        self.committing.clear()
        held = asyncio.ensure_future(call)
        assert await asyncio.to_thread(self.committing.wait, 30)
        return held

    def commit(self, connection: Connection, last_writes: Sequence[Write] = (), *, has_written: bool = True) -> None:
        self.committing.set()
        assert self.released.wait(30)
        super().commit(connection, last_writes, has_written=has_written)


@contextmanager
def observe_statements(observe: Callable[[Any, str, Any], None]) -> Iterator[None]:
    """In the context, call `observe` before each statement of this process, also before direct statements.

    Its arguments are a cursor of the database driver, the text of the statement, and the parameters.
    """
    run_statement = direct.run_statement

    def observe_execution(_connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        observe(cursor, statement, parameters)

    def run_observed(connection: Connection, text: str, parameters: Any, *, many: bool = False) -> Any:
        observe(connection.connection.cursor(), text, parameters)
        return run_statement(connection, text, parameters, many=many)

    event.listen(Engine, "before_cursor_execute", observe_execution)
    try:
        with patch.object(direct, "run_statement", run_observed):
            yield
    finally:
        event.remove(Engine, "before_cursor_execute", observe_execution)


@contextmanager
def record_statements() -> Iterator[list[str]]:
    """Record the statements of all engines of this process that are executed in the context."""
    statements: list[str] = []
    with observe_statements(lambda _cursor, statement, _parameters: statements.append(statement)):
        yield statements


def an_id(number: int) -> Id:
    return Id(str(UUID(int=number)))


# --- a small house ----------------------------------------------------------------------------------------------------

ANNA = User(an_id(1), "Anna@example.com", "Anna", "hash of Anna")
BRUNO = User(an_id(2), "bruno@example.com", "Bruno", "hash of Bruno", Standing.TERMS_EXPIRED)
CARLA = User(an_id(3), "carla@example.com", "Carla")
APP = Client(
    "app", "An app", "hash of a secret", ("https://app.example/back",), ("https://app.example",), scopes=("light.read",)
)
KEY = Subscription(an_id(4), "a key", "hash of a key", "abcd", rate="10/second", daily_quota=1000, created_at=NOW)
GRANT = Grant(an_id(5), ANNA.id, APP.id, ("light.read",), GrantType.IMPLICIT, NOW)

OTHER_APP = Client("other", "Another app")


def a_grant(number: int, user: User = ANNA, client: Client = APP, **more: Any) -> Grant:
    return Grant(an_id(number), user.id, client.id, ("light.read",), **{"created_at": NOW, "auth_time": NOW - 5, **more})


def a_code(grant: Grant, name: str = "code", **more: Any) -> AuthorizationCode:
    return AuthorizationCode(f"hash of {name}", grant.id, grant.client_id, **{"expires_at": NOW + 60, **more})


def a_refresh_token(grant: Grant, name: str = "first", **more: Any) -> RefreshToken:
    return RefreshToken(f"hash of {name}", grant.id, grant.client_id, **{"created_at": NOW, "expires_at": NOW + 1000, **more})


def a_session(number: int, user: User = ANNA, **more: Any) -> Session:
    times = {"auth_time": NOW, "created_at": NOW, "seen_at": NOW, "expires_at": NOW + 1000}
    return Session(an_id(number), f"hash of cookie {number}", user.id, **{**times, **more})


def a_passkey(number: int, user: User = ANNA, **more: Any) -> Passkey:
    made: dict[str, Any] = {
        "id": an_id(number), "user_id": user.id, "credential_id": f"credential-{number}", "user_handle": "handle",
        "public_key": "key", "sign_count": 0, "name": "Phone", "created_at": NOW + number,
    }  # fmt: skip
    return Passkey(**{**made, **more})


def a_webhook(number: int = 700, **more: Any) -> Webhook:
    made: dict[str, Any] = {
        "id": an_id(number), "client_id": APP.id, "user_id": ANNA.id, "grant_id": an_id(5), "plant_id": HOUSE.id,
        "url": f"https://receiver.example/{number}", "secret": "whsec_c2VjcmV0", "created_at": NOW, "position": 3,
        "scopes": ("light.read",),
    }  # fmt: skip
    return Webhook(**{**made, **more})


LAMP = Module(an_id(21), an_id(22), "Lamp", DeviceKind.LIGHT)
PLUG = Module(an_id(23), an_id(24), "Plug", DeviceKind.PLUG, driver="mqtt", options={"topic": "a/b"})
SCENE = Module(an_id(25), an_id(26), "Evening", DeviceKind.SCENE, detail=SceneDetail((SceneStep(LAMP.id, SetLight(on=False)),)))
KITCHEN = Ambient(an_id(13), an_id(14), "Kitchen", "kitchen", (PLUG, LAMP))
HALL = Ambient(an_id(15), an_id(16), "Hall")
GROUND = Floor(an_id(11), an_id(12), "Ground floor", (KITCHEN,))
HOUSE = Plant(
    an_id(10), an_id(19), "Casa Bianchi", PlantType.HOUSE, Member(ANNA.id, ANNA.email),
    country="Italia", zip_code="20121", address="Via Roma 1",
    allowed=(Member(BRUNO.id, BRUNO.email),), invited=(Invitation("Carla@Example.com"),),
)  # fmt: skip
HOUSE_TOPOLOGY = Topology((GROUND,), (HALL,), (SCENE,))


def people_changed(*users: User, members: Sequence[User] = ()) -> PlantChanged:
    """The event of a change of the house's people."""
    user_ids, member_ids = (tuple(user.id for user in some) for some in (users, members))
    return PlantChanged(plant_id=HOUSE.id, user_ids=user_ids, aspect=PlantAspect.PEOPLE, members=member_ids)


async def add_home(store: SqlStore, owner: User, name: str = "Seaside", **more: Any) -> Plant:
    """Add an empty home."""
    plant = Plant(new_id(), new_id(), name, PlantType.HOUSE, Member(owner.id, owner.email), **more)
    await store.import_estate(Estate(plants=(EstatePlant(plant, Topology()),)), prune=False)
    return plant


BATTERY = SpareParts("062520", (SparePart("B-1", SparePartType.BATTERY, "2"),))
LAMP_IS_ON = LightState(on=True, level=40)

SMALL = Estate(
    users=(ANNA, BRUNO, CARLA),
    subscriptions=(KEY,),
    clients=(APP,),
    plants=(EstatePlant(HOUSE, HOUSE_TOPOLOGY, (FirstState(LAMP.id, LAMP_IS_ON),)),),
    spare_parts=(BATTERY,),
)


# --- generated estates ------------------------------------------------------------------------------------------------

_words = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12)
_numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
_metrics = st.lists(st.builds(Metric, _words, st.sampled_from(MetricType)), max_size=2).map(tuple)
_capabilities = st.lists(st.builds(Capability, _words, st.booleans(), st.booleans(), st.booleans()), max_size=2).map(tuple)
_options = st.dictionaries(
    _words, st.none() | st.booleans() | st.integers(-9, 9) | _words | st.lists(_words, max_size=2), max_size=2
)
_readings = st.builds(Reading, _numbers, st.sampled_from(Unit), _numbers)
_plugs = st.builds(PlugState, on=st.booleans(), power=st.none() | _readings, energy=st.none() | _readings)
_states: st.SearchStrategy[State] = _plugs | st.from_type(cast(type[State], State)).filter(
    lambda state: "nan" not in repr(state) and "inf" not in repr(state)
)


@st.composite
def _ids(draw: st.DrawFn) -> Id:
    return Id(str(draw(st.uuids())))


@st.composite
def _modules(draw: st.DrawFn, scene_targets: Sequence[Id] = ()) -> Module:
    kind = draw(st.sampled_from(DeviceKind))
    detail: Detail | None = None
    if kind is DeviceKind.SCENE and scene_targets:
        detail = SceneDetail(tuple(SceneStep(target, SetLight(on=True)) for target in scene_targets[:2]))
    elif kind is DeviceKind.CHRONOTHERMOSTAT:
        detail = ThermostatDetail((Program(draw(st.integers(0, 11)), draw(_words)),))
    elif kind is DeviceKind.EMERGENCY_CONTROLLER:
        detail = ControllerDetail(draw(_words), draw(_words), draw(st.integers(1, 9)))
    elif kind is DeviceKind.EMERGENCY_UNIT:
        detail = UnitDetail(draw(_words))
    return Module(
        draw(_ids()), draw(_ids()), draw(_words), kind, draw(st.sampled_from(["simulator", "mqtt"])),
        draw(st.none() | _words), draw(st.none() | _words), draw(st.none() | _words),
        draw(st.none() | _metrics), draw(st.none() | _capabilities), detail, draw(_options),
    )  # fmt: skip


@st.composite
def _topologies(draw: st.DrawFn) -> Topology:
    def some_modules() -> tuple[Module, ...]:
        return tuple(draw(st.lists(_modules(), max_size=3)))

    def some_ambients() -> tuple[Ambient, ...]:
        return tuple(
            Ambient(draw(_ids()), draw(_ids()), draw(_words), draw(_words), some_modules())
            for _ in range(draw(st.integers(0, 2)))
        )

    floors = tuple(Floor(draw(_ids()), draw(_ids()), draw(_words), some_ambients()) for _ in range(draw(st.integers(0, 2))))
    return Topology(floors, some_ambients(), some_modules())


_limits = st.none() | st.builds(
    Limits, st.lists(_ids(), max_size=2).map(tuple), valid_from=_numbers, valid_until=st.none() | _numbers
)


@st.composite
def _estate_plants(draw: st.DrawFn, users: Sequence[User]) -> EstatePlant:
    owner, *others = draw(st.permutations(users))
    allowed = others[: draw(st.integers(0, len(others)))]
    topology = draw(_topologies())
    modules = list(topology.every_module())
    status = draw(st.sampled_from(PlantStatus))
    plant = Plant(
        draw(_ids()), draw(_ids()), draw(_words), draw(st.sampled_from(PlantType)), Member(owner.id, owner.email),
        status, draw(_numbers) if status is PlantStatus.REMOVED else None,
        draw(st.none() | _words), draw(st.none() | _words), draw(st.none() | _words),
        draw(st.booleans()) or any(module.kind is DeviceKind.EMERGENCY_CONTROLLER for module in modules),
        tuple(Member(user.id, user.email, draw(_limits)) for user in allowed),
        draw(st.just(()) | st.tuples(st.builds(Invitation, st.just("Nobody@example.com"), _limits))),
    )  # fmt: skip
    stated = draw(st.lists(st.sampled_from(modules), unique_by=lambda module: module.id)) if modules else []
    states = {module.id: FirstState(module.id, draw(st.none() | _states), draw(st.booleans())) for module in stated}
    return EstatePlant(plant, topology, tuple(states[module.id] for module in modules if module.id in states))


@st.composite
def estates(draw: st.DrawFn) -> Estate:
    """Correct estates: every reference resolves, and every e-mail and id is unique."""
    users = tuple(
        User(
            draw(_ids()),
            f"User.{n}@example.com",
            draw(_words),
            draw(st.none() | _words),
            draw(st.sampled_from(Standing)),
            draw(st.booleans()),
            draw(st.none() | st.just("JBSWY3DPEHPK3PXP")),
        )
        for n in range(draw(st.integers(1, 3)))
    )
    clients = tuple(
        Client(
            f"client-{n}",
            draw(_words),
            draw(st.none() | _words),
            tuple(draw(st.lists(_words, max_size=2))),
            scopes=("a", "b"),
            pkce_exempt=draw(st.booleans()),
            post_logout_redirect_uris=tuple(draw(st.lists(_words, max_size=2))),
        )
        for n in range(draw(st.integers(0, 2)))
    )
    subscriptions = tuple(
        Subscription(
            draw(_ids()), draw(_words), f"hash {n}", draw(_words), created_at=float(n), revoked_at=draw(st.none() | _numbers)
        )
        for n in range(draw(st.integers(0, 2)))
    )
    parts = st.lists(st.builds(SparePart, _words, st.sampled_from(SparePartType), _words), max_size=2).map(tuple)
    units = draw(st.lists(_words, max_size=2, unique=True))
    return Estate(
        users, subscriptions, clients, tuple(draw(st.lists(_estate_plants(users), max_size=3))),
        tuple(SpareParts(unit, draw(parts)) for unit in units),
    )  # fmt: skip
