"""A real mosquitto and a home in this process, for the tests of bridges."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from domogate.drivers.mqtt import broker_connection
from support.bridge_setup import BridgeSetup
from support.home_setup import open_home_api
from support.mosquitto import Mosquitto, mosquitto


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with mosquitto(tmp_path_factory.mktemp("bridged")) as one:
        yield one


@pytest.fixture
async def setup(broker: Mosquitto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BridgeSetup]:
    monkeypatch.setattr(broker_connection, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(broker_connection, "LONGEST_PAUSE", 0.2)
    async with open_home_api(tmp_path) as api:
        one = BridgeSetup(api, broker)
        yield one
        await one.close()
