"""The dialect `generic`: topics and templates in the module's options describe any device (docs/mqtt.md has examples)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Literal, cast

from domogate.domain.devices import DeviceKind
from domogate.domain.states import Battery, ThermostatFunction, ThermostatMode
from domogate.drivers.declaration import OptionProblem, inside
from domogate.drivers.mqtt.dialects.availability import Availability, ReadRequest, as_boolean
from domogate.drivers.mqtt.dialects.color import ColorFormat, fill_color, read_color
from domogate.drivers.mqtt.dialects.options import DialectOptions, find_problem_of_topic
from domogate.drivers.mqtt.payloads import as_number, battery_of, within
from domogate.drivers.mqtt.pictures import read_picture
from domogate.drivers.mqtt.properties import (
    THERMOSTAT_DEFAULTS,
    Codec,
    Properties,
    Publication,
    QueuePolicy,
    Subscription,
    Unsupported,
)
from domogate.drivers.mqtt.template import Scalar, Source, Target

_MOST_SOCKETS = 32
_MOST_AVAILABILITIES = 8
_DIGITS = 6
"""A value that is read is rounded to this number of decimals, to remove the errors of the multiplication by `scale`."""


def _between(low: float, high: float, *, whole: bool = False) -> Callable[[Scalar], float | None]:
    def read(value: Scalar) -> float | None:
        number = as_number(value)
        if number is None:
            return None
        # Rounded before the check: a scaled number, such as 255 * (1 / 2.55), can be a little more than 100.
        rounded = round(number) if whole else round(number, _DIGITS)
        return rounded if low <= rounded <= high else None

    return read


def _battery(value: Scalar) -> Battery | None:
    if isinstance(value, str):
        return Battery(value) if value in frozenset(Battery) else None
    percent = within(value, 0, 100)
    return None if percent is None else battery_of(percent)


def _firmware(value: Scalar) -> int | None:
    number = within(value, 0, 2**31 - 1)
    return None if number is None else int(number)


_MODES, _FUNCTIONS = frozenset(ThermostatMode), frozenset(ThermostatFunction)
_PROPERTIES: Mapping[str, tuple[str, Callable[[Any], Any]]] = MappingProxyType(
    {
        "on": ("on", as_boolean),
        "level": ("level", _between(0, 100, whole=True)),
        "hue": ("hue", _between(0, 360)),
        "saturation": ("saturation", _between(0, 100)),
        "position": ("position", _between(0, 100, whole=True)),
        "target": ("target", _between(0, 100, whole=True)),
        "power": ("power", _between(0, 1e12)),
        "energy": ("energy", _between(0, 1e15)),
        "temperature": ("temperature", as_number),
        "humidity": ("humidity", _between(0, 100)),
        "battery": ("battery", _battery),
        "firmware": ("firmware", _firmware),
        "locked": ("locked", as_boolean),
        "active": ("active", as_boolean),
        "setPoint": ("set_point", _between(3, 40)),
        "mode": ("mode", lambda value: ThermostatMode(value) if value in _MODES else None),
        "function": ("function", lambda value: ThermostatFunction(value) if value in _FUNCTIONS else None),
        "loadActive": ("load_active", as_boolean),
    }
)
"""For each name in the options: the name of the property, and the function that reads its value."""
_DECIMALS: Mapping[str, int] = MappingProxyType({"setPoint": 1})
"""For some names in the options: the number of decimals of a sent number, if the option `decimals` is not set.

