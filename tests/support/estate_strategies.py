"""Hypothesis strategies for correct estates, with unusual texts."""

from collections.abc import Callable
from itertools import count
from typing import Any

from hypothesis import strategies as st

from domogate.domain import commands, states
from domogate.domain.devices import Capability, DeviceKind, Metric, MetricType
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.domain.people import MANAGE_SCOPE, MOST_DAILY_QUOTA, Client, GrantType, Scope, Standing, Subscription, User
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
from domogate.domain.safety import Failure, FailureType, SparePart, SpareParts, SparePartType
from domogate.domain.states import Battery, Color, Reading, ThermostatFunction, ThermostatMode, Unit

Draw = Callable[[st.SearchStrategy[Any]], Any]

AMBIGUOUS = [
    *("on", "off", "null", "~", "", "true", "062520", "1e3", "0x1F", "12:30", "2026-11-15"),
    *("- a", "a: b", "#", "é", "🏠", " x ", "<<", "no", "-", "?", "*a", "&a", "!t", "%", "@", "`", "{", "]"),
]
_characters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")


def texts(most: int = 50, least: int = 0) -> st.SearchStrategy[str]:
    fitting = [text for text in AMBIGUOUS if least <= len(text) <= most]
    return st.sampled_from(fitting) | st.text(_characters, min_size=least, max_size=min(most, 20))


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False, allow_infinity=False)


