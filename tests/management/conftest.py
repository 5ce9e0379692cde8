from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.plants import Topology
from support.management import Office
from support.management import office as open_office
from support.stores import ANNA
from support.villa import MODULE_OF, STATES, VILLA


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(tmp_path) as opened:
        yield opened


@pytest.fixture
async def driven(office: Office) -> AsyncIterator[Office]:
    """With its drivers running."""
    driving = office.workshop.driving
    await driving.start()
    await driving.settled()
    try:
        yield office
    finally:
        await office.workshop.scenes.finish()
        await driving.stop()


@pytest.fixture
async def villa(driven: Office) -> Office:
    """With a plant that has a module of every kind."""
    modules = tuple(MODULE_OF.values())
    states = tuple(FirstState(MODULE_OF[kind].id, state) for kind, state in STATES.items() if state is not None)
    estate = Estate(users=(ANNA,), plants=(EstatePlant(VILLA, Topology(modules=modules), states),))
    await driven.village.store.import_estate(estate, prune=False)
    driver = driven.workshop.drivers["simulator"]
    driver.answers = {MODULE_OF[kind].id: state for kind, state in STATES.items() if state is not None}
    await driven.workshop.driving.settled()
    return driven
