"""Event streams on a store in memory, and a home that two people share."""

from collections.abc import AsyncIterator

import pytest

from support.stream_setup import SharedHome, StreamSetup, open_stream_setup


@pytest.fixture
async def setup() -> AsyncIterator[StreamSetup]:
    async with open_stream_setup() as opened:
        yield opened


@pytest.fixture
async def home(setup: StreamSetup) -> SharedHome:
    return await SharedHome(setup).build()