For names that are not in this table, the number is 0. This table and the option `decimals` have no effect on `color`:
`fill_color` rounds the values of a colour.
"""
_SOCKETS = {f"socket{number}": number - 1 for number in range(1, _MOST_SOCKETS + 1)}

_COLOR = "color"
"""In the options, this name means hue and saturation together. `colorAs` says which values their common message has."""
_OPERATION = "operation"
"""In the options, this name means mode and function of a thermostat together, as one value such as `manual cooling`."""
_JOINED: Mapping[str, frozenset[str]] = MappingProxyType(
    {_COLOR: frozenset(("hue", "saturation")), _OPERATION: frozenset(("mode", "function"))}
)
"""The names that stand for several properties."""

_LIGHT = frozenset(("on", "level", "hue", "saturation", _COLOR))
_COMMANDS: Mapping[DeviceKind, frozenset[str]] = MappingProxyType(
    {
        DeviceKind.LIGHT: _LIGHT,
        DeviceKind.PLUG: frozenset(("on",)),
        DeviceKind.HEATER: frozenset(("on",)),
        DeviceKind.AUDIOVIDEO_UNIT: frozenset(("on",)),
        DeviceKind.AUTOMATION: frozenset(("position",)),
        DeviceKind.LOCK: frozenset(("locked",)),
        DeviceKind.ACTIVATION: frozenset(("active",)),
        DeviceKind.CHRONOTHERMOSTAT: frozenset(("setPoint", "mode", "function", _OPERATION)),
        DeviceKind.MULTISOCKET: frozenset(_SOCKETS),
        DeviceKind.ENERGYMETER: frozenset(),
        DeviceKind.REMOTE: frozenset(),
        DeviceKind.GATEWAY: frozenset(),
    }
)
KINDS = frozenset(_COMMANDS)
# To make a state, one of these properties is needed.
_NEEDED: Mapping[DeviceKind, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys((DeviceKind.LIGHT, DeviceKind.PLUG, DeviceKind.HEATER, DeviceKind.AUDIOVIDEO_UNIT), ("on",)),
        DeviceKind.AUTOMATION: ("position",),
        DeviceKind.LOCK: ("locked",),
        DeviceKind.ACTIVATION: ("active",),
        DeviceKind.CHRONOTHERMOSTAT: ("setPoint",),
        DeviceKind.MULTISOCKET: ("socket1",),
        DeviceKind.ENERGYMETER: ("power", "energy"),
        DeviceKind.REMOTE: ("battery",),
    }
)


def _read_operation(value: object) -> Properties:
    """Return mode and function from a text such as `manual cooling` or `off`. For any other value, return no properties."""
    mode, _, function = value.partition(" ") if isinstance(value, str) else ("", "", "")
    if mode not in _MODES or (function and function not in _FUNCTIONS):
        return Properties()
    read = Properties(mode=ThermostatMode(mode))
    return Properties(**read, function=ThermostatFunction(function)) if function else read


class GenericOptions(DialectOptions, tag="generic", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of the dialect `generic`. For each property they say how it is read, and how it is sent."""

    kinds: ClassVar[frozenset[DeviceKind]] = KINDS
    state: dict[str, Source] = {}
    command: dict[str, Target] = {}
    availability: Availability | tuple[Availability, ...] | None = None
    """The topics that say whether the module is online. It is online if all of them say so."""
    ask: ReadRequest | None = None
    confirm: Literal["state", "broker"] = "state"
    """`state`: a new state of the device confirms an order.

    `broker`: the broker confirms the order, because the device never reports.
    """
    color_as: ColorFormat = "hs"
    """The values of `color`: hue and saturation (`hs`); red, green and blue (`rgb`); or a chromaticity (`xy`)."""
    picture: str | None = None
    """The topic on which a camera publishes pictures, as JPEG or PNG."""

    @property
    def gives_pictures(self) -> bool:
        return self.picture is not None

    @property
    def availabilities(self) -> tuple[Availability, ...]:
        if self.availability is None:
            return ()
        return (self.availability,) if isinstance(self.availability, Availability) else self.availability

    def find_problems(self, kind: DeviceKind) -> Iterator[OptionProblem]:
        yield from self._find_in_tables(kind)
        needed = _NEEDED.get(kind, ())
        if needed and not any(name in self.state for name in needed) and self.confirm == "state":
            yield ("state",), f"a {kind} needs {' or '.join(needed)} here, because its state is made from it"
        for one in self.availabilities:
            yield from inside(one.find_problems(), "availability")
        if len({one.topic for one in self.availabilities[:_MOST_AVAILABILITIES]}) < len(self.availabilities):
            yield ("availability",), f"at most {_MOST_AVAILABILITIES} topics, and each topic once"
        if self.ask is not None:
            yield from inside(self.ask.find_problems(), "ask")
        if self.picture is not None:
            yield from self._find_in_picture(kind, self.picture)

    def _find_in_picture(self, kind: DeviceKind, topic: str) -> Iterator[OptionProblem]:
        if kind is not DeviceKind.AUDIOVIDEO_UNIT:
            yield ("picture",), f"a {kind} has no pictures"
        elif "on" not in self.state:
            yield ("picture",), "add state.on: pictures are given only while the camera is on"
        elif problem := find_problem_of_topic(topic):
            yield ("picture",), problem
        elif topic in (*(one.topic for one in self.state.values()), *(one.topic for one in self.availabilities)):
            yield ("picture",), "its topic must not be used for anything else"

    def _find_in_tables(self, kind: DeviceKind) -> Iterator[OptionProblem]:
        for name, source in self.state.items():
            if not any(name in known for known in (_PROPERTIES, _SOCKETS, _JOINED)):
                names = ", ".join((*_PROPERTIES, *_JOINED))
                yield ("state", name), f"there is no {name!r}; there are {names} and socket1, socket2 …"
            yield from inside(source.find_problems(), "state", name)
        for name, target in self.command.items():
            if name not in _COMMANDS[kind]:
                yield ("command", name), f"a {kind} takes no command {name!r}"
            elif self.confirm == "state" and name not in self._reported:
                yield ("command", name), f"nothing would confirm it: add state.{name}, or set `confirm: broker`"
            yield from inside(target.find_problems(), "command", name)
        sockets = sorted(_SOCKETS[name] for name in self.state if name in _SOCKETS)
        if sockets != [*range(len(sockets))]:
            yield ("state",), "sockets are numbered from 1, without gaps"

    @property
    def _reported(self) -> frozenset[str]:
        """The names of the properties that the device reports. A new state can confirm only commands for these properties.

        The names are the keys of the table `state`. If the table has `hue` and `saturation`, the name `color` is added. If the
        table has `mode` and `function`, the name `operation` is added.
        """
        names = frozenset(self.state)
        return names | {name for name, parts in _JOINED.items() if parts <= names}

    def codec_for(self, kind: DeviceKind) -> Codec:
        return Generic(self, kind)