times = numbers(0, 4_000_000_000)
percents = st.integers(0, 100)
yes_or_no = st.booleans()
colors = st.builds(Color, numbers(0, 360), numbers(0, 100), numbers(0, 100))
emails = st.from_regex(r"[a-zA-Z0-9.+_-]{1,12}@[a-z0-9-]{1,8}\.(com|org|example)", fullmatch=True)
options = st.dictionaries(
    texts(20).filter(lambda key: key != "simulate"),
    st.recursive(
        st.none() | yes_or_no | st.integers(-(10**18) + 1, 10**18 - 1) | numbers(-1e300, 1e300) | texts(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(20), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


def _readings(unit: st.SearchStrategy[Unit], low: float, high: float) -> st.SearchStrategy[Reading | None]:
    return st.none() | st.builds(Reading, numbers(low, high), unit, times | st.just(0.0))


def _consumptions(unit: Unit) -> st.SearchStrategy[Reading | None]:
    return _readings(st.just(unit), 0, 100_000)


failures = st.lists(
    st.builds(Failure, st.sampled_from(FailureType), st.none() | st.from_regex(r"0x[0-9A-F]{4}", fullmatch=True)), max_size=3
).map(tuple)
firmware = st.none() | st.integers(0, 2**31 - 1)

STATES: dict[DeviceKind, st.SearchStrategy[Any]] = {
    DeviceKind.LIGHT: st.builds(states.LightState, on=yes_or_no, level=st.none() | percents, color=st.none() | colors),
    DeviceKind.AUTOMATION: st.builds(states.AutomationState, position=percents),
    DeviceKind.PLUG: st.builds(
        states.PlugState, on=yes_or_no, power=_consumptions(Unit.WATT), energy=_consumptions(Unit.WATT_HOUR)
    ),
    DeviceKind.HEATER: st.builds(states.HeaterState, on=yes_or_no),
    DeviceKind.ENERGYMETER: st.builds(
        states.EnergyMeterState, power=_consumptions(Unit.WATT), energy=_consumptions(Unit.WATT_HOUR)
    ),
    DeviceKind.REMOTE: st.builds(states.RemoteState, battery=st.sampled_from(Battery), firmware=firmware),
    DeviceKind.GATEWAY: st.builds(states.GatewayState, firmware=firmware),
    DeviceKind.LOCK: st.builds(states.LockState, locked=yes_or_no),
    DeviceKind.ACTIVATION: st.builds(states.ActivationState, active=yes_or_no),
    DeviceKind.AUDIOVIDEO_UNIT: st.builds(states.CameraState, on=yes_or_no),
    DeviceKind.MULTISOCKET: st.builds(states.MultisocketState, sockets=st.lists(yes_or_no, min_size=1, max_size=6).map(tuple)),
    DeviceKind.EMERGENCY_CONTROLLER: st.builds(
        states.EmergencyState, failures=failures, alert=st.none() | yes_or_no, alert_changed_at=st.none() | times
    ),
    DeviceKind.EMERGENCY_UNIT: st.builds(states.EmergencyState, failures=failures),
}


@st.composite
def _thermostat_states(draw: Draw, programs: tuple[Program, ...]) -> states.ThermostatState:
    modes = [mode for mode in ThermostatMode if programs or mode is not ThermostatMode.AUTOMATIC]
    mode = draw(st.sampled_from(modes))
    numbers_of_programs = st.sampled_from([program.number for program in programs]) if programs else st.none()
    return states.ThermostatState(
        function=draw(st.sampled_from(ThermostatFunction)),
        mode=mode,
        set_point=draw(numbers(3, 40)),
        scale=draw(st.sampled_from([Unit.CELSIUS, Unit.FAHRENHEIT])),
        program=draw(numbers_of_programs if mode is ThermostatMode.AUTOMATIC else st.none() | numbers_of_programs),
        activation_time=draw(st.none() | times),
        former_mode=draw(st.none() | st.sampled_from(ThermostatMode)),
        load_active=draw(yes_or_no),
        utc_offset_minutes=draw(st.integers(-840, 840)),
        temperature=draw(_readings(st.sampled_from([Unit.CELSIUS, Unit.FAHRENHEIT]), -40, 120)),
        humidity=draw(_readings(st.just(Unit.PERCENT), 0, 100)),
    )


def _commands(module: Module, state: Any) -> st.SearchStrategy[Any] | None:
    """The commands that a scene may send to the module; None if there are none."""
    match module.kind:
        case DeviceKind.PLUG:
            return st.builds(commands.SwitchPlug, on=yes_or_no)
        case DeviceKind.MULTISOCKET:
            most = len(state.sockets) - 1 if state is not None else 63
            return st.builds(commands.SwitchSocket, socket=st.integers(0, most), on=yes_or_no)
        case DeviceKind.HEATER:
            return st.builds(commands.SwitchHeater, on=yes_or_no)
        case DeviceKind.LIGHT:
            return st.builds(commands.SetLight, on=st.none() | yes_or_no, level=st.none() | percents, color=st.none() | colors)
        case DeviceKind.AUTOMATION:
            return st.builds(commands.MoveShutter, position=percents)
        case DeviceKind.CHRONOTHERMOSTAT:
            assert isinstance(module.detail, ThermostatDetail)
            return st.builds(
                commands.SetThermostat,
                function=st.none() | st.sampled_from(ThermostatFunction),
                mode=st.none() | st.sampled_from(ThermostatMode),
                set_point=st.none() | numbers(3, 40),
                program=st.sampled_from([None, *(program.number for program in module.detail.programs)]),
                activation_time=st.none() | times,
            )
        case DeviceKind.LOCK:
            return st.just(commands.OpenLock())
        case DeviceKind.ACTIVATION:
            return st.just(commands.Activate())
        case DeviceKind.AUDIOVIDEO_UNIT:
            return st.builds(commands.SwitchCamera, on=yes_or_no)
        case _:
            return None


class _PlantMaker:
    """Draws the content of one plant; ids are counted, so each is unique."""

    def __init__(self, draw: Draw, ids: "count[int]") -> None:
        self.draw = draw
        self.ids = ids
        self.states: dict[Id, FirstState] = {}
        self.placed: list[Module] = []

    def new_ids(self) -> dict[str, Id]:
        number = next(self.ids)
        return {
            "id": Id(f"{number:08x}-0000-4000-8000-000000000000"),
            "internal_id": Id(f"{number:08x}-1111-4111-9111-111111111111"),
        }

    def module(self, kind: DeviceKind, controller_id: Id | None = None) -> Module:
        draw, ids = self.draw, self.new_ids()
        programs = tuple(Program(n, draw(texts())) for n in sorted(draw(st.sets(st.integers(0, 11), max_size=3))))
        details: dict[DeviceKind, Callable[[], Detail]] = {
            DeviceKind.CHRONOTHERMOSTAT: lambda: ThermostatDetail(programs),
            DeviceKind.EMERGENCY_CONTROLLER: lambda: draw(st.builds(ControllerDetail, texts(), texts(), st.integers(1, 99))),
            DeviceKind.EMERGENCY_UNIT: lambda: draw(st.builds(UnitDetail, texts())),
            DeviceKind.SCENE: lambda: draw(st.builds(SceneDetail, st.just(()) | self.steps())),
        }
        detail = details[kind]() if kind in details else None
        module = Module(
            **ids,
            name=draw(texts()),
            kind=kind,
            driver=draw(st.sampled_from(["simulator", "mqtt"])),
            type=draw(st.none() | texts()),
            hw_type=draw(st.none() | texts()),
            device_type=draw(st.none() | texts()),
            metrics=draw(st.none() | st.lists(st.builds(Metric, texts(), st.sampled_from(MetricType)), max_size=2).map(tuple)),
            capabilities=draw(
                st.none() | st.lists(st.builds(Capability, texts(), yes_or_no, yes_or_no, yes_or_no), max_size=2).map(tuple)
            ),
            detail=detail,
            options=draw(options | st.sampled_from([{"simulate": "offline"}, {"simulate": "slow"}, {"simulate": "refusing"}])),
            controller_id=controller_id,
        )
        possible = _thermostat_states(programs) if kind is DeviceKind.CHRONOTHERMOSTAT else STATES.get(kind, st.none())
        state, reachable = draw(st.none() | possible), draw(yes_or_no)
        if state is not None or not reachable:
            self.states[module.id] = FirstState(module.id, state, reachable)
        self.placed.append(module)
        return module

    def steps(self) -> st.SearchStrategy[tuple[commands.SceneStep, ...]]:
        choices = []
        for module in self.placed:
            first = self.states.get(module.id)
            if (possible := _commands(module, first.state if first else None)) is not None:
                choices.append(st.builds(commands.SceneStep, st.just(module.id), possible))
        return st.lists(st.one_of(choices), max_size=3).map(tuple) if choices else st.just(())

    def modules(self) -> tuple[Module, ...]:
        made: list[Module] = []
        for kind in self.draw(st.lists(st.sampled_from(DeviceKind), max_size=4)):
            controllers = [module.id for module in self.placed if module.kind is DeviceKind.EMERGENCY_CONTROLLER]
            if kind is not DeviceKind.EMERGENCY_UNIT:
                made.append(self.module(kind))
            elif controllers:
                made.append(self.module(kind, self.draw(st.sampled_from(controllers))))
        return tuple(made)

    def ambients(self) -> tuple[Ambient, ...]:
        return tuple(
            Ambient(**self.new_ids(), name=self.draw(texts()), type=self.draw(texts(20)), modules=self.modules())
            for _ in range(self.draw(st.integers(0, 2)))
        )

    def topology(self) -> Topology:
        floors = tuple(
            Floor(**self.new_ids(), name=self.draw(texts()), ambients=self.ambients())
            for _ in range(self.draw(st.integers(0, 2)))
        )
        return Topology(floors, self.ambients(), self.modules())


@st.composite
def topologies(draw: Draw) -> tuple[Topology, tuple[FirstState, ...]]:
    """The content of one plant, with the first states of some modules."""
    maker = _PlantMaker(draw, count(1))
    return maker.topology(), tuple(maker.states.values())


def _limits(draw: Draw, topology: Topology) -> Limits | None:
    def some(places: list[Id]) -> tuple[Id, ...]:
        return tuple(draw(st.lists(st.sampled_from(places), unique=True, max_size=3))) if places else ()

    begin = draw(st.none() | times)
    end = draw(st.none() | times.filter(lambda at: begin is None or at > begin)) if begin != 4_000_000_000 else None
    limits = Limits(
        some([floor.id for floor in topology.floors]),
        some([ambient.id for ambient in topology.every_ambient()]),
        some([module.id for module in topology.every_module()]),
        begin,
        end,
    )
    return None if limits == Limits() else limits


def _plant(draw: Draw, ids: "count[int]", users: list[User]) -> EstatePlant:
    maker = _PlantMaker(draw, ids)
    topology = maker.topology()
    people = draw(st.permutations(users))[: draw(st.integers(1, len(users)))]
    members = [Member(user.id, user.email) for user in people]
    taken = {user.email.lower() for user in people}
    invited = draw(st.lists(emails.filter(lambda email: email.lower() not in taken), max_size=2, unique_by=str.lower))
    status = draw(st.sampled_from(PlantStatus))
    plant = Plant(
        **maker.new_ids(),
        name=draw(texts()),
        type=draw(st.sampled_from(PlantType)),
        owner=members[0],
        status=status,
        removed_at=draw(st.none() | times) if status is PlantStatus.REMOVED else None,
        country=draw(st.none() | texts()),
        zip_code=draw(st.none() | texts(20)),
        address=draw(st.none() | texts(500)),
        time_zone=draw(st.sampled_from((None, "UTC", "Europe/Rome"))),
        emergency_lighting=draw(yes_or_no)
        or any(module.kind is DeviceKind.EMERGENCY_CONTROLLER for module in topology.every_module()),
        allowed=tuple(Member(one.user_id, one.email, _limits(draw, topology)) for one in members[1:]),
        invited=tuple(Invitation(email, _limits(draw, topology)) for email in invited),
    )
    first_states = tuple(maker.states[module.id] for module in topology.every_module() if module.id in maker.states)
    return EstatePlant(plant, topology, first_states)


@st.composite
def estates(draw: Draw) -> Estate:
    """Correct estates, as a store would export them."""
    ids = count(1)

    def new_id() -> Id:
        return Id(f"{next(ids):08x}-2222-4222-a222-222222222222")

    users = [
        User(
            new_id(),
            email,
            draw(texts()),
            draw(st.none() | texts(least=1)),
            draw(st.sampled_from(Standing)),
            draw(yes_or_no),
            draw(st.none() | st.sampled_from(["JBSWY3DPEHPK3PXP", "234567ABCDEFGHIJ" * 2])),
        )
        for email in draw(st.lists(emails, min_size=1, max_size=4, unique_by=str.lower))
    ]
    subscriptions = [
        Subscription(
            id=new_id(),
            name=draw(texts()),
            key_hash=f"{next(ids):064x}",
            hint=draw(texts(6)),
            rate=draw(st.none() | st.sampled_from(["10/second", "600/minute"])),
            daily_quota=draw(st.none() | st.integers(1, MOST_DAILY_QUOTA)),
            created_at=draw(times),
            expires_at=draw(st.none() | times),
            revoked_at=draw(st.none() | times),
        )
        for _ in range(draw(st.integers(0, 2)))
    ]
    uris = st.sampled_from(["http://127.0.0.1:8090/callback", "https://app.example.com/cb?x=1", "com.example.app:/done"])
    clients = [
        Client(
            id=f"client-{next(ids)}",
            name=draw(texts()),
            secret_hash=secret_hash,
            redirect_uris=tuple(draw(st.lists(uris, unique=True))),
            origins=tuple(draw(st.lists(st.sampled_from(["http://localhost:3000", "https://app.example.com"]), unique=True))),
            grants=tuple(draw(st.lists(st.sampled_from(GrantType), unique=True))),
            scopes=tuple(draw(st.lists(st.sampled_from([*map(str, Scope), "openid", MANAGE_SCOPE]), unique=True))),
            access_token_everywhere=draw(yes_or_no),
            pkce_exempt=secret_hash is not None and draw(yes_or_no),
            post_logout_redirect_uris=tuple(draw(st.lists(uris, unique=True))),
        )
        for secret_hash in draw(st.lists(st.none() | st.sampled_from(["0" * 64, "a1" * 32]), max_size=2))
    ]
    parts = st.lists(st.builds(SparePart, texts(least=1), st.sampled_from(SparePartType), texts(least=1)), max_size=2)
    spare_parts = [SpareParts(unit, tuple(draw(parts))) for unit in draw(st.lists(texts(least=1), max_size=3, unique=True))]
    plants = [_plant(draw, ids, users) for _ in range(draw(st.integers(0, 2)))]
    return Estate(tuple(users), tuple(subscriptions), tuple(clients), tuple(plants), tuple(spare_parts))
