"""Tasmota: commands are sent to `cmnd/topic/…`, answers come on `stat/topic/…`, and reports come on `tele/topic/…`.

Each message has only a part of the state. Source: the documentation of Tasmota, pages "MQTT", "Commands", "Lights", "Blinds and
Shutters" and "JSON Status Responses".
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from domogate.domain.devices import DeviceKind
from domogate.drivers.declaration import OptionProblem
from domogate.drivers.mqtt.dialects.options import DialectOptions, find_problem_of_topic
from domogate.drivers.mqtt.payloads import Unreadable, as_number, read_object, read_text, within
from domogate.drivers.mqtt.properties import Codec, Properties, Publication, QueuePolicy, Subscription, Unsupported

KINDS = frozenset(
    (
        *(DeviceKind.LIGHT, DeviceKind.PLUG, DeviceKind.HEATER, DeviceKind.MULTISOCKET, DeviceKind.ENERGYMETER),
        *(DeviceKind.AUTOMATION, DeviceKind.LOCK, DeviceKind.ACTIVATION),
    )
)
MOST_RELAYS = 32
_UNKNOWN_COMMAND = ("Unknown", "Error")
_REPLACED_BY_DEVICE = ("%hostname%", "%id%")
"""Words in the FullTopic of a device. The device replaces them by values that the gateway does not know."""


class TasmotaOptions(DialectOptions, tag="tasmota", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of the dialect Tasmota. They say which Tasmota device a module is, and which part of this device it uses."""

    kinds: ClassVar[frozenset[DeviceKind]] = KINDS
    topic: str = ""
    full_topic: str = "%prefix%/%topic%/"
    prefixes: tuple[str, str, str] = ("cmnd", "stat", "tele")
    relay: int = 1
    """The number of the relay that the module uses. The first relay is 1."""
    sockets: int = 0
    """The number of relays of a multisocket."""
    part: Literal["lamp", "color", "white", "channel"] = "lamp"
    """The part of a lamp that the module uses. `lamp` means the whole lamp.

    `color` and `white` are the two parts of a lamp whose white channels are not linked to its colour (SetOption37). `channel`
    means the channel number `relay` of a device that dims its channels one by one (SetOption68).
    """
    shutter: int = 1
    inverted: bool = False
    """Whether 0 is the open position of the shutter (ShutterInvert)."""
    states: tuple[str, str] = ("OFF", "ON")
    """The words that the device uses for off and on (StateText1 and 2)."""
    online: str = "Online"
    offline: str = "Offline"

    def find_problems(self, kind: DeviceKind) -> Iterator[OptionProblem]:
        if not self.topic:
            yield ("topic",), "the device's topic is missing"
        elif problem := find_problem_of_topic(self.topic):
            yield ("topic",), problem
        if "%prefix%" not in self.full_topic:
            yield ("fullTopic",), "%prefix% is expected in it"
        elif any(word in self.full_topic for word in _REPLACED_BY_DEVICE):
            yield ("fullTopic",), "write the name or the id of the device instead of %hostname% and %id%"
        elif problem := find_problem_of_topic(self.full_topic):
            yield ("fullTopic",), problem
        for index, prefix in enumerate(self.prefixes):
            if problem := find_problem_of_topic(prefix):
                yield ("prefixes", index), problem
        if not 1 <= self.relay <= MOST_RELAYS:
            yield ("relay",), f"relays are numbered 1 to {MOST_RELAYS}"
        if not 1 <= self.shutter <= 16:
            yield ("shutter",), "shutters are numbered 1 to 16"
        if kind is DeviceKind.MULTISOCKET and not 2 <= self.sockets <= MOST_RELAYS:
            yield ("sockets",), f"the number of its relays is expected, 2 to {MOST_RELAYS}"
        if self.states[0] == self.states[1]:
            yield ("states",), "off and on must differ"

    def codec_for(self, kind: DeviceKind) -> Codec:
        return Tasmota(kind, self)


