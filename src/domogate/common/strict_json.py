"""Strict JSON: refuses duplicate keys, NaN and Infinity, and numbers that do not fit a float (RFC 8259 leaves these open)."""

import json
import math
from typing import Any, NoReturn


class JsonRefused(ValueError):
    """The text is not strict JSON. The message continues the sentence "The body …"."""


def parse_json(text: bytes) -> Any:
    """Any JSON value in UTF-8. Raises JsonRefused."""
    if not text:
        raise JsonRefused("is empty, and must be JSON")
    try:
        return _decode(text.decode("utf-8"))
    except JsonRefused:
        raise
    except RecursionError:
        raise JsonRefused("is nested too deeply") from None
    except UnicodeDecodeError:
        raise JsonRefused("is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise JsonRefused(f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except ValueError:  # int() limits the number of digits
        raise JsonRefused("holds a number that is too long") from None


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


_decode = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_refuse_constant).decode
