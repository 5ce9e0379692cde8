"""One mosquitto for all tests of the folder, and benches on it for the suite of all drivers."""

from collections.abc import Iterator

import pytest

from domogate.drivers.mqtt import link, outbox, station
from support.mosquitto import Mosquitto, mosquitto


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with mosquitto(tmp_path_factory.mktemp("mosquitto")) as one:
        yield one


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is paced for radio networks and stores need not be here."""
    monkeypatch.setattr(station, "READ_EVERY", 0.005)
    monkeypatch.setattr(station, "ASK_AFTER", 0.05)
    monkeypatch.setattr(station, "ASK_PACE", 0.0)
    monkeypatch.setattr(outbox, "PAUSE", 0.01)
    monkeypatch.setattr(outbox, "LOOK", 0.005)
    monkeypatch.setattr(outbox, "RETRY", 0.05)
    monkeypatch.setattr(link, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(link, "LONGEST_PAUSE", 0.2)
