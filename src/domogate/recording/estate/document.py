"""Reads a recording, and makes the records of an estate file from it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from domogate.recording.estate import answers, states
from domogate.recording.estate.answers import Record, as_uuid, given
from domogate.recording.estate.people import SeenPeople
from domogate.recording.estate.plants import SeenPlant
from domogate.recording.exchanges import BadRecording, Exchange

_MOST_MODULES = 20_000
_MOST_SHOWN, _LONGEST_SHOWN = 5, 250
_SHOWN_STATES = frozenset(("light", "plug", "multisocket", "remote", "chronothermostat"))
"""The kinds of modules whose state the contract shows, and which have the key `state` in an estate file."""


class SeenEstate(NamedTuple):
    """The lists of an estate file, and sentences about what the recording does not show."""

    lists: dict[str, list[Record]]
    notes: list[str]


class _Reader:
    """Collects what the recorded answers show. If two answers differ, the newer answer counts."""

    def __init__(self) -> None:
        self.plants: dict[str, SeenPlant] = {}
        self.spare_parts: dict[str, list[Record]] = {}
        self.ignored: Counter[str] = Counter()
        self._programs: dict[str, dict[int, str]] = {}
        self._states: dict[str, Record] = {}
        self._measured: dict[str, Record] = {}
        self._silent: set[tuple[str, str]] = set()
        """The kind and the id of each module that did not answer or was offline, and whose state was not read later."""

    def read(self, exchange: Exchange) -> None:
        for pattern, form, use in _ANSWERS:
            found = pattern.fullmatch(exchange.target)
            if found is None or exchange.method != "GET":
                continue
            ids = tuple(as_uuid(one) if _ID.fullmatch(one) else one for one in found.groups())
            if exchange.status == 200:
                try:
                    use(self, ids, msgspec.convert(exchange.body, form))
                except msgspec.ValidationError as wrong:
                    self.ignored[f"{wrong} in {exchange.target}"] += 1
            elif exchange.status in (404, 408) and form in _KIND_OF:
                self._silent.add((_KIND_OF[form], ids[-1]))
            return

    def list_plants(self, _: tuple[str, ...], body: answers.Plants) -> None:
        for plant in body.plants:
            self._plant(plant.id).add_list_entry(plant, is_site=False)

    def list_owned_plants(self, _: tuple[str, ...], body: list[answers.Plant]) -> None:
        self.list_plants((), answers.Plants(body))

    def list_sites(self, _: tuple[str, ...], body: list[answers.Plant]) -> None:
        for plant in body:
            self._plant(plant.id).add_list_entry(plant, is_site=True)

    def read_topology(self, _: tuple[str, ...], body: answers.Topology) -> None:
        self._plant(body.plant.id).add_topology(body.plant)

    def read_plugs(self, ids: tuple[str, ...], body: answers.Plugs) -> None:
        self._plant(ids[0]).add_plugs(body.plugs)

    def read_controllers(self, ids: tuple[str, ...], body: list[answers.Controller]) -> None:
        self._plant(ids[0]).add_controllers(body)

    def read_spare_parts(self, ids: tuple[str, ...], body: list[answers.SparePart]) -> None:
        if ids[0] != "*":
            self.spare_parts[ids[0]] = [msgspec.to_builtins(part) for part in body]

    def read_light(self, ids: tuple[str, ...], body: answers.Lights) -> None:
        self._note_module(ids, "light")
        for light in body.lights:
            self._keep_state(ids, "light", states.light_state(light))

    def read_remote(self, ids: tuple[str, ...], body: answers.Remotes) -> None:
        self._note_module(ids, "remote")
        for remote in body.remotes:
            self._keep_state(ids, "remote", states.remote_state(remote))
            if not remote.reachable:
                self._silent.add(("remote", ids[1]))

    def read_consumptions(self, ids: tuple[str, ...], body: answers.Consumptions) -> None:
        self._note_module(ids, "plug")
        self._measured[ids[1]] = states.consumed(body.consumptions)
        self._silent.discard(("plug", ids[1]))

    def read_thermostat(self, ids: tuple[str, ...], body: answers.Chronothermostats) -> None:
        self._note_module(ids, "chronothermostat")
        programs = self._programs.setdefault(ids[1], {})
        for thermostat in body.chronothermostats:
            state = states.thermostat_state(thermostat)
            if state is not None:
                self._keep_state(ids, "chronothermostat", state)
            programs |= {one.number: one.name or programs.get(one.number, "") for one in thermostat.programs}

    def complete(self) -> None:
        """Add the states to the modules. Raises BadRecording if a plant has too many modules.

        If a module is in `_silent`, its record tells the simulator to show the module as offline.
        """
        for plant in self.plants:
            self._plant(plant).complete_plugs()
        for module in self.modules():
            identity, kind = module["id"], module["kind"]
            if identity in self._states:
                module["state"] = self._states[identity]
            if kind == "plug" and "state" in module:
                module["state"] |= self._measured.get(identity, {})
            if kind == "chronothermostat":
                known = sorted(self._programs.get(identity, {}).items())
                module |= given(programs=[{"number": number, "name": name or f"Program {number}"} for number, name in known])
            if (kind, identity) in self._silent:
                module |= states.OFFLINE

    def modules(self) -> Iterable[Record]:
        return (module for plant in self.plants.values() for module in plant.modules.values())

    def _plant(self, identity: str) -> SeenPlant:
        identity = as_uuid(identity)
        plant = self.plants.setdefault(identity, SeenPlant(identity))
        if len(plant.modules) > _MOST_MODULES:
            raise BadRecording(f"The recording shows a plant with more than {_MOST_MODULES} modules.")
        return plant

    def _note_module(self, ids: tuple[str, ...], kind: str) -> None:
        self._plant(ids[0]).note_module(ids[1], kind)

    def _keep_state(self, ids: tuple[str, ...], kind: str, state: Record) -> None:
        self._states[ids[1]] = state
        self._silent.discard((kind, ids[1]))


_ID = re.compile("[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_P = f"({_ID.pattern.replace('(', '(?:')})"
_MODULE = f"addressLocation/plants/{_P}/modules/parameter/id/value/{_P}"
_KIND_OF: Mapping[Any, str] = MappingProxyType(
    {
        answers.Lights: "light",
        answers.Remotes: "remote",
        answers.Consumptions: "plug",
        answers.Chronothermostats: "chronothermostat",
    }
)
"""The kind of module that an answer is about, for the answers that show one module."""
_ANSWERS: tuple[tuple[re.Pattern[str], Any, Callable[[_Reader, tuple[str, ...], Any], None]], ...] = tuple(
    (re.compile(f"/{path}"), form, use)
    for path, form, use in (
        (r"(?:homectl/api/v1\.0|homeauto/v1\.0|touchpanel/v1\.0|thermostat/v2\.0)/plants", answers.Plants, _Reader.list_plants),
        (r"doorentry-b/v1\.0/plants", list[answers.Plant], _Reader.list_owned_plants),
        (r"emergency-lighting/sites", list[answers.Plant], _Reader.list_sites),
        (rf"[a-z0-9./-]{{1,30}}/plants/{_P}/topology", answers.Topology, _Reader.read_topology),
        (rf"homeauto/v1\.0/light/lighting/{_MODULE}", answers.Lights, _Reader.read_light),
        (rf"homectl/api/v1\.0/remote/remote/{_MODULE}", answers.Remotes, _Reader.read_remote),
        (rf"homectl/api/v1\.0/plug/energy/{_MODULE}/consumptions", answers.Consumptions, _Reader.read_consumptions),
        (
            rf"thermostat/v2\.0/chronothermostat/thermoregulation/{_MODULE}(?:/programlist)?",
            answers.Chronothermostats,
            _Reader.read_thermostat,
        ),
        (rf"multisocket/plug/energy/addressLocation/plants/{_P}", answers.Plugs, _Reader.read_plugs),
        (rf"emergency-lighting/sites/{_P}/modules", list[answers.Controller], _Reader.read_controllers),
        (r"emergency-lighting/module/([^/?]+)/spare-parts", list[answers.SparePart], _Reader.read_spare_parts),
    )
)


def read_estate_of(exchanges: Iterable[Exchange], new_password: Callable[[], str]) -> SeenEstate:
    """Make the lists of an estate file from the recorded exchanges.

    Raises BadRecording if the recording shows no plant, or a plant with too many modules.
    """
    reader = _Reader()
    for exchange in exchanges:
        reader.read(exchange)
    if not reader.plants:
        raise BadRecording("The recording shows no plant: it has no answer that lists plants, sites or a topology.")
    reader.complete()
    people = SeenPeople(reader.plants.values())
    plants = []
    for plant in reader.plants.values():
        floors, ambients, modules = plant.records()
        plants.append(
            {
                **plant.plant_record(),
                **people.of_plant(plant),
                "driver": "simulator",
                **given(floors=floors, ambients=ambients, modules=modules),
            }
        )
    spare_parts = [{"unit": unit, "parts": parts} for unit, parts in reader.spare_parts.items()]
    lists = {"users": people.records(new_password), "plants": plants, "spareParts": spare_parts}
    return SeenEstate({name: items for name, items in lists.items() if items}, [*_missing(reader), *people.notes])


def _missing(reader: _Reader) -> Iterable[str]:
    """Yield sentences about what the recording does not show."""
    unread = Counter(one["kind"] for one in reader.modules() if one["kind"] in _SHOWN_STATES and "state" not in one)
    for kind, count in sorted(unread.items()):
        yield f"State of {count} modules of kind {kind}: it was not recorded. The simulator chooses it."
    scenes = sum(one["kind"] == "scene" for one in reader.modules())
    if scenes:
        yield f"Steps of {scenes} scenes: the contract does not show them. The scenes do nothing."
    if strange := sorted({device for plant in reader.plants.values() for device in plant.unknown_devices}):
        yield f"Modules of {len(strange)} unknown kinds: {_shown(strange)}."
    if reader.ignored:
        yield f"{reader.ignored.total()} answers that do not have the form of the contract: {_shown(list(reader.ignored))}."


def _shown(texts: list[str]) -> str:
    more = f", and {len(texts) - _MOST_SHOWN} more" if len(texts) > _MOST_SHOWN else ""
    return ", ".join(ascii(text[:_LONGEST_SHOWN]) for text in texts[:_MOST_SHOWN]) + more
