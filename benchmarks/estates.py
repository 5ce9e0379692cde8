"""Estates for the benchmarks: plants of one hundred modules, and one plant of a thousand."""

import uuid

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.ids import Id
from domogate.domain.people import Client, Scope, Subscription, User
from domogate.domain.plants import Ambient, Floor, Member, Module, Plant, PlantType, Program, ThermostatDetail, Topology
from domogate.domain.states import (
    LightState,
    PlugState,
    Reading,
    State,
    ThermostatFunction,
    ThermostatMode,
    ThermostatState,
    Unit,
)

USER = User(id=Id("00000000-0000-4000-8000-000000000001"), email="bench@example.com", name="Bench", password_hash="x")
CLIENT = Client(id="bench", name="Bench", scopes=tuple(Scope), redirect_uris=("http://127.0.0.1/callback",))
CLIENT_SECRET = "bench-secret-0123456789abcdef"
PASSWORD = "a password for everybody"
PEOPLE = 100
KEY = "bench-key-0123456789abcdef"


def _id(*parts: object) -> Id:
    return Id(str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(map(str, parts)))))


def plant_id(number: int) -> Id:
    return _id("plant", number)


def module_id(plant: int, kind: DeviceKind, number: int) -> Id:
    return _id("module", plant, kind, number)


def ambient_id(plant: int, number: int) -> Id:
    return _id("ambient", plant, number)


def _state(kind: DeviceKind) -> State:
    if kind is DeviceKind.LIGHT:
        return LightState(on=True, level=60)
    if kind is DeviceKind.PLUG:
        return PlugState(on=False, power=Reading(0, Unit.WATT, 1.0), energy=Reading(120, Unit.WATT_HOUR, 1.0))
    return ThermostatState(
        function=ThermostatFunction.HEATING,
        mode=ThermostatMode.AUTOMATIC,
        set_point=21.0,
        program=1,
        temperature=Reading(20.5, Unit.CELSIUS, 1.0),
        humidity=Reading(45, Unit.PERCENT, 1.0),
    )


def build_plant(number: int, modules: int) -> EstatePlant:
    """Rooms of ten modules: eight lights, one plug, one thermostat."""
    ambients, states = [], []
    for room in range(modules // 10):
        kinds = [(DeviceKind.LIGHT, room * 8 + n) for n in range(8)]
        kinds += [(DeviceKind.PLUG, room), (DeviceKind.CHRONOTHERMOSTAT, room)]
        inside = []
        for kind, place in kinds:
            identity = module_id(number, kind, place)
            detail = ThermostatDetail((Program(1, "Comfort"),)) if kind is DeviceKind.CHRONOTHERMOSTAT else None
            inside.append(Module(identity, _id("internal", identity), f"{kind} {place}", kind, detail=detail))
            states.append(FirstState(identity, _state(kind)))
        identity = ambient_id(number, room)
        ambients.append(Ambient(identity, _id("internal", identity), f"Room {room}", "room", tuple(inside)))
    floor = Floor(_id("floor", number), _id("floor internal", number), "Ground floor", tuple(ambients))
    plant = Plant(
        id=plant_id(number),
        internal_id=_id("internal", plant_id(number)),
        name=f"Plant {number}",
        type=PlantType.HOTEL,
        owner=Member(USER.id, USER.email),
    )
    return EstatePlant(plant, Topology(floors=(floor,)), tuple(states))


def email_of(number: int) -> str:
    return f"person-{number}@example.com"


def build_estate(plants: int, modules: int, hashed: dict[str, str], *, large: bool = False) -> Estate:
    """`hashed` has the hashes of the key, the client secret and the password. With `large`, plant 0 has a thousand modules."""
    people = (User(_id("person", n), email_of(n), password_hash=hashed[PASSWORD]) for n in range(PEOPLE))
    return Estate(
        users=(USER, *people),
        clients=(msgspec.structs.replace(CLIENT, secret_hash=hashed[CLIENT_SECRET]),),
        subscriptions=(Subscription(id=_id("key"), name="bench", key_hash=hashed[KEY], hint="bench-"),),
        plants=tuple(build_plant(number, 1000 if large and number == 0 else modules) for number in range(plants)),
    )
