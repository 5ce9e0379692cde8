"""Driver and gateway live in one loop here, and neither is to find that the other took long because the machine did."""

import asyncio

import pytest

from domogate.drivers.openwebnet import asking, bus, listening
from support.steady import steady


@pytest.fixture
async def steady_time() -> None:
    steady(asyncio.get_running_loop())


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds on a real bus takes hundredths here."""
    monkeypatch.setattr(listening, "FIRST_DELAY", 0.02)
    monkeypatch.setattr(listening, "LONGEST_DELAY", 0.1)
    monkeypatch.setattr(asking, "GRACE", 0.1)
    monkeypatch.setattr(bus, "FIRST_LOOK", 0.05)
    monkeypatch.setattr(bus, "NEXT_LOOK", 0.05)
