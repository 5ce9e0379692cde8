"""Replaces secrets and personal data in answers.

A text is kept only if the name of its field says that it is harmless. Otherwise it is replaced by a text with a number, such as
`Name 7` for a name. In one recording, equal texts get the same number. So the replacements of two equal names are also equal.
"""

import re
from collections.abc import Iterator, Mapping
from threading import Lock
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl, quote

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HARMLESS = re.compile(
    rf"{_UUID.pattern}"
    r"|\d{4}-\d\d-\d\d(?:T[\d:.]{5,15}(?:Z|[+-]\d\d:?\d\d)?)?"  # a date or a time
    r"|-?\d{1,15}(?:\.\d{1,9})?"  # a number
)
_WORD = re.compile(r"[A-Za-z0-9._~-]{1,64}")
_KEPT_FIELDS = frozenset(
    (
        *(
            "id",
            "type",
            "status",
            "device",
            "deviceType",
            "hw_type",
            "system",
            "unit",
            "mode",
            "function",
            "label",
            "metricType",
        ),
        *("capability", "do", "command", "failureType", "battery", "loadState", "reference", "addressType", "alertLevel"),
        *("temperatureFormat", "timestamp", "timeStamp", "time", "lastStatusUpdate", "lastAlertUpdate", "activationTime"),
        *("value", "fw", "statusCode", "code", "flag", "quantity"),
    )
)
"""The fields whose texts are words of the contract, ids, times, numbers or versions (Spec 2 and 7)."""
_KEPT_IDS = frozenset(("internalId", "plantId", "ambientId", "moduleId"))
"""Fields whose texts are kept if they are UUIDs."""
_PEOPLE = frozenset(("allowedUsers", "invitedUsers"))
_LONGEST_KEPT = 64
_FORMS: Mapping[str, str] = MappingProxyType(
    {
        "name": "Name {}",
        **dict.fromkeys(("email", "ownerEmail"), "user{}@example.com"),
        "zipCode": "{:05}",
        **dict.fromkeys(("id", "ownerId", "internalId"), "00000000-0000-4000-8000-{:012}"),
        "ticket": "redacted.ticket.{}",
    }
)
"""The form of the replacement, for fields whose texts need a certain form (Spec 2). Other texts become `Text 1`, `Text 2` …"""
_PLACES = frozenset(("latitude", "longitude", "lat", "lng", "lon"))
_PLACEHOLDER = "*"
_MOST_FIELDS = 50


class Redactor:
    """Redacts the bodies of one recording."""

    def __init__(self) -> None:
        self._replacements: dict[str, int] = {}
        self._lock = Lock()

    def redact(self, value: Any, field: str = "", *, of_people: bool = False) -> Any:
        """Return the JSON value without secrets and personal data.

        `of_people` is true inside lists of people: there, every text is replaced.
        """
        if isinstance(value, dict):
            return {
                name: self.redact(one, name, of_people=of_people or name in _PEOPLE)
                for name, one in zip(self._names(value), value.values(), strict=True)
            }
        if isinstance(value, list):
            return [self.redact(one, field, of_people=of_people) for one in value]
        if isinstance(value, str):
            return value if _is_kept(value, field, of_people) else self._replace(value, field)
        return 0 if field in _PLACES and value is not None else value

    def _names(self, value: Mapping[str, Any]) -> Iterator[str]:
        """Yield the names of the fields. A name that does not match `_WORD` is replaced: it may be data, such as an address."""
        for name in value:
            yield name if _WORD.fullmatch(name) else self._replace(name, "")

    def _replace(self, text: str, field: str) -> str:
        with self._lock:
            number = self._replacements.setdefault(text, len(self._replacements) + 1)
        return _FORMS.get(field, "Text {}").format(number)


def _is_kept(text: str, field: str, of_people: bool) -> bool:
    if of_people or not text:
        return not text
    if field in _KEPT_FIELDS:
        return len(text) <= _LONGEST_KEPT and "@" not in text
    return field in _KEPT_IDS and _UUID.fullmatch(text) is not None


def redact_target(target: str) -> str:
    """Return the path and the query with `*` instead of parts that may be personal. The fields of the query are sorted.

    The recorder stores this text. The replayer finds the answer to a request by this text. Raises ValueError if the query has
    too many fields.
    """
    whole_path, _, fields = target.partition("#")[0].partition("?")
    path = "/".join(part if not part or _WORD.fullmatch(part) else _PLACEHOLDER for part in whole_path.split("/"))
    query = sorted(
        (name if _WORD.fullmatch(name) else _PLACEHOLDER, value if _HARMLESS.fullmatch(value) else _PLACEHOLDER)
        for name, value in parse_qsl(fields, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    )
    return path + ("?" + "&".join(f"{name}={quote(value, safe='*:+')}" for name, value in query) if query else "")
