"""How Zigbee2MQTT, Tasmota and everything else speak. A new dialect is one file here and one name in this list."""

from domogate.drivers.mqtt.dialects.generic import GenericOptions
from domogate.drivers.mqtt.dialects.tasmota import TasmotaOptions
from domogate.drivers.mqtt.dialects.zigbee2mqtt import Zigbee2MqttOptions

Options = Zigbee2MqttOptions | TasmotaOptions | GenericOptions
"""A module's options, told apart by `dialect`."""

DIALECTS = ("zigbee2mqtt", "tasmota", "generic")

__all__ = ["DIALECTS", "GenericOptions", "Options", "TasmotaOptions", "Zigbee2MqttOptions"]
