"""Makes modules from the announcements of devices, one module for each part of a device that can be driven.

The sensors of power and energy are added to a plug if the device has exactly one plug, this plug reports its state, and no two
sensors have the same measure. Otherwise these sensors become meters.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from domogate.common.log import get_logger
from domogate.domain.devices import DeviceKind
from domogate.drivers.mqtt.announcements import Candidate
from domogate.drivers.mqtt.home_assistant.components import REASONS, TRANSLATIONS
from domogate.drivers.mqtt.home_assistant.entries import Translation, read_source
from domogate.drivers.mqtt.home_assistant.messages import Announcement, read_announcements
from domogate.drivers.mqtt.home_assistant.templates import Untranslatable, read_value_template
from domogate.drivers.mqtt.payloads import Unreadable

_log = get_logger(__name__)
_MOST_PARTS = 5_000
"""When one search has read this number of parts of devices (such as lamps and sensors), it ignores all later announcements."""
_MOST_LOGGED = 20
_LONGEST_LABEL = 40
_LONGEST_TOPIC = 100
_UNITS: Mapping[str, tuple[str, float]] = MappingProxyType(
    {"W": ("power", 1), "kW": ("power", 1000), "Wh": ("energy", 1), "kWh": ("energy", 1000), "MWh": ("energy", 1_000_000)}
)
"""The measure of each unit, and its factor to watts or watt-hours."""
_CLIMATE_UNITS: Mapping[str, Mapping[str, tuple[float, float]]] = MappingProxyType(
    {"temperature": {"°C": (1.0, 0.0), "°F": (5 / 9, -160 / 9)}, "humidity": {"%": (1.0, 0.0)}}
)
"""The measures that a sensor can add to a thermostat.

