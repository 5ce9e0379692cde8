"""The small estate with a changed house, for tests of imports."""

from typing import Any

import msgspec

from domogate.domain.estate import Estate, FirstState
from domogate.domain.events import ClientChanged, Event, PlantChanged, SparePartsChanged, SubscriptionChanged, UserChanged
from domogate.domain.plants import Topology
from domogate.ports import StoredPlant
from domogate.stores import SqlStore
from support.stores import ANNA, APP, BATTERY, BRUNO, CARLA, HOUSE, HOUSE_TOPOLOGY, KEY, SMALL

SMALL_COUNTS = {
    "users": 3, "clients": 1, "subscriptions": 1, "plants": 1, "floors": 1, "ambients": 2, "modules": 3, "spare parts": 1,
}  # fmt: skip
SMALL_EVENTS: tuple[Event, ...] = (
    UserChanged(user_id=ANNA.id),
    UserChanged(user_id=BRUNO.id),
    UserChanged(user_id=CARLA.id),
    ClientChanged(client_id=APP.id),
    SubscriptionChanged(key_hash=KEY.key_hash),
    PlantChanged(plant_id=HOUSE.id, user_ids=(ANNA.id, BRUNO.id)),
    SparePartsChanged(unit=BATTERY.unit),
)
"""The events of an import that adds or removes the whole small estate."""
change: Any = msgspec.structs.replace
ZERO = {"users": 0, "clients": 0, "subscriptions": 0, "plants": 0, "floors": 0, "ambients": 0, "modules": 0, "spare parts": 0}


def with_house(plant: object = HOUSE, topology: Topology = HOUSE_TOPOLOGY, *states: FirstState) -> Estate:
    estate: Estate = change(SMALL, plants=(change(SMALL.plants[0], plant=plant, topology=topology, states=states),))
    return estate


async def house_in(store: SqlStore) -> StoredPlant:
    stored = await store.find_plant(HOUSE.id)
    assert stored is not None
    return stored
