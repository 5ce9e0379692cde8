"""Translates templates of announcements to paths, scales and payloads of the dialect generic.

Only a small part of the template language Jinja is translated: the path to one value, filters that keep the value, and one
factor. No template is executed.
"""

import re

import msgspec

_LONGEST_TEMPLATE = 500
_STEP = r"\.[A-Za-z_]\w*|\[\s*(?:\d{1,4}|'[^'\[\].]+'|\"[^\"\[\].]+\")\s*\]"
_FILTERS = r"(?:\s*\|\s*(?:int|float|round|default|is_defined)\b(?:\s*\([^(){}|]*\))?)*"
_FACTOR = r"(?:\s*(?P<sign>[*/])\s*(?P<factor>\d{1,9}(?:\.\d{1,9})?))?"
_VALUE = re.compile(rf"\{{\{{-?\s*value(?:_json(?P<path>(?:{_STEP})*))?{_FILTERS}{_FACTOR}{_FILTERS}\s*-?\}}\}}")
_COMMAND = re.compile(rf"\{{\{{-?\s*value{_FILTERS}{_FACTOR}{_FILTERS}\s*-?\}}\}}")
_PART = re.compile(_STEP)


class Untranslatable(Exception):
    """The announcement cannot become a module. The message says why."""


class ValueTemplate(msgspec.Struct, frozen=True):
    """Where a value is in a payload, and the factor of this value."""

    path: str = ""
    scale: float = 1.0


class CommandTemplate(msgspec.Struct, frozen=True):
    """The payload with `{value}` for the value, and the factor of this value."""

    payload: str = "{value}"
    scale: float = 1.0


def read_value_template(template: str | None) -> ValueTemplate:
    """Return the path and the factor in a template such as `{{ value_json.power / 10 }}`. Raises Untranslatable."""
    if not template:
        return ValueTemplate()
    found = _VALUE.fullmatch(template.strip()) if len(template) <= _LONGEST_TEMPLATE else None
    if found is None:
        raise _refusal(template, "{{ value_json.name }}")
    steps = (_as_step(part[0]) for part in _PART.finditer(found["path"] or ""))
    return ValueTemplate("".join(steps).removeprefix("."), _scale(found))


def read_command_template(template: str | None) -> CommandTemplate:
    """Return the payload and the factor in a template such as `{"level": {{ value }}}`. Raises Untranslatable."""
    if not template:
        return CommandTemplate()
    found = list(_COMMAND.finditer(template)) if len(template) <= _LONGEST_TEMPLATE else []
    payload = _COMMAND.sub("{value}", template)
    if len(found) != 1 or any(sign in payload for sign in ("{{", "{%", "{#")):
        raise _refusal(template, "{{ value }}")
    return CommandTemplate(payload, _scale(found[0]))


def _as_step(part: str) -> str:
    """Return `.name` or `[0]` for a step that may also be written as `['name']`."""
    inner = part.strip("[] \t\r\n")
    return part if part.startswith(".") else f"[{int(inner)}]" if inner.isdigit() else f".{inner[1:-1]}"


def _scale(found: re.Match[str]) -> float:
    factor = float(found["factor"] or 1)
    if factor == 0:
        raise Untranslatable("a template multiplies or divides by 0")
    return 1 / factor if found["sign"] == "/" else factor


def _refusal(template: str, example: str) -> Untranslatable:
    return Untranslatable(
        f"the template {template[:100]!r} cannot be translated; only templates such as {example} can."
        " Describe the device with the dialect generic"
    )
