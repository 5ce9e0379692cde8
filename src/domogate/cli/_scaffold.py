"""The estate file of a new plant: floors and rooms with new ids, and no modules yet."""

from typing import Annotated, Any

import yaml

from domogate.cli._command import FlagGroup
from domogate.cli._options import option
from domogate.domain.ids import new_id
from domogate.domain.plants import PlantType

MOST_FLOORS, MOST_ROOMS = 100, 99
_HEAD = """\
# Written by `domogate estate new`. Next:
#   - change the names of rooms, and remove rooms that do not exist;
#   - add the modules of each room: `domogate discover mqtt` prints them, docs/estate.md explains the format;
#   - check the file with `domogate estate check`, and import it with `domogate estate import`.
"""


class PlantFlags(FlagGroup, frozen=True):
    """The flags that describe a new plant. The command asks for each value (except `driver`) that has no flag."""

    name: Annotated[str | None, option("NAME", "Name of the plant.")]
    type: Annotated[PlantType | None, option("TYPE", f"{', '.join(PlantType)}.")]
    owner: Annotated[str | None, option("EMAIL", "E-mail address of the owner.")]
    floors: Annotated[int | None, option("N", f"Number of floors, 1 to {MOST_FLOORS}.", min=1, max=MOST_FLOORS)]
    rooms: Annotated[int | None, option("N", f"Number of rooms on each floor, 1 to {MOST_ROOMS}.", min=1, max=MOST_ROOMS)]
    driver: Annotated[str | None, option("NAME", "Driver of the modules: mqtt, openwebnet or simulator. Default: none.")]


def print_new_plant(flags: PlantFlags) -> str:
    """Return the text of an estate file with the new plant. Every flag except `driver` must have a value."""
    plant: dict[str, Any] = {
        "id": new_id(),
        "name": flags.name,
        "type": None if flags.type is None else flags.type.value,
        "owner": flags.owner,
        **({} if flags.driver is None else {"driver": flags.driver}),
        "floors": [_floor(number, flags.rooms or 0) for number in range(1, (flags.floors or 0) + 1)],
    }
    estate = {"users": [{"email": flags.owner}], "plants": [plant]}
    return _HEAD + yaml.safe_dump(estate, allow_unicode=True, sort_keys=False, width=120)


def _floor(floor: int, rooms: int) -> dict[str, Any]:
    ambients = [{"id": new_id(), "name": f"Room {floor}{room:02}"} for room in range(1, rooms + 1)]
    return {"id": new_id(), "name": f"Floor {floor}", "ambients": ambients}
