"""Driver and gateway share one loop here: a slow machine must not cause timeouts."""

import asyncio

import pytest

from domogate.drivers.openwebnet import bus, event_session, poller
from support.idle_time import use_idle_time


@pytest.fixture
async def steady_time() -> None:
    use_idle_time(asyncio.get_running_loop())


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of seconds on a real bus are hundredths of a second here."""
    monkeypatch.setattr(event_session, "FIRST_DELAY", 0.02)
    monkeypatch.setattr(event_session, "LONGEST_DELAY", 0.1)
    monkeypatch.setattr(poller, "EVENT_GRACE", 0.1)
    monkeypatch.setattr(bus, "FIRST_CHECK", 0.05)
    monkeypatch.setattr(bus, "NEXT_CHECK", 0.05)
