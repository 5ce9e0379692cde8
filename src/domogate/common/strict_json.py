"""A strict JSON parser.

It refuses duplicate keys, NaN and Infinity, lone surrogates, deep nesting, and numbers that are too large: integers with more
digits than `int` accepts, and other numbers that do not fit a float. RFC 8259 does not allow NaN and Infinity, but Python's own
parser does. RFC 8259 lets each parser decide about the other refused texts, so two programs could read such a text differently.
"""

import json
import math
import re
from typing import Any, NoReturn

MAX_DEPTH = 100
"""The depth to which arrays and objects may be nested. All later steps (conversion, printing) can handle this depth."""

_TOO_DEEP = f"is nested too deeply; {MAX_DEPTH} levels are allowed"
_is_surrogate_escape = re.compile(rb"\\u[dD][89a-fA-F]").search


class JsonRefused(ValueError):
    """The text is not strict JSON. The message is the end of a sentence that begins with "The body …"."""


def parse_json(text: bytes) -> Any:
    """Return the value of a JSON text in UTF-8. Raises JsonRefused if the text is not strict JSON."""
    if not text:
        raise JsonRefused("is empty, and must be JSON")
    try:
        value = _decode(text.decode("utf-8"))
        if len(text) > MAX_DEPTH and text.count(b"[") + text.count(b"{") > MAX_DEPTH:
            _check_depth(value)
        if b"\\" in text and _is_surrogate_escape(text):
            json.dumps(value, ensure_ascii=False).encode()  # raises UnicodeEncodeError for a lone surrogate
        return value
    except JsonRefused:
        raise
    except RecursionError:
        raise JsonRefused(_TOO_DEEP) from None
    except UnicodeDecodeError:
        raise JsonRefused("is not UTF-8") from None
    except UnicodeEncodeError:
        raise JsonRefused("holds a lone surrogate, which is not a character") from None
    except json.JSONDecodeError as error:
        raise JsonRefused(f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except ValueError:  # int() refuses a number with too many digits
        raise JsonRefused("holds a number that is too long") from None


def _check_depth(value: Any) -> None:
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        inner = [one for outer in level for one in (outer.values() if isinstance(outer, dict) else outer)]
        level = [one for one in inner if isinstance(one, dict | list)]
        if not level:
            return
    raise JsonRefused(_TOO_DEEP)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JsonRefused("holds the same key twice in one object")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonRefused("holds a number that is out of range")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise JsonRefused(f"holds {name}, which is not JSON")


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_refuse_constant)


def _decode(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError if the text is not JSON.

    Most texts are one object or one list, without space before and after. For these texts, this function is faster than
    `JSONDecoder.decode`.
    """
    if not text.startswith(("{", "[")):
        return _decoder.decode(text)
    value, end = _decoder.raw_decode(text)
    return value if end == len(text) else _decoder.decode(text)