class Generic(Codec):
    """Decodes the messages of a device, and encodes the messages to it, as its options describe."""

    def __init__(self, options: GenericOptions, kind: DeviceKind) -> None:
        self._options = options
        self.confirmed_by_broker = options.confirm == "broker"
        settable = frozenset(_PROPERTIES[name][0] for name in options.command if name in _PROPERTIES)
        self.settable = settable | {"hue", "saturation"} if _COLOR in options.command else settable
        defaults = THERMOSTAT_DEFAULTS if kind is DeviceKind.CHRONOTHERMOSTAT else {}
        in_options = {*options.state, *options.command, *(_JOINED[_OPERATION] if _OPERATION in options.state else ())}
        self.always = cast(Properties, {what: value for what, value in defaults.items() if what not in in_options})
        self._sources: dict[str, list[tuple[str, Source]]] = {}
        for name, source in options.state.items():
            self._sources.setdefault(source.topic, []).append((name, source))
        topics = {} if options.picture is None else {options.picture: Subscription(QueuePolicy.LATEST)}
        topics |= {topic: Subscription(QueuePolicy.LATEST) for topic in self._sources}
        self._availabilities = {one.topic: one for one in options.availabilities}
        self.topics = topics | {topic: Subscription(QueuePolicy.LATEST, qos=1) for topic in self._availabilities}

    def decode(self, topic: str, payload: bytes) -> Properties:
        if topic == self._options.picture:
            return Properties(picture=read_picture(payload)) if payload else Properties()
        properties: dict[str, Any] = {}
        for name, source in self._sources.get(topic, ()):
            if name == _COLOR:
                properties |= read_color(self._options.color_as, source.find(payload, keep_text=True))
                continue
            value = source.read(payload)
            if value is None:
                continue
            if name in _SOCKETS:
                if (on := as_boolean(value)) is not None:
                    properties.setdefault("sockets", {})[_SOCKETS[name]] = on
            elif name == _OPERATION:
                properties |= _read_operation(value)
            else:
                what, read = _PROPERTIES[name]
                if (known := read(value)) is not None:
                    properties[what] = known
        if topic in self._availabilities and payload:
            properties |= self._availabilities[topic].read(payload, alone=topic not in self._sources)
        return cast(Properties, properties)  # its keys are those of _PROPERTIES

    def encode(self, wanted: Properties) -> Sequence[Publication]:
        by_property: Mapping[str, object] = wanted
        values = {name: by_property[what] for name, (what, _) in _PROPERTIES.items() if what in by_property}
        values |= {f"socket{socket + 1}": on for socket, on in wanted.get("sockets", {}).items()}
        publications: list[Publication] = []
        if _COLOR in self._options.command and values.keys() & {"hue", "saturation"}:
            publications.append(self._encode_color(values.pop("hue", None), values.pop("saturation", None)))
        if _OPERATION in self._options.command and values.keys() & _JOINED[_OPERATION]:
            publications.append(self._encode_operation(values.pop("mode", None), values.pop("function", None)))
        for name, value in values.items():
            target = self._options.command.get(name)
            if target is None:
                raise Unsupported(f"the module's options have no command {name}")
            publications.append(Publication(target.topic, target.fill(value, _DECIMALS.get(name, 0))))
        return publications

    def _encode_color(self, hue: object, saturation: object) -> Publication:
        target = self._options.command[_COLOR]
        color = as_number(hue) or 0.0, as_number(saturation) or 0.0
        return Publication(target.topic, fill_color(self._options.color_as, target.payload, *color).encode())

    def _encode_operation(self, mode: object, function: object) -> Publication:
        """Return the message that sets mode and function.

        If `mode` is None, the mode is manual. The message always names the mode. If `function` is not None, the message also
        names the function in two cases: the mode is manual, or `map` has a word for this mode with this function.
        """
        target = self._options.command[_OPERATION]
        known = ThermostatMode.MANUAL if mode is None else mode
        both = f"{known} {function}"
        needs_both = function is not None and (both in target.map or known == ThermostatMode.MANUAL)
        return Publication(target.topic, target.fill(both if needs_both else str(known)))

    def needs_function(self, function: ThermostatFunction) -> bool:
        target = self._options.command.get(_OPERATION)
        return target is not None and f"{ThermostatMode.MANUAL} {function}" in target.map

    def encode_read(self) -> Sequence[Publication]:
        request = self._options.ask
        return () if request is None else request.encode()
