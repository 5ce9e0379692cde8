"""The small estate with a changed house, for tests of imports."""

from typing import Any

import msgspec

from domogate.domain.estate import Estate, FirstState
from domogate.domain.plants import Topology
from domogate.ports import StoredPlant
from domogate.stores import SqlStore
from support.stores import (
    HOUSE,
    HOUSE_TOPOLOGY,
    SMALL,
)

change: Any = msgspec.structs.replace
ZERO = {"users": 0, "clients": 0, "subscriptions": 0, "plants": 0, "floors": 0, "ambients": 0, "modules": 0, "spare parts": 0}


def with_house(plant: object = HOUSE, topology: Topology = HOUSE_TOPOLOGY, *states: FirstState) -> Estate:
    estate: Estate = change(SMALL, plants=(change(SMALL.plants[0], plant=plant, topology=topology, states=states),))
    return estate


async def house_in(store: SqlStore) -> StoredPlant:
    stored = await store.find_plant(HOUSE.id)
    assert stored is not None
    return stored
