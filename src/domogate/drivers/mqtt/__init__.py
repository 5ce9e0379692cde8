"""Modules that speak MQTT: Zigbee2MQTT, Tasmota, and whatever else topics and templates can describe (docs/mqtt.md)."""

from domogate.drivers.mqtt.broker import MqttBroker
from domogate.drivers.mqtt.driver import Mqtt
from domogate.drivers.mqtt.options import find_option_problems

__all__ = ["Mqtt", "MqttBroker", "find_option_problems"]
