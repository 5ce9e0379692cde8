"""Modules that use MQTT: Zigbee2MQTT, Tasmota, and other devices that topics and templates can describe (docs/mqtt.md).

The code of the driver is imported when it is used (Decision 0098).
"""

from typing import Annotated

from domogate.domain.discovery import Discovery
from domogate.drivers.declaration import Connections, DriverDeclaration, DriverSettings, Setting, lazy, unique_names
from domogate.drivers.mqtt.broker import MqttBroker
from domogate.ports import Clock, Driver

__all__ = ["DRIVER", "MqttBroker", "MqttSettings"]


class MqttSettings(DriverSettings, frozen=True):
    brokers: Annotated[
        tuple[MqttBroker, ...],
        Setting(
            "JSON",
            'Brokers for the driver mqtt: [{"url": "mqtt://host:1883"}], or easier, tables [[mqtt_brokers]] in the TOML file.',
            unique_names,
            secret=True,
        ),
    ] = ()


def _build(clock: Clock, settings: MqttSettings) -> Driver:
    from domogate.drivers.mqtt.driver import Mqtt

    return Mqtt(clock, settings.brokers)


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
    separate=lambda settings: MqttSettings(brokers=tuple(broker.with_unique_id() for broker in settings.brokers)),
)