class Tasmota(Codec):
    """Decodes and encodes the messages of one relay, light, shutter or meter of one Tasmota device."""

    def __init__(self, kind: DeviceKind, options: TasmotaOptions) -> None:
        self._kind = kind
        self._options = options
        self._on_off = {options.states[0]: False, options.states[1]: True, "OFF": False, "ON": True}
        command, answer, report = (_prefix_topic(options, prefix) for prefix in options.prefixes)
        self._command = command
        self._will = f"{report}LWT"
        relays = range(1, options.sockets + 1) if kind is DeviceKind.MULTISOCKET else (options.relay,)
        # In messages of a device with one relay, the relay is POWER. With more relays, they are POWER1, POWER2 …
        self._relays = {f"POWER{number}": number for number in relays} | ({"POWER": 1} if 1 in relays else {})
        # The names of the level in messages. The last name is also the command that sets the level.
        self._levels = {
            "lamp": (f"Dimmer{options.relay}", "Dimmer"),
            "color": ("Dimmer1",),
            "white": ("Dimmer2",),
            "channel": (f"Channel{options.relay}",),
        }[options.part]
        self._has_colors = options.part in ("lamp", "color")
        self._powers = {f"{answer}{name}": number for name, number in self._relays.items()}
        self.topics = {
            self._will: Subscription(qos=1),
            f"{answer}RESULT": Subscription(QueuePolicy.ALL),
            f"{answer}STATUS8": Subscription(),
            f"{answer}STATUS10": Subscription(),
            f"{report}STATE": Subscription(),
            f"{report}SENSOR": Subscription(),
            **({} if kind in (DeviceKind.AUTOMATION, DeviceKind.ENERGYMETER) else dict.fromkeys(self._powers, Subscription())),
        }

    # decoding

    def decode(self, topic: str, payload: bytes) -> Properties:
        if topic == self._will:
            return self._read_will(payload)
        relay = self._powers.get(topic)
        if relay is not None:
            properties = Properties()
            self._read_relay(relay, read_text(payload), properties)
            return properties
        said = read_object(payload)
        # An answer to Status wraps the report of the same name.
        for wrapper in ("StatusSTS", "StatusSNS"):
            if isinstance(said.get(wrapper), dict):
                said = said[wrapper]
        return self._read(said)

    def _read_will(self, payload: bytes) -> Properties:
        if not payload:
            return Properties()
        text = read_text(payload)
        if text not in (self._options.online, self._options.offline):
            raise Unreadable(f"neither {self._options.online} nor {self._options.offline}")
        return Properties(available=text == self._options.online)

    def _read(self, said: Mapping[str, Any]) -> Properties:
        properties = Properties()
        if said.get("Command") in _UNKNOWN_COMMAND:
            properties["refusal"] = f"the device does not know the command ({said['Command']})"
        if self._kind not in (DeviceKind.AUTOMATION, DeviceKind.ENERGYMETER):
            for name, relay in self._relays.items():
                if name in said:
                    self._read_relay(relay, said[name], properties)
        if self._kind is DeviceKind.LIGHT:
            self._read_light(said, properties)
        elif self._kind is DeviceKind.AUTOMATION:
            self._read_shutter(said.get(f"Shutter{self._options.shutter}"), properties)
            # The answer to the command has the target position, before the shutter moves.
            if (target := within(said.get(f"ShutterPosition{self._options.shutter}"), 0, 100)) is not None:
                properties["target"] = self._turn(target)
        energy = said.get("ENERGY")
        if isinstance(energy, dict):
            self._read_energy(energy, properties)
        return properties

    def _read_relay(self, relay: int, word: object, properties: Properties) -> None:
        on = self._on_off.get(word) if isinstance(word, str) else None
        if on is None:
            return
        if self._kind is DeviceKind.MULTISOCKET:
            properties.setdefault("sockets", {})[relay - 1] = on
        elif self._kind is DeviceKind.LOCK:
            properties["locked"] = not on  # an electric strike that has power is open
        elif self._kind is DeviceKind.ACTIVATION:
            properties["active"] = on
        else:
            properties["on"] = on

    def _read_light(self, said: Mapping[str, Any], properties: Properties) -> None:
        for name in self._levels:
            if (level := within(said.get(name), 0, 100)) is not None:
                properties["level"] = round(level)
                break
        color = said.get("HSBColor")
        if not isinstance(color, str) or not self._has_colors:
            return
        parts = [_whole(part) for part in color.split(",")]
        if len(parts) == 3:
            hue, saturation = within(parts[0], 0, 360), within(parts[1], 0, 100)
            if hue is not None and saturation is not None:
                properties["hue"], properties["saturation"] = hue, saturation

    def _read_shutter(self, said: object, properties: Properties) -> None:
        if isinstance(said, dict):
            if (position := within(said.get("Position"), 0, 100)) is not None:
                properties["position"] = self._turn(position)
            if (target := within(said.get("Target"), 0, 100)) is not None:
                properties["target"] = self._turn(target)

    def _turn(self, position: float) -> int:
        """Convert a position of the device to a position of the module (100 is open), or back."""
        return 100 - round(position) if self._options.inverted else round(position)

    def _read_energy(self, said: Mapping[str, Any], properties: Properties) -> None:
        power, total = said.get("Power"), said.get("Total")
        if isinstance(power, list) and not isinstance(total, list) and self._kind is not DeviceKind.ENERGYMETER:
            total = None  # the energy of all channels together (SetOption129 of the device is 0)
        if (watts := as_number(self._choose(power))) is not None:
            properties["power"] = max(0.0, watts)
        if (kilowatt_hours := within(self._choose(total), 0, 1e9)) is not None:
            properties["energy"] = round(kilowatt_hours * 1000, 3)

    def _choose(self, measured: object) -> object:
        """Return the measured value of this module. A device with several phases or channels sends a list of values.

        For a meter, the result is the sum of the list. For any other module, the result is the value of its channel, or the sum
        if the list has no such value.
        """
        if not isinstance(measured, list):
            return measured
        of_one = measured[self._options.relay - 1 : self._options.relay]
        return of_one[0] if self._kind is not DeviceKind.ENERGYMETER and of_one else _sum(measured)

    # encoding

    def encode(self, wanted: Properties) -> Sequence[Publication]:
        publications: list[Publication] = []
        if "hue" in wanted:
            level = wanted.get("level", 100)
            publications.append(
                self._publication("HSBColor", f"{round(wanted['hue'] or 0)},{round(wanted.get('saturation') or 0)},{level}")
            )
        elif "level" in wanted:
            publications.append(self._publication(self._levels[-1], str(wanted["level"])))
        for socket, on in wanted.get("sockets", {}).items():
            if not 0 <= socket < self._options.sockets:
                raise Unsupported(f"there is no socket {socket}; the first is 0, the last is {self._options.sockets - 1}")
            publications.append(self._switch(socket + 1, on))
        if "on" in wanted or "active" in wanted:
            publications.append(self._switch(self._options.relay, bool(wanted.get("on", wanted.get("active")))))
        if "locked" in wanted:
            publications.append(self._switch(self._options.relay, not wanted["locked"]))
        if "position" in wanted:
            position = str(self._turn(wanted["position"]))
            publications.append(self._publication(f"ShutterPosition{self._options.shutter}", position))
        return publications

    def _switch(self, relay: int, on: bool) -> Publication:
        return self._publication(f"POWER{relay}", "ON" if on else "OFF")

    def _publication(self, command: str, text: str) -> Publication:
        return Publication(f"{self._command}{command}", text.encode())

    def encode_read(self) -> Sequence[Publication]:
        state, sensors = self._publication("STATE", ""), self._publication("STATUS", "10")
        if self._kind in (DeviceKind.ENERGYMETER, DeviceKind.AUTOMATION):
            return (sensors,)
        return (state, sensors) if self._kind is DeviceKind.PLUG else (state,)


def _prefix_topic(options: TasmotaOptions, prefix: str) -> str:
    spelled = options.full_topic.replace("%prefix%", prefix).replace("%topic%", options.topic)
    return spelled if spelled.endswith("/") else f"{spelled}/"


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _sum(values: Sequence[object]) -> float:
    return sum(number for value in values if (number := as_number(value)) is not None)
