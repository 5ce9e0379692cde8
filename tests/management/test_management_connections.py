"""The broker of a driver is set over the management API: it is tested with a real broker, stored and used at once."""

import asyncio
from collections.abc import Iterator, Sequence

import pytest

from domogate.app import driver_catalogue
from domogate.domain.events import Change, ChangesLost, DriverConnectionChanged, Event
from domogate.drivers.mqtt import MqttBroker, MqttSettings
from domogate.ports import DriverConnection, StoreUnavailable
from support.clocks import NOW
from support.log_lines import capture_logs
from support.management_setup import ManagementApi
from support.mosquitto import Mosquitto, mosquitto
from support.ports import free_port

pytestmark = pytest.mark.slow

CONNECTION = "/drivers/mqtt/connection"
USER, PASSWORD = "gate", "a-password-of-the-broker"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with mosquitto(tmp_path_factory.mktemp("mosquitto"), users={USER: PASSWORD}) as one:
        yield one


async def test_a_broker_is_tested_stored_and_used_at_once(api: ManagementApi, broker: Mosquitto) -> None:
    facts = await api.ok("GET", "/drivers/mqtt")
    assert (facts["connections"], facts["canSetConnection"], facts["connection"]) == ([], True, None)

    body = {"url": broker.url, "username": USER, "password": PASSWORD}
    answer = await api.send("PUT", CONNECTION, body)
    assert PASSWORD not in answer.text
    shown = {"url": broker.url, "username": USER, "hasPassword": True}
    assert (answer.json()["connections"], answer.json()["connection"]) == (["main"], shown)
    assert api.replaced_drivers == ["mqtt"]
    assert (await api.ok("POST", "/discoveries", {"seconds": 0.1}))["found"] == []
    await api.ok("PUT", CONNECTION, body)
    assert api.replaced_drivers == ["mqtt"], "nothing changed, so the driver goes on"

    await api.ok("DELETE", CONNECTION, status=204)
    assert (await api.ok("GET", "/drivers/mqtt"))["connections"] == []
    assert api.replaced_drivers == ["mqtt", "mqtt"]
    records = (await api.ok("GET", "/audit?action=driver%20changed"))["items"]
    assert [record["detail"] for record in records] == [
        {"change": "connection set", "url": broker.url},
        {"change": "connection set", "url": broker.url},
        {"change": "connection deleted"},
    ]


async def test_a_broker_that_cannot_be_used_is_refused_with_the_reason(api: ManagementApi, broker: Mosquitto) -> None:
    nobody = free_port()
    refusal = await api.refused("PUT", CONNECTION, {"url": f"mqtt://127.0.0.1:{nobody}"}, status=502)
    assert refusal == f"The broker at 127.0.0.1:{nobody} cannot be used: Connection refused. Check the address and the port."
    wrong = {"url": broker.url, "username": USER, "password": "wrong"}
    assert "not authorized. Check the user name and the password." in await api.refused("PUT", CONNECTION, wrong, status=502)
    assert "begins with mqtt://" in await api.refused("PUT", CONNECTION, {"url": "http://127.0.0.1"}, status=422)
    needs_user = await api.refused("PUT", CONNECTION, {"url": broker.url, "password": "x"}, status=422)
    assert "a password needs a username" in needs_user
    for field in ("password_file", "passwordFile", "caFile"):
        await api.refused("PUT", CONNECTION, {"url": broker.url, field: "/etc/passwd"}, status=400)
    assert (await api.ok("GET", "/drivers/mqtt"))["connection"] is None
    assert await api.env.store.list_connections() == []
    await api.refused("DELETE", CONNECTION, status=404)
    await api.refused("PUT", "/drivers/simulator/connection", {"url": broker.url}, status=404)


async def test_connections_in_the_settings_are_changed_only_there(api: ManagementApi, broker: Mosquitto) -> None:
    api.driver_settings["mqtt"] = MqttSettings(brokers=(MqttBroker(url=broker.url),))
    assert not (await api.ok("GET", "/drivers/mqtt"))["canSetConnection"]
    refusal = await api.refused("PUT", CONNECTION, {"url": broker.url}, status=409)
    assert refusal == "The settings of the gateway list the connections of the driver mqtt. Change them there."
    await api.refused("DELETE", CONNECTION, status=409)


@pytest.mark.parametrize("event", [DriverConnectionChanged(driver="mqtt"), ChangesLost()])
async def test_a_connection_that_another_gateway_set_is_used_after_the_store_failed(
    api: ManagementApi, monkeypatch: pytest.MonkeyPatch, event: Event
) -> None:
    store = api.env.store
    list_connections, failures = store.list_connections, [StoreUnavailable("the database is restarting")]

    async def list_or_fail() -> Sequence[DriverConnection]:
        if failures:
            raise failures.pop()
        return await list_connections()

    monkeypatch.setattr(driver_catalogue, "_RETRY", 0.01, raising=False)
    monkeypatch.setattr(store, "list_connections", list_or_fail)
    await store.set_connection(DriverConnection("mqtt", "mqtt://broker.lan", None, None))
    with capture_logs():
        api.drivers.apply([Change(1, NOW, event)])
        async with asyncio.timeout(30):
            while not api.replaced_drivers:
                await asyncio.sleep(0.01)
    assert (await api.ok("GET", "/drivers/mqtt"))["connection"]["url"] == "mqtt://broker.lan"
    await api.drivers.stop()
