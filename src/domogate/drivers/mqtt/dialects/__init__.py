"""The dialects, which are ways of using MQTT topics: Zigbee2MQTT, Tasmota, generic and emergency.

A new dialect is one file in this folder and one class in `Options`.
"""

from typing import get_args

from domogate.drivers.mqtt.dialects.emergency import EmergencyOptions
from domogate.drivers.mqtt.dialects.generic import GenericOptions
from domogate.drivers.mqtt.dialects.tasmota import TasmotaOptions
from domogate.drivers.mqtt.dialects.zigbee2mqtt import Zigbee2MqttOptions

Options = Zigbee2MqttOptions | TasmotaOptions | GenericOptions | EmergencyOptions
"""The options of a module, one class for each dialect. The value of the option `dialect` decides which class is used."""

DIALECTS = tuple(str(options.__struct_config__.tag) for options in get_args(Options))

__all__ = ["DIALECTS", "EmergencyOptions", "GenericOptions", "Options", "TasmotaOptions", "Zigbee2MqttOptions"]
