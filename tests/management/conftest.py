from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.management import Office
from support.management import office as open_office


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
