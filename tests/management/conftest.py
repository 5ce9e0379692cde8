from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.plants import Topology
from support.full_plant import FULL_PLANT, MODULE_OF, STATES
from support.management_setup import ManagementApi, open_api
from support.stores import ANNA


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[ManagementApi]:
    async with open_api(tmp_path) as opened:
        yield opened


@pytest.fixture
async def driven(api: ManagementApi) -> AsyncIterator[ManagementApi]:
    """With its drivers running."""
    driving = api.backend.driving
    await driving.start()
    await driving.start_plants()
    await driving.settled()
    try:
        yield api
    finally:
        await api.backend.scenes.finish()
        await driving.stop()


@pytest.fixture
async def villa(driven: ManagementApi) -> ManagementApi:
    """With a plant that has a module of every kind."""
    modules = tuple(MODULE_OF.values())
    states = tuple(FirstState(MODULE_OF[kind].id, state) for kind, state in STATES.items() if state is not None)
    estate = Estate(users=(ANNA,), plants=(EstatePlant(FULL_PLANT, Topology(modules=modules), states),))
    await driven.env.store.import_estate(estate, prune=False)
    driver = driven.backend.drivers["simulator"]
    driver.answers = {MODULE_OF[kind].id: state for kind, state in STATES.items() if state is not None}
    await driven.backend.driving.settled()
    return driven
