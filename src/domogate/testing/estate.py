"""Builds an estate in a few lines. The fields are those of an estate file (docs/estate.md)."""

import uuid
from collections.abc import Iterable
from typing import Any

_NAMESPACE = uuid.UUID("6c9d1d1e-5f0b-4c55-9c67-3f0f6d8a7a10")


def _id_of(*names: str) -> str:
    """Return the same id for the same names in every run."""
    return str(uuid.uuid5(_NAMESPACE, "/".join(names)))


def _refuse_second(where: str, noun: str, name: str, others: Iterable[str]) -> None:
    """Raises ValueError if the name is used already. Ids are made from names, so equal names would give equal ids."""
    if name in others:
        raise ValueError(f"{where} already has a {noun} with the name {name!r}; give each {noun} its own name")


class Module:
    """A device. `id` is its id in paths of the API."""

    def __init__(self, plant: "Plant", record: dict[str, Any]) -> None:
        self.plant = plant
        self.id: str = record["id"]
        self.name: str = record["name"]


class Room:
    """A room of a plant: an ambient."""

    def __init__(self, plant: "Plant", name: str, type: str) -> None:
        self.plant = plant
        self.name = name
        self.id = _id_of(plant.id, "room", name)
        self._modules: list[dict[str, Any]] = []
        _refuse_second(f"the plant {plant.name!r}", "room", name, (room["name"] for room in plant.rooms))
        plant.rooms.append({"id": self.id, "name": name, "type": type, "modules": self._modules})

    def module(self, kind: str, name: str, *, options: dict[str, Any] | None = None, **state: Any) -> Module:
        """Add a device of any kind. `state` is its first state, for example `on=True, level=80`.

        Raises ValueError if the plant already has a device with this name.
        """
        _refuse_second(f"the plant {self.plant.name!r}", "device", name, self.plant.names_of_devices())
        record: dict[str, Any] = {"id": _id_of(self.id, name), "name": name, "kind": kind}
        if state:
            record["state"] = state
        if options:
            record["options"] = options
        self._modules.append(record)
        return Module(self.plant, record)

    def light(self, name: str, *, on: bool = False, **state: Any) -> Module:
        """Add a light. A light that gets a `level`, for example `level=80`, can be dimmed."""
        return self.module("light", name, on=on, **state)

    def plug(self, name: str, *, on: bool = False, power: int = 0, energy: int = 0) -> Module:
        """Add a plug that counts energy."""
        return self.module("plug", name, on=on, power=power, energy=energy)

    def shutter(self, name: str, *, position: int = 0) -> Module:
        """Add a shutter. `position` is 0 for closed and 100 for open."""
        return self.module("automation", name, position=position)


class Plant:
    """A home or a building. `record` is its entry in the estate file; you may change it."""

    def __init__(self, name: str, owner: str, country: str, type: str) -> None:
        self.name = name
        self.id = _id_of("plant", name)
        self.record: dict[str, Any] = {
            "id": self.id,
            "name": name,
            "type": type,
            "country": country,
            "owner": owner,
            "driver": "simulator",
        }

    @property
    def rooms(self) -> list[dict[str, Any]]:
        """The entries of the rooms in the estate file."""
        rooms: list[dict[str, Any]] = self.record.setdefault("ambients", [])
        return rooms

    def names_of_devices(self) -> list[str]:
        return [module["name"] for room in self.rooms for module in room["modules"]]

    def room(self, name: str, *, type: str = "livingroom") -> Room:
        """Add a room."""
        return Room(self, name, type)

    def allow(self, *emails: str) -> "Plant":
        """Let these users use the plant too."""
        self.record.setdefault("allowed", []).extend(emails)
        return self


class Estate:
    """Everything that a gateway serves: users, plants with devices, applications and keys.

    `record` is the estate as an object, with the fields of an estate file; you may change it.
    """

    def __init__(self) -> None:
        self.record: dict[str, Any] = {"users": [], "plants": []}

    def user(self, email: str, *, password: str | None = None, **fields: Any) -> str:
        """Add a user who can log in. Returns the e-mail. `fields` are other fields, for example `standing`."""
        self.record["users"].append({"email": email, "password": password or f"password-of-{email}", **fields})
        return email

    def plant(self, name: str, *, owner: str, country: str = "Italy", type: str = "house") -> Plant:
        """Add a plant with simulated devices."""
        _refuse_second("the estate", "plant", name, (plant["name"] for plant in self.record["plants"]))
        plant = Plant(name, owner, country, type)
        self.record["plants"].append(plant.record)
        return plant

    def key(self, name: str, key: str, **limits: Any) -> str:
        """Add a subscription key. `limits` are for example `rate="2/second"` or `dailyQuota=20`."""
        self.record.setdefault("subscriptions", []).append({"name": name, "key": key, **limits})
        return key

    def client(self, client_id: str, **fields: Any) -> str:
        """Add an application. Returns its id. `fields` are for example `secret`, `redirectUris`, `grants` and `scopes`."""
        self.record.setdefault("clients", []).append({"id": client_id, "name": client_id, **fields})
        return client_id
