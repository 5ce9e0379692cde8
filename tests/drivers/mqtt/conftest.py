"""One mosquitto for all tests of this folder."""

from collections.abc import Iterator

import pytest

from domogate.drivers import report_queue
from domogate.drivers.mqtt import broker_connection, broker_session, driver
from support.mosquitto import Mosquitto, mosquitto


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with mosquitto(tmp_path_factory.mktemp("mosquitto")) as one:
        yield one


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses for radio networks and stores are not needed in tests."""
    monkeypatch.setattr(broker_session, "READ_EVERY", 0.005)
    monkeypatch.setattr(broker_session, "POLL_DELAY", 0.05)
    monkeypatch.setattr(broker_session, "POLL_INTERVAL", 0.0)
    monkeypatch.setattr(driver, "REPORT_PAUSE", 0.01)
    monkeypatch.setattr(report_queue, "CHECK_EVERY", 0.005)
    monkeypatch.setattr(report_queue, "RETRY", 0.05)
    monkeypatch.setattr(broker_connection, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(broker_connection, "LONGEST_PAUSE", 0.2)
