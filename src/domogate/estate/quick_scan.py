"""Reads a correct file of simple YAML or short JSON quickly. For YAML, the used memory does not grow with the number of plants.

The quick scan does not explain mistakes. If it does not accept the file, the YAML parser must read the file from its beginning.
"""

from collections.abc import Callable, Iterator
from typing import Any, TextIO

from domogate.common.disk_ids import DiskIds
from domogate.domain.estate import EstatePlant
from domogate.estate.building import EstateBuilder, EstateFile
from domogate.estate.checks import Drivers, PlantChecks, check_document, check_users
from domogate.estate.json_text import MOST_TEXT, read_json_parts
from domogate.estate.nodes import PLANTS
from domogate.estate.quick_read import NotQuick
from domogate.estate.schema import quick_reader
from domogate.estate.simple_yaml import BLOCK, NotSimple, Raw, read_parts


class QuickScan:
    """One pass over a file. `passed_on` is the number of plants that were passed to the function `take`."""

    def __init__(self, source: str, take: Callable[[EstatePlant], None], drivers: Drivers | None) -> None:
        self._source = source
        self._take = take
        self._drivers = drivers
        self.passed_on = 0

    def run(self, text: TextIO) -> EstateFile | None:
        """Return the content of the file without its plants. Return None if the file may have a mistake, or is neither
        simple YAML nor short JSON (at most `MOST_TEXT` characters).

        Raises UnicodeDecodeError if the file is not UTF-8.
        """
        try:
            with DiskIds() as ids, DiskIds() as internal_ids:
                return self._read(text, ids, internal_ids)
        except (NotSimple, NotQuick):
            return None

    def _read(self, text: TextIO, ids: DiskIds, internal_ids: DiskIds) -> EstateFile | None:
        read = quick_reader().read
        document: dict[str, Any] = {}
        checks: PlantChecks | None = None
        builder: EstateBuilder | None = None
        for key, raw in _read_parts(text):
            if key != PLANTS:
                document |= read({key: raw})
                continue
            if checks is None or builder is None:
                if "users" not in document or any(check_users(document)):
                    return None
                checks, builder = PlantChecks(document["users"], self._drivers), EstateBuilder(document["users"])
            path, plant = (PLANTS, self.passed_on), read({PLANTS: [raw]})[PLANTS][0]
            if any(checks.check_alone(path, plant)):
                return None
            self._pass_on(builder.build_plant(plant), ids, internal_ids)
        if any(check_document(document)) or not ids.are_unique() or not internal_ids.are_unique():
            return None
        return (builder or EstateBuilder(document.get("users", ()))).build(document, self._source)

    def _pass_on(self, plant: EstatePlant, ids: DiskIds, internal_ids: DiskIds) -> None:
        ids.add(record.id for record in plant.every_record())
        internal_ids.add(record.internal_id for record in plant.every_record())
        self._take(plant)
        self.passed_on += 1


def _read_parts(text: TextIO) -> Iterator[tuple[str, Raw]]:
    begin = text.read(BLOCK)
    if begin.startswith("{"):
        return read_json_parts(begin + text.read(MOST_TEXT))
    return read_parts(text, begin)
