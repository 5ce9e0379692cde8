"""Writes plain data as YAML that is easy to edit: short records on one line, long records in blocks, quotes where needed.

Text is quoted if a YAML reader of version 1.1 or 1.2 could read it as another type.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

WIDTH = 128
_MOST_KEYS = 1_000

# Each entry of a list under these keys begins on a new line.
_BLOCK_KEYS = frozenset(
    {"users", "subscriptions", "clients", "plants", "floors", "ambients", "modules", "units", "steps", "spareParts"}
)

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch
_PLAIN = re.compile(r"[^\W\d_](?:[\w ./@+()&'-]*[\w./@+()&'-])?").fullmatch
_AMBIGUOUS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
# Characters that json.dumps does not escape, but that YAML 1.2 §5.1 counts as unprintable or as a line break.
_TO_ESCAPE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def emit_lists(lists: Mapping[str, Iterable[Any]]) -> Iterator[str]:
    """Yield the text of a document with these lists. Each piece has one entry of a list, or an empty list."""
    for number, (key, items) in enumerate(lists.items()):
        head = f"\n{key}:" if number else f"{key}:"
        for item in items:
            lines = [head] if head else []
            _block(lines, "  ", [item])
            yield "\n".join(lines) + "\n"
            head = ""
        if head:
            yield f"{head} []\n"


def scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    if _UUID(text) or (_PLAIN(text) and text.casefold() not in _AMBIGUOUS):
        return text
    return _TO_ESCAPE.sub(lambda odd: f"\\u{ord(odd[0]):04x}", json.dumps(text, ensure_ascii=False))


@lru_cache(_MOST_KEYS)
def _key(key: str) -> str:
    # The format's own keys need no quotes, not even `on`: our reader takes every key as text.
    return key if re.fullmatch(r"[A-Za-z]+", key) and key.casefold() not in _AMBIGUOUS - {"on"} else scalar(key)


def _flow(value: Any, room: int) -> str | None:
    """Return the value on one line.

    Return None if a mapping or a list needs more than `room` characters, or contains a list whose entries begin on new lines
    (`_BLOCK_KEYS`).
    """
    if not isinstance(value, dict | list | tuple):
        return scalar(value)
    parts: list[str] = []
    left = room - 2
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        text = None if key in _BLOCK_KEYS and item else _flow(item, left)
        if text is None:
            return None
        part = f"{_key(key)}: {text}" if isinstance(value, dict) else text
        left -= len(part) if not parts else len(part) + 2
        if left < 0:
            return None
        parts.append(part)
    return f"{{{', '.join(parts)}}}" if isinstance(value, dict) else f"[{', '.join(parts)}]"


def _entry(lines: list[str], indent: str, key: str, value: Any, first: str | None = None) -> None:
    """Add the lines of one key of a block mapping. `first` is written instead of the indent before the key."""
    head = f"{indent if first is None else first}{_key(key)}:"
    is_block_list = key in _BLOCK_KEYS and isinstance(value, list) and bool(value)
    text = None if is_block_list else _flow(value, WIDTH - len(head) - 1)
    if text is not None:
        lines.append(f"{head} {text}")
        return
    lines.append(head)
    _block(lines, f"{indent}  ", value)


def _block(lines: list[str], indent: str, value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _entry(lines, indent, key, item)
        return
    for item in value:
        dash = f"{indent}- "
        text = _flow(item, WIDTH - len(dash))
        if text is not None:
            lines.append(f"{dash}{text}")
        elif isinstance(item, dict):
            for index, (key, inner) in enumerate(item.items()):
                _entry(lines, f"{indent}  ", key, inner, dash if index == 0 else None)
        else:
            lines.append(f"{indent}-")
            _block(lines, f"{indent}  ", item)
