"""The estate file of a new plant: floors and rooms with new ids, and simulated modules if they are asked for."""

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from typing import Annotated, Any

import yaml

from domogate.cli._command import FlagGroup
from domogate.cli._options import option
from domogate.domain.ids import new_id
from domogate.domain.plants import PlantType

MOST_FLOORS, MOST_ROOMS = 100, 99
MODULES: dict[str, dict[str, Any]] = {
    "light": {"name": "Lamp", "kind": "light", "state": {"on": False, "level": 60}},
    "plug": {"name": "Plug", "kind": "plug", "state": {"on": False}},
    "shutter": {"name": "Shutter", "kind": "automation", "state": {"position": 100}},
    "thermostat": {
        "name": "Thermostat",
        "kind": "chronothermostat",
        "state": {"function": "heating", "mode": "manual", "setPoint": 20},
    },
    "heater": {"name": "Heater", "kind": "heater", "state": {"on": False}},
}
"""The modules that a room can have. The keys are the words of the flag `--modules`."""
SIMULATOR = "simulator"
_FOR_TRYING = ("light", "thermostat")
_HEAD = """\
# Written by `domogate estate new`. Next:
#   - change the names of rooms, and remove rooms that do not exist;
#   - {modules};
#   - check the file with `domogate estate check`, and import it with `domogate estate import`.
"""
_NO_MODULES = "add the modules of each room: `domogate discover mqtt` prints them, docs/estate.md explains the format"
_SIMULATED = "all modules are simulated, for trying. Replace them with the modules of real devices later"


class PlantFlags(FlagGroup, frozen=True):
    """The flags that describe a new plant.

    `domogate estate new` asks for each value that no flag gives, except `driver` and `modules`.
    """

    name: Annotated[str | None, option("NAME", "Name of the plant.")]
    type: Annotated[PlantType | None, option("TYPE", f"{', '.join(PlantType)}.")]
    owner: Annotated[str | None, option("EMAIL", "E-mail address of the owner.")]
    floors: Annotated[int | None, option("N", f"Number of floors, 1 to {MOST_FLOORS}.", min=1, max=MOST_FLOORS)]
    rooms: Annotated[int | None, option("N", f"Number of rooms on each floor, 1 to {MOST_ROOMS}.", min=1, max=MOST_ROOMS)]
    driver: Annotated[str | None, option("NAME", "Driver of the modules: mqtt, openwebnet or simulator. Default: none.")]
    modules: Annotated[
        str | None,
        option(
            "LIST",
            f"Simulated modules of each room, separated by commas: {', '.join(MODULES)}. The default is"
            f" {','.join(_FOR_TRYING)} with --driver {SIMULATOR}, and no modules without it.",
        ),
    ]

    def list_modules(self) -> tuple[str, ...]:
        """Return the modules that each new room gets, as words of `MODULES`, for example 'light'.

        Raises ValueError if `modules` has an unknown word, or is given for another driver than the simulator.
        """
        if self.modules is None:
            return _FOR_TRYING if self.driver == SIMULATOR else ()
        if self.driver not in (None, SIMULATOR):
            raise ValueError(
                f"--modules makes simulated modules: leave out --driver {self.driver}, or write --driver {SIMULATOR}"
            )
        words = tuple(word.strip() for word in self.modules.split(","))
        for word in words:
            if word not in MODULES:
                raise ValueError(f"--modules: {word!r} is not a module; there are {', '.join(MODULES)}")
        return words


def print_new_plant(flags: PlantFlags) -> str:
    """Return the text of an estate file with the new plant. Every flag except `driver` and `modules` must have a value."""
    modules = flags.list_modules()
    driver = SIMULATOR if modules else flags.driver
    plant: dict[str, Any] = {
        "id": new_id(),
        "name": flags.name,
        "type": None if flags.type is None else flags.type.value,
        "owner": flags.owner,
        **({} if driver is None else {"driver": driver}),
        "floors": [_floor(number, flags.rooms or 0, modules) for number in range(1, (flags.floors or 0) + 1)],
    }
    estate = {"users": [{"email": flags.owner}], "plants": [plant]}
    head = _HEAD.format(modules=_SIMULATED if modules else _NO_MODULES)
    return head + yaml.safe_dump(estate, allow_unicode=True, sort_keys=False, width=120)


def count_parts(flags: PlantFlags) -> str:
    """Return how many floors, rooms and modules the new plant has, as a sentence for the operator."""
    rooms = (flags.floors or 0) * (flags.rooms or 0)
    modules = rooms * len(flags.list_modules())
    return f"Floors: {flags.floors}, rooms: {rooms} ({flags.rooms} on each floor), simulated modules: {modules}."


def _floor(floor: int, rooms: int, modules: Sequence[str]) -> dict[str, Any]:
    ambients = [_room(f"{floor}{room:02}", modules) for room in range(1, rooms + 1)]
    return {"id": new_id(), "name": f"Floor {floor}", "ambients": ambients}


def _room(number: str, modules: Sequence[str]) -> dict[str, Any]:
    """Return a room. A module has the number of its room in its name, because lists show modules of all rooms."""
    room: dict[str, Any] = {"id": new_id(), "name": f"Room {number}"}
    if modules:
        counts = Counter[str]()
        room["modules"] = []
        for word in modules:
            counts[word] += 1
            name = f"{MODULES[word]['name']} {number}" + (f" {counts[word]}" if modules.count(word) > 1 else "")
            room["modules"].append({"id": new_id(), **deepcopy(MODULES[word]), "name": name})
    return room
