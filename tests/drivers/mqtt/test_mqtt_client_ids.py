"""Client ids of gateways with the same settings, at a real mosquitto."""

import asyncio

import pytest

from domogate.drivers import make_settings, mqtt, separate_settings
from domogate.drivers.mqtt import MqttBroker
from domogate.drivers.mqtt.broker_connection import ConnectionOptions, open_connection
from support.driver_bench import PATIENCE
from support.mosquitto import Mosquitto

pytestmark = pytest.mark.slow


class TestGatewaysWithTheSameSettings:
    @pytest.mark.parametrize("in_a_cluster", [False, True])
    async def test_keep_their_connections_only_in_a_cluster(self, broker: Mosquitto, in_a_cluster: bool) -> None:
        settings = make_settings({"mqtt_brokers": (MqttBroker(url=broker.url, client_id="gate"),)})
        each = [mqtt.DRIVER.settings_in(separate_settings(settings) if in_a_cluster else settings).brokers[0] for _ in "ab"]
        ids = [one.client_id or "" for one in each]
        assert all(client_id.startswith("gate") for client_id in ids)
        first, second = [await open_connection(one, one.client_id or "", ConnectionOptions(lambda *_: None)) for one in each]
        try:
            if in_a_cluster:
                for connection in (first, second):
                    assert await connection.subscribe([("cluster/test", 0)]) == [0]
            else:
                async with asyncio.timeout(PATIENCE):
                    await first.lost
        finally:
            first.close()
            second.close()
