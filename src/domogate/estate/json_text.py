"""Reads an estate file that is written as JSON. Programs such as the test kit write JSON.

JSON is also YAML. So the YAML parser can read these files, but it needs more time. This module returns the same result as the
YAML parser, except that the values have no line numbers. If the text may have a mistake, `read_json_parts` raises NotSimple.
Then the YAML parser must read the whole file.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from domogate.estate.nodes import MAX_DEPTH, PLANTS
from domogate.estate.simple_yaml import NotSimple, Raw, has_odd_characters

MOST_TEXT = 4_000_000
"""The longest text that this module reads, in characters. The YAML parser reads longer texts, plant by plant."""

_not_storable = re.compile("[\x00\ud800-\udfff]").search


def read_json_parts(text: str) -> Iterator[tuple[str, Raw]]:
    """Yield the top-level keys except `plants`, each with its value. Then yield each plant separately, with the key `plants`.

    Raises NotSimple if the text is not JSON, or is longer than `MOST_TEXT`. Also raises NotSimple if the text may have a
    mistake, for example the same key twice.
    """
    if len(text) > MOST_TEXT or has_odd_characters(text):
        raise NotSimple
    try:
        # Numbers stay text, because the schema decides whether a value is a number.
        document = json.loads(
            text, object_pairs_hook=_to_mapping, parse_int=_Number, parse_float=_Number, parse_constant=_refuse
        )
    except (ValueError, RecursionError):
        raise NotSimple from None
    if not isinstance(document, dict):
        raise NotSimple
    plants = _to_raw(document.pop(PLANTS, []), 1)
    if not isinstance(plants, list) or not document:
        raise NotSimple
    for key, value in document.items():
        yield key, _to_raw(value, 1)
    for plant in plants:
        yield PLANTS, plant


class _Number(str):
    """A number, still as text. This class distinguishes it from a value in quotes, which is a plain str."""

    __slots__ = ()


def _to_mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs) or any(map(_not_storable, mapping)):
        raise NotSimple
    return mapping


def _refuse(_: str) -> NoReturn:
    raise NotSimple


def _to_raw(value: Any, depth: int) -> Raw:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        if _not_storable(value):
            raise NotSimple
        return (value,)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or depth == MAX_DEPTH:
        raise NotSimple
    if isinstance(value, list):
        return [_to_raw(one, depth + 1) for one in value]
    return {key: _to_raw(one, depth + 1) for key, one in value.items()}
