"""Modules that use MQTT: devices of Zigbee2MQTT and Tasmota, and other devices.

For other devices, the options of the module describe the topics and messages (docs/mqtt.md).

The code of the driver is imported when it is used (Decision 0098).
"""

from collections.abc import Iterator
from typing import Annotated

from domogate.domain.discovery import Discovery
from domogate.drivers.declaration import Connections, DriverDeclaration, DriverSettings, Setting, connections_setting, lazy
from domogate.drivers.mqtt.bridge_settings import MqttBridge, check_bridges
from domogate.drivers.mqtt.broker import MqttBroker
from domogate.ports import BridgeBroker, Clock, Driver

__all__ = ["DRIVER", "MqttBridge", "MqttBroker", "MqttSettings", "build_bridge_brokers"]


class MqttSettings(DriverSettings, frozen=True):
    brokers: Annotated[
        tuple[MqttBroker, ...],
        connections_setting(
            'Brokers for the driver mqtt: [{"url": "mqtt://host:1883"}], or easier, tables [[mqtt_brokers]] in the TOML file.'
        ),
    ] = ()
    bridges: Annotated[
        tuple[MqttBridge, ...],
        Setting(
            "JSON",
            "Bridges that publish plants to brokers, for other programs: tables [[mqtt_bridges]] in the TOML file.",
            check_bridges,
        ),
    ] = ()

    def find_contradictions(self) -> Iterator[tuple[str, str]]:
        names = [broker.name for broker in self.brokers]
        for bridge in self.bridges:
            if bridge.broker not in names:
                listed = f"mqtt_brokers lists {', '.join(names)}" if names else "mqtt_brokers lists no broker"
                yield "bridges", f"a bridge names the broker {bridge.broker!r}, but {listed}."


def _build(clock: Clock, settings: MqttSettings) -> Driver:
    from domogate.drivers.mqtt.driver import Mqtt

    return Mqtt(clock, settings.brokers)


def build_bridge_brokers(settings: MqttSettings) -> dict[str, BridgeBroker]:
    """Return the brokers that the bridges in the settings use, by the names of the brokers."""
    if not settings.bridges:
        return {}
    from domogate.drivers.mqtt.bridge_broker import MqttBridgeBroker

    named = {bridge.broker for bridge in settings.bridges}
    return {one.name: MqttBridgeBroker(one, settings.brokers) for one in settings.brokers if one.name in named}


async def _discover(settings: MqttSettings, name: str | None, seconds: float, base: str | None) -> Discovery:
    from domogate.drivers.mqtt.discovery import discover

    return await discover(settings.brokers, name, seconds, base)


DRIVER = DriverDeclaration(
    "mqtt",
    MqttSettings,
    _build,
    lazy("domogate.drivers.mqtt.options", "find_option_problems"),
    Connections(
        "broker",
        lambda settings: [broker.name for broker in settings.brokers],
        lambda url, username, password: MqttSettings(brokers=(MqttBroker(url=url, username=username, password=password),)),
    ),
    lazy("domogate.drivers.mqtt.options", "describe_options"),
    _discover,
    separate=lambda settings: MqttSettings(
        brokers=tuple(broker.with_unique_id() for broker in settings.brokers), bridges=settings.bridges
    ),
)
