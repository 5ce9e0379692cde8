"""Houses with one lamp each, for tests of several gateways: each gateway drives its own house."""

import msgspec

from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.ids import Id
from domogate.domain.plants import Topology
from domogate.domain.states import LightState, Report
from support.clocks import NOW
from support.stores import ANNA, HOUSE, LAMP, an_id


def house_of(number: int) -> Id:
    return an_id(7000 + number)


def lamp_of(number: int) -> Id:
    return an_id(8000 + number)


def houses(count: int) -> Estate:
    plants = []
    for number in range(count):
        ids = {"id": house_of(number), "internal_id": an_id(17_000 + number)}
        plant = msgspec.structs.replace(HOUSE, **ids, name=f"House {number}", allowed=(), invited=())
        lamp = msgspec.structs.replace(LAMP, id=lamp_of(number), internal_id=an_id(18_000 + number))
        plants.append(EstatePlant(plant, Topology(floors=(), ambients=(), modules=(lamp,))))
    return Estate(users=(ANNA,), plants=tuple(plants))


def lamp_on(level: int, number: int) -> Report:
    return Report(house_of(number), lamp_of(number), NOW, LightState(on=True, level=level))
