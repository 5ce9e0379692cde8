"""Driver and gateway live in one loop here, and neither is to find that the other took long because the machine did."""

import asyncio

import pytest

from support.steady import steady


@pytest.fixture
async def steady_time() -> None:
    steady(asyncio.get_running_loop())
