"""The dialects: Zigbee2MQTT, Tasmota and generic. A new dialect is one file here and one name in this list."""

from domogate.drivers.mqtt.dialects.generic import GenericOptions
from domogate.drivers.mqtt.dialects.tasmota import TasmotaOptions
from domogate.drivers.mqtt.dialects.zigbee2mqtt import Zigbee2MqttOptions

Options = Zigbee2MqttOptions | TasmotaOptions | GenericOptions
"""The options of a module. The option `dialect` selects the class."""

DIALECTS = ("zigbee2mqtt", "tasmota", "generic")

__all__ = ["DIALECTS", "GenericOptions", "Options", "TasmotaOptions", "Zigbee2MqttOptions"]
