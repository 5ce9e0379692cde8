"""The query of GET /events: strict, so that a slip of the pen is not a stream that never says anything."""

from urllib.parse import parse_qsl

from domogate.domain.ids import DASHED_UUID, Id
from domogate.domain.notices import NoticeKind
from domogate.http_api.problems import Problem
from domogate.services.events.filters import EventFilter

_BOOLEANS = {"true": True, "false": False}


def read_wish(query: bytes) -> EventFilter:
    """Raises Problem."""
    plants: set[Id] = set()
    kinds: set[NoticeKind] = set()
    present: list[bool] = []
    for name, value in _parse(query):
        if name == "plant":
            plants.add(_read_plant(value))
        elif name == "kind":
            kinds.add(_read_kind(value))
        elif name == "present":
            present.append(_read_boolean(value))
        else:
            raise Problem(400, "A query parameter is not known here; there are plant, kind and present.")
    if len(present) > 1:
        raise Problem(400, "The parameter present is there more than once.")
    return EventFilter(frozenset(plants), frozenset(kinds), present == [True])


def _parse(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeError:
        raise Problem(400, "The query is not UTF-8, percent-encoded.") from None


def _read_plant(value: str) -> Id:
    plant_id = DASHED_UUID.parse_id(value)
    if plant_id is None:
        raise Problem(400, f"A plant is named by its id, {DASHED_UUID.name}.")
    return plant_id


def _read_kind(value: str) -> NoticeKind:
    try:
        return NoticeKind(value)
    except ValueError:
        raise Problem(400, f"There is no such kind of event; there are {', '.join(NoticeKind)}.") from None


def _read_boolean(value: str) -> bool:
    if value not in _BOOLEANS:
        raise Problem(400, "The parameter present is true or false.")
    return _BOOLEANS[value]