Each measure has its units. For each unit: the factor and the offset that convert a value to Celsius or percent.
"""
_OF_REMOTES = frozenset(("event", "device_automation"))
"""The components of Home Assistant that stand for buttons of remote controls."""
_AVAILABILITY_WORDS = MappingProxyType({"payload_available": "online", "payload_not_available": "offline"})


def find_candidates(received: Mapping[str, bytes], others: Iterable[str]) -> Iterator[Candidate]:
    """Yield the modules in the announcements. Also yield each device or part that cannot become a module, with the reason.

    `received` has the payload of each announcement, by its topic. `others` are base topics of devices that another dialect
    finds. Announcements of these devices are ignored. An unreadable announcement is also yielded, with the reason.
    """
    bases = tuple(f"{base}/" for base in others)
    devices: dict[str, dict[str, Announcement]] = {}
    count = 0
    for topic, payload in received.items():
        if count >= _MOST_PARTS:
            yield Candidate(topic, topic[:_LONGEST_TOPIC], why=f"more than {_MOST_PARTS} parts of devices are announced")
            break
        try:
            for said in read_announcements(topic, payload):
                count += 1
                if not _belongs_to(bases, said.config):
                    devices.setdefault(said.device, {}).setdefault(said.key, said)
        except Unreadable as unreadable:
            yield Candidate(topic, topic[:_LONGEST_TOPIC], why=f"the announcement cannot be read: {unreadable}")
    unused: Counter[str] = Counter()
    for parts in devices.values():
        yield from _modules_of([*parts.values()], unused)
    if unused:
        # One line for a search: a device may have many such parts.
        counts = dict(unused.most_common(_MOST_LOGGED))
        _log.info("parts of announced devices have no kind of module", parts=counts, total=unused.total())


def _belongs_to(bases: tuple[str, ...], config: Mapping[str, Any]) -> bool:
    topics = (value for name, value in config.items() if name.endswith("topic"))
    return any(isinstance(topic, str) and topic.startswith(bases) for topic in topics)


def _modules_of(parts: list[Announcement], unused: Counter[str]) -> Iterator[Candidate]:
    """Yield the possible modules of one device. If one of them cannot become a module, its field `why` has the reason.

    Count in `unused` the parts for residents that no module uses.
    """
    driven, meters, rest = _sort(parts)
    candidates: list[Candidate] = []
    for said in driven:
        try:
            candidates.append(_candidate(said, TRANSLATIONS[said.component](said)))
        except Untranslatable as reason:
            candidates.append(Candidate(said.key, said.name, why=str(reason)))
    plugs = [number for number, one in enumerate(candidates) if one.kind is DeviceKind.PLUG and not one.why]
    measured: list[tuple[Announcement, str, dict[str, Any]]] = []
    for said in meters:
        name, factor = _UNITS[said.text("unit_of_measurement")]
        try:
            measured.append((said, name, read_source(said, "state_topic", "value_template", scale=factor)))
        except Untranslatable as reason:
            candidates.append(Candidate(said.key, said.name, why=str(reason)))
    state = {name: source for _, name, source in measured}
    if len(state) < len(measured):  # for example one sensor for each phase
        candidates += [_meter(said, {name: source}, said.name) for said, name, source in measured]
    elif state and len(plugs) == 1 and candidates[plugs[0]].options.get("confirm") is None:
        plug = candidates[plugs[0]]
        options = {**plug.options, "state": {**plug.options["state"], **state}}
        candidates[plugs[0]] = msgspec.structs.replace(plug, options=options)
    elif state:
        candidates.append(_meter(meters[0], state, meters[0].device_name))
    rest = _add_to_thermostat(candidates, rest)
    if not candidates and (remote := _remote(rest)) is not None:
        candidates.append(remote)
        rest = [said for said in rest if said.component not in _OF_REMOTES and said.key != remote.key]
    if not candidates and rest:
        candidates.append(Candidate(rest[0].key, rest[0].device_name, why=_reason_of(rest)))
    unused.update(_label(said) for said in rest if _is_shown(said))
    yield from candidates


def _add_to_thermostat(candidates: list[Candidate], rest: list[Announcement]) -> list[Announcement]:
    """If a device has exactly one thermostat, add the device's temperature sensor and humidity sensor to the thermostat.

    If the device has several sensors of one of the two measures, add none of these sensors. Also add no sensor for a measure
    that the thermostat itself reports, and no sensor that the options of a module cannot describe. Return the announcements of
    `rest` without the added sensors.
    """
    at = [number for number, one in enumerate(candidates) if one.kind is DeviceKind.CHRONOTHERMOSTAT and not one.why]
    for measure, units in _CLIMATE_UNITS.items():
        sensors = [said for said in rest if said.component == "sensor" and said.text("device_class") == measure]
        if len(at) != 1 or len(sensors) != 1 or measure in candidates[at[0]].options["state"]:
            continue
        unit = units.get(sensors[0].text("unit_of_measurement"))
        if unit is None or not _is_shown(sensors[0]):
            continue
        try:
            source = read_source(sensors[0], "state_topic", "value_template", scale=unit[0], offset=unit[1])
        except Untranslatable:
            continue
        if source:
            thermostat = candidates[at[0]]
            options = {**thermostat.options, "state": {**thermostat.options["state"], measure: source}}
            candidates[at[0]] = msgspec.structs.replace(thermostat, options=options)
            rest = [said for said in rest if said is not sensors[0]]
    return rest


def _remote(rest: list[Announcement]) -> Candidate | None:
    """Return a remote control if the device has buttons and a sensor for the charge of its battery. Otherwise return None.

    If the options of a module cannot describe this sensor, the remote control cannot become a module. The field `why` of the
    result then has the reason.
    """
    battery = next((said for said in rest if said.component == "sensor" and said.text("device_class") == "battery"), None)
    if battery is None or not any(said.component in _OF_REMOTES for said in rest):
        return None
    try:
        source = read_source(battery, "state_topic", "value_template")
    except Untranslatable as reason:
        return Candidate(battery.key, battery.device_name, why=str(reason))
    named = msgspec.structs.replace(battery, name=battery.device_name)
    return _candidate(named, Translation(DeviceKind.REMOTE, {"battery": source} if source else {}, {}))


def _reason_of(rest: list[Announcement]) -> str:
    reason = next((REASONS[said.component] for said in rest if said.component in REASONS), None)
    return reason or f"no kind of module has {', '.join(sorted({_label(said) for said in rest})[:6])}"


def _label(said: Announcement) -> str:
    return (said.text("device_class") or said.component)[:_LONGEST_LABEL]


def _is_shown(said: Announcement) -> bool:
    """Whether this part of the device is for residents.

    Two kinds of parts are not for residents: parts with a category, which are for the settings or the diagnosis of the device
    (for example a restart), and parts that the device announces as not enabled by default.
    """
    return not said.text("entity_category") and said.config.get("enabled_by_default") is not False


def _sort(parts: list[Announcement]) -> tuple[list[Announcement], list[Announcement], list[Announcement]]:
    """Return three lists: the parts that can be driven, the sensors of power and energy, and all other parts."""
    driven: list[Announcement] = []
    meters: list[Announcement] = []
    rest: list[Announcement] = []
    for said in parts:
        if _is_shown(said) and said.component in TRANSLATIONS:
            driven.append(said)
        elif _is_shown(said) and said.component == "sensor" and said.text("unit_of_measurement") in _UNITS:
            meters.append(said)
        else:
            rest.append(said)
    return driven, meters, rest


def _meter(said: Announcement, state: dict[str, Any], name: str) -> Candidate:
    return _candidate(msgspec.structs.replace(said, name=name), Translation(DeviceKind.ENERGYMETER, state, {}))


def _candidate(said: Announcement, translation: Translation) -> Candidate:
    if not translation.state and not translation.command:
        return Candidate(said.key, said.name, why="it has neither a state topic nor a command topic")
    options: dict[str, Any] = {"dialect": "generic", **translation.more}
    if translation.state:
        options["state"] = translation.state
    else:
        options["confirm"] = "broker"
    if translation.command:
        options["command"] = translation.command
    about = said.about
    try:
        availability = _availability(said)
    except Untranslatable as reason:
        availability, about = [], f"{about} (without its availability: {reason})".strip()
    if availability:
        options["availability"] = availability[0] if len(availability) == 1 else availability
    return Candidate(said.key, said.name, translation.kind, options, about, hardware=translation.hardware)


def _availability(said: Announcement) -> list[dict[str, str]]:
    """Return the topics that say whether the device is online.

    Raises Untranslatable if the options of a module cannot describe these topics.
    """
    listed = said.config["availability"]
    if not listed and said.text("availability_topic"):
        config = said.config
        single = {"topic": config["availability_topic"], "value_template": config.get("availability_template")}
        listed = [{**single, **{name: config[name] for name in _AVAILABILITY_WORDS if name in config}}]
    if len(listed) > 1 and said.text("availability_mode") != "all":
        raise Untranslatable("it has several topics for it, and not all of them must say that the device is online")
    return [_one_availability(msgspec.structs.replace(said, config=one)) for one in listed]


def _one_availability(said: Announcement) -> dict[str, str]:
    value = read_value_template(said.text("value_template"))
    if value.scale != 1 or value.offset != 0 or value.choice is not None:
        raise Untranslatable("its template does more than name a value")
    words = {option: said.text(name, option) for name, option in _AVAILABILITY_WORDS.items()}
    unusual = {option: word for option, word in words.items() if word != option}
    return {"topic": said.text("topic"), **({"path": value.path} if value.path else {}), **unusual}
