"""Modules that use MQTT: Zigbee2MQTT, Tasmota, and other devices that topics and templates can describe (docs/mqtt.md)."""

from typing import Annotated

from domogate.drivers.declaration import Connections, DriverDeclaration, DriverSettings, Setting, unique_names
from domogate.drivers.mqtt.broker import MqttBroker
from domogate.drivers.mqtt.discovery import discover
from domogate.drivers.mqtt.driver import Mqtt
from domogate.drivers.mqtt.options import describe_options, find_option_problems

__all__ = ["DRIVER", "Mqtt", "MqttBroker", "MqttSettings"]


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


DRIVER = DriverDeclaration(
    Mqtt.name,
    MqttSettings,
    lambda clock, settings: Mqtt(clock, settings.brokers),
    find_option_problems,
    Connections(
        "broker",
        lambda settings: [broker.name for broker in settings.brokers],
        lambda url, username, password: MqttSettings(brokers=(MqttBroker(url=url, username=username, password=password),)),
    ),
    describe_options,
    lambda settings, name, seconds, base: discover(settings.brokers, name, seconds, base),
    separate=lambda settings: MqttSettings(brokers=tuple(broker.with_unique_id() for broker in settings.brokers)),
)
