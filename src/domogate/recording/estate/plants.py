"""The content of one plant in the recorded answers: its data, people, rooms and modules."""

from collections.abc import Sequence
from typing import Any

from domogate.recording.estate import answers
from domogate.recording.estate.answers import Record, as_uuid, given
from domogate.recording.estate.states import emergency_state

KINDS = frozenset(
    (
        *("light", "automation", "scene", "plug", "heater", "energymeter", "remote", "chronothermostat"),
        *("audiovideo unit", "gateway", "lock", "activation"),
    )
)
"""The words for devices in topologies, in lower case. They are also the kinds of modules of the estate file."""
_TYPES = frozenset(("hotel", "house", "office", "hospital"))
_DEFAULT_TYPE = "house"


class SeenPlant:
    """A plant, as all answers together show it. If two answers differ, the newer answer counts."""

    def __init__(self, identity: str) -> None:
        self.id = identity
        self.data: Record = {}
        self.people: answers.Plant | None = None
        """The newest entry that shows the owner of this plant. The entry is from a list of plants."""
        self.emails: dict[str, str] = {}
        """The e-mail addresses of people, by the ids of the users. Some lists of plants show only the id of the owner."""
        self.floors: dict[str, Record] = {}
        self.ambients: dict[str, Record] = {}
        self.modules: dict[str, Record] = {}
        self.units: dict[str, list[Record]] = {}
        """The units of each emergency controller."""
        self.unknown_devices: set[str] = set()
        self.shows_plugs = False
        self._plugs: dict[str, answers.Plug] = {}
        """The newest entry for each module in the answers of E16, by the id of the module."""
        self._floor_of: dict[str, str] = {}
        self._room_of: dict[str, str] = {}
        self._orders: dict[str | None, list[str]] = {}

    def add_list_entry(self, plant: answers.Plant, *, is_site: bool) -> None:
        self.data |= given(name=plant.name, country=plant.country, zipCode=plant.zip_code, address=plant.address)
        self._add_type(plant.type)
        if plant.status:
            self.data["status"] = "removed" if plant.status.lower() == "removed" else "active"
        if is_site:
            self.data["emergencyLighting"] = True
        if plant.owner_email or plant.owner_id is not None:
            self.people = plant
        if plant.owner_email and plant.owner_id is not None:
            self.emails[plant.owner_id] = plant.owner_email
        self.emails |= {one.id: one.email for one in plant.allowed_users if one.id is not None}

    def add_topology(self, plant: answers.PlantInside) -> None:
        self.data |= given(name=plant.name, internalId=plant.internal_id)
        self._add_type(plant.type)
        for floor in plant.floors:
            identity = as_uuid(floor.id)
            self.floors[identity] = _named(floor)
            for ambient in floor.ambients:
                self._floor_of[as_uuid(ambient.id)] = identity
                self._add_ambient(ambient)
        for ambient in plant.ambients:
            self._add_ambient(ambient)
        self._add_modules(plant.modules, None)

    def note_module(self, identity: str, kind: str) -> None:
        """Add a module whose state was read, if it is new. Its kind becomes its name until a topology shows the name."""
        self.modules.setdefault(identity, {"id": identity, "name": kind.capitalize()}).setdefault("kind", kind)

    def add_plugs(self, plugs: Sequence[answers.Plug]) -> None:
        """Add the plugs and multisockets of E16. `complete_plugs` chooses their kinds."""
        for plug in plugs:
            identity = as_uuid(plug.id)
            self._plugs[identity] = plug
            self.modules.setdefault(identity, {"id": identity, "name": ""}).update(given(name=plug.name))

    def complete_plugs(self) -> None:
        """Choose the kinds of the modules of E16, and add their states. Call this method after all answers were added.

        E16 does not show which modules are plugs. If a topology shows plugs, the modules that no other answer shows as plugs
        are multisockets. If no topology shows a plug, a module with one socket counts as a plug.
        """
        for identity, plug in self._plugs.items():
            known = self.modules[identity]
            is_plug = known.get("kind") == "plug" or (not self.shows_plugs and len(plug.status) == 1)
            known["kind"] = "plug" if is_plug else "multisocket"
            if plug.status:
                known["state"] = {"on": plug.status[0]} if is_plug else {"sockets": plug.status}

    def add_controllers(self, controllers: Sequence[answers.Controller]) -> None:
        for one in controllers:
            self.modules[one.id] = {
                **given(id=one.id, name=one.name, kind="emergency controller", reference=one.reference),
                **given(serialNumber=one.serial_number, alertLevel=one.alert_level),
                **emergency_state(one.status, one.failures),
            }
            self.units[one.id] = [
                {**given(id=unit.id, reference=unit.reference), **emergency_state(unit.status, unit.failures)}
                for unit in one.children
            ]

    def records(self) -> tuple[list[Record], list[Record], list[Record]]:
        """Return the floors, the rooms without a floor, and the modules without a room."""
        rooms = {identity: {**room, **given(modules=self._modules_of(identity))} for identity, room in self.ambients.items()}
        floors = [
            {**floor, **given(ambients=[rooms[room] for room in rooms if self._floor_of.get(room) == identity])}
            for identity, floor in self.floors.items()
        ]
        return floors, [record for room, record in rooms.items() if room not in self._floor_of], self._modules_of(None)

    def plant_record(self) -> Record:
        return {"id": self.id, "name": "Plant", "type": _DEFAULT_TYPE, **self.data}

    def _modules_of(self, room: str | None) -> list[Record]:
        """Return the modules of a room. None means the modules without a room; some of them are in no topology."""
        listed = dict.fromkeys(self._orders.get(room, ()))
        ids = listed if room is not None else {**listed, **self.modules}
        return [{**self.modules[one], **given(units=self.units.get(one))} for one in ids if self._room_of.get(one) == room]

    def _add_type(self, text: str) -> None:
        if text.lower() in _TYPES:
            self.data["type"] = text.lower()

    def _add_ambient(self, ambient: answers.Ambient) -> None:
        identity = as_uuid(ambient.id)
        self.ambients[identity] = {**self.ambients.get(identity, {}), **_named(ambient), **given(type=ambient.type)}
        self._add_modules(ambient.modules, identity)

    def _add_modules(self, modules: Sequence[answers.Module], room: str | None) -> None:
        listed = []
        for module in modules:
            kind = module.device.lower()
            if kind not in KINDS:
                self.unknown_devices.add(module.device)
                continue
            identity = as_uuid(module.id)
            self.shows_plugs |= kind == "plug"
            self.modules[identity] = {**self.modules.get(identity, {}), **_module_record(identity, kind, module)}
            if room is not None:
                self._room_of[identity] = room
            listed.append(identity)
        _merge(self._orders.setdefault(room, []), listed)


def _named(noun: answers.Floor | answers.Ambient) -> Record:
    return {"id": as_uuid(noun.id), "name": noun.name, **given(internalId=noun.internal_id)}


def _module_record(identity: str, kind: str, module: answers.Module) -> Record:
    fields: dict[str, Any] = given(
        internalId=module.internal_id, deviceType=module.device_type, hwType=module.hw_type, type=module.type
    )
    if module.metrics is not None:
        fields["metrics"] = [{"label": one.label, "type": one.metric_type} for one in module.metrics]
    if module.capabilities is not None:
        fields["capabilities"] = [
            {
                "name": one.capability,
                "command": one.can_do.command.do,
                "request": one.can_do.request.do,
                "notification": one.can_do.notification.do,
            }
            for one in module.capabilities
        ]
    return {"id": identity, "name": module.name, "kind": kind, **fields}


def _merge(known: list[str], listed: Sequence[str]) -> None:
    """Add the new ids of `listed` to `known`, each directly after the id that is before it in `listed`."""
    position = 0
    places = set(known)
    for identity in listed:
        if position < len(known) and known[position] == identity:
            position += 1
        elif identity in places:
            position = known.index(identity) + 1
        else:
            known.insert(position, identity)
            places.add(identity)
            position += 1
