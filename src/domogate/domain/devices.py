"""Kinds of devices, and the catalogue with the default hardware of each kind.

The specification does not give values for metrics, capabilities, deviceType and hw_type. These values come from this catalogue.
An estate can override them for a module (Decision 0012).
"""

from enum import StrEnum

import msgspec


class DeviceKind(StrEnum):
    """The kind of a module. Each family has a table with its own names for the kinds it shows."""

    LIGHT = "light"
    AUTOMATION = "automation"
    PLUG = "plug"
    HEATER = "heater"
    ENERGYMETER = "energymeter"
    REMOTE = "remote"
    SCENE = "scene"
    GATEWAY = "gateway"
    LOCK = "lock"
    ACTIVATION = "activation"
    AUDIOVIDEO_UNIT = "audiovideo unit"
    CHRONOTHERMOSTAT = "chronothermostat"
    MULTISOCKET = "multisocket"
    EMERGENCY_CONTROLLER = "emergency controller"
    EMERGENCY_UNIT = "emergency unit"


class MetricType(StrEnum):
    TEXT = "Text"
    NUMBER = "Number"
    OBJECT = "Object"


EMERGENCY_KINDS = frozenset({DeviceKind.EMERGENCY_CONTROLLER, DeviceKind.EMERGENCY_UNIT})


class Metric(msgspec.Struct, frozen=True, gc=False):
    """A value that a module can report (Spec 2.4)."""

    label: str
    type: MetricType


class Capability(msgspec.Struct, frozen=True, gc=False):
    """A value or an action of a module (Spec 2.5): whether the module executes commands for it (`command`), can be asked for it
    (`request`), and reports it (`notification`). Several of the three can be true.
    """

    name: str
    command: bool
    request: bool
    notification: bool


class Hardware(msgspec.Struct, frozen=True, gc=False):
    """The hardware of a module, as clients see it."""

    hw_type: str
    device_type: str
    metrics: tuple[Metric, ...] = ()
    capabilities: tuple[Capability, ...] = ()


_ON_OFF = Metric("status", MetricType.TEXT)
_SWITCH = Capability("status", command=True, request=True, notification=True)

HARDWARE: dict[DeviceKind, Hardware] = {
    DeviceKind.LIGHT: Hardware(
        "light-dimmer",
        "Dimmer",
        (_ON_OFF, Metric("level", MetricType.NUMBER), Metric("colorHSV", MetricType.OBJECT)),
        (_SWITCH, Capability("level", command=True, request=True, notification=True)),
    ),
    DeviceKind.AUTOMATION: Hardware("shutter-motor", "Shutter", (Metric("position", MetricType.NUMBER),)),
    DeviceKind.PLUG: Hardware("plug-16a", "Plug", (_ON_OFF, Metric("power", MetricType.NUMBER))),
    DeviceKind.HEATER: Hardware("heater-relay", "Heater", (_ON_OFF,)),
    DeviceKind.ENERGYMETER: Hardware("energy-meter", "Energy meter", (Metric("power", MetricType.NUMBER),)),
    DeviceKind.REMOTE: Hardware("remote-4", "Remote", (Metric("battery", MetricType.TEXT),)),
    DeviceKind.SCENE: Hardware("scene", "Scene"),
    DeviceKind.GATEWAY: Hardware(
        "gateway-ip", "Gateway", (), (Capability("firmware", command=False, request=True, notification=True),)
    ),
    DeviceKind.LOCK: Hardware("lock-strike", "Lock", (), (Capability("open", command=True, request=False, notification=True),)),
    DeviceKind.ACTIVATION: Hardware(
        "activation-relay", "Activation", (), (Capability("activate", command=True, request=False, notification=True),)
    ),
    DeviceKind.AUDIOVIDEO_UNIT: Hardware(
        "entrance-panel",
        "Entrance panel",
        (),
        (
            Capability("video", command=True, request=True, notification=False),
            Capability("call", command=False, request=False, notification=True),
        ),
    ),
    DeviceKind.CHRONOTHERMOSTAT: Hardware(
        "chronothermostat",
        "Chronothermostat",
        (Metric("temperature", MetricType.NUMBER), Metric("humidity", MetricType.NUMBER), Metric("mode", MetricType.TEXT)),
    ),
    DeviceKind.MULTISOCKET: Hardware("multisocket-4", "Multisocket", (Metric("status", MetricType.OBJECT),)),
    DeviceKind.EMERGENCY_CONTROLLER: Hardware("emergency-controller", "Emergency lighting controller"),
    DeviceKind.EMERGENCY_UNIT: Hardware("emergency-unit", "Emergency lighting unit"),
}
