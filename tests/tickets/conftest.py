from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.ticket_setup import TicketSetup, open_ticket_setup


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[TicketSetup]:
    async with open_ticket_setup(tmp_path) as opened:
        yield opened
