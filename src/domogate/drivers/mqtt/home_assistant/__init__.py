"""Devices that announce themselves as Home Assistant expects it (MQTT discovery). They become modules of the dialect `generic`.

Source: the documentation of Home Assistant, page "MQTT", section "MQTT Discovery", and the page of each component.
"""

from domogate.drivers.mqtt.home_assistant.modules import find_candidates

FILTERS = ("homeassistant/+/+/config", "homeassistant/+/+/+/config")
"""The topics of the announcements. Between `homeassistant` and `config`: component, node id (may be missing), object id."""
PREFIX = "homeassistant/"

__all__ = ["FILTERS", "PREFIX", "find_candidates"]
