"""A person who was invited becomes active while a large estate is imported in parts."""

import asyncio
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.plants import Invitation, Member, Module, Plant, PlantType, Topology
from domogate.stores import SqlStore
from support.stores import ANNA, CARLA, an_id

PEOPLE = Estate(users=(ANNA, CARLA))


def a_plant(number: int) -> EstatePlant:
    """A plant that fills more than a third of the first part."""
    base = 0x10_0000 * (number + 1)
    owner, invited = Member(ANNA.id, ANNA.email), (Invitation(CARLA.email),)
    plant = Plant(an_id(base), an_id(base + 1), f"Plant {number}", PlantType.HOTEL, owner, invited=invited)
    lamps = (Module(an_id(base + 100 + n), an_id(base + 50_000 + n), f"Lamp {n}", DeviceKind.LIGHT) for n in range(100))
    return EstatePlant(plant, Topology(modules=tuple(lamps)))


@pytest.mark.parametrize("prune", [False, True])
async def test_the_person_has_access_to_all_plants(store: SqlStore, prune: bool) -> None:
    loop, plants = asyncio.get_running_loop(), [a_plant(number) for number in range(20)]
    await store.import_in_parts(PEOPLE, plants[-2:])

    def activate_meanwhile() -> Iterator[EstatePlant]:
        yield from plants[:12]
        active = replace(CARLA, password_hash="hash of Carla")
        asyncio.run_coroutine_threadsafe(store.save_user(active), loop).result(30)
        yield from plants[12:]

    await store.import_in_parts(PEOPLE, activate_meanwhile(), prune=prune)
    found = [one.plant for one in (await store.export_estate()).plants]
    assert len(found) == 20
    assert {([one.user_id for one in plant.allowed] == [CARLA.id], plant.invited) for plant in found} == {(True, ())}
