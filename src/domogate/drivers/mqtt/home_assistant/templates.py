"""Translates the templates of announcements, in which devices describe themselves for Home Assistant.

The results are paths, scales, words and payloads of the dialect `generic`.

Only a small part of the template language Jinja is translated (`expressions.py`). No template is executed.
"""

import math
import re
from collections.abc import Collection, Mapping

import msgspec

from domogate.drivers.mqtt.home_assistant.expressions import (
    Choice,
    Linear,
    Unparsable,
    parse_condition,
    parse_expression,
)

_LONGEST_TEMPLATE = 500
_EXPRESSION = re.compile(r"\{\{-?((?:[^{}]){1,500}?)-?\}\}")
_STATEMENT = re.compile(
    r"\{%-?\s*if\s([^{}%]{1,300}?)-?%\}([^{}%]{0,100})\{%-?\s*else\s*-?%\}([^{}%]{0,100})\{%-?\s*endif\s*-?%\}"
)
_MARKS = ("{{", "{%", "{#")


class Untranslatable(Exception):
    """A part of an announcement for Home Assistant cannot be expressed by options of a module. The message says why."""


class ValueTemplate(msgspec.Struct, frozen=True):
    """A template that reads a value from a payload. It has the place of the value, its factor and its offset.

    The template may turn the value into one of two words. Then `choice` has both words and the condition that chooses one of
    them.
    """

    path: str = ""
    scale: float = 1.0
    offset: float = 0.0
    choice: Choice | None = None

    def meanings(self, words: Mapping[str, object]) -> dict[str, object]:
        """Return the options `map` and `other` of the module. They say what each value in a payload means.

        Call this only if `choice` is not None. `words` has the meaning of each word. A word of `choice` that is missing in
        `words` is left out of the options.
        """
        assert self.choice is not None
        then, other = words.get(self.choice.then), words.get(self.choice.other)
        listed = dict.fromkeys(("false", "0", ""), other) if self.choice.literal is None else {self.choice.literal: then}
        rest = then if self.choice.literal is None else other
        known: dict[str, object] = {"map": {word: meaning for word, meaning in listed.items() if meaning is not None}}
        return known if rest is None else known | {"other": rest}


class CommandTemplate(msgspec.Struct, frozen=True):
    """A template for the payload of a command. `{value}` stands for the value that is sent.

    A number is multiplied by `scale`, and `offset` is added. A word is replaced by one of the two words of `choice`.
    """

    payload: str = "{value}"
    scale: float = 1.0
    offset: float = 0.0
    choice: Choice | None = None

    def choose(self, words: Mapping[str, str]) -> dict[str, str]:
        """Return the words, each replaced by the word that the template makes from it."""
        choice = self.choice
        if choice is None:
            return dict(words)
        return {meaning: choice.then if word == choice.literal else choice.other for meaning, word in words.items()}


def read_value_template(template: str | None) -> ValueTemplate:
    """Return what a template such as `{{ value_json.power / 10 }}` means. Raises Untranslatable."""
    if not template:
        return ValueTemplate()
    parsed = _parse(template.strip()) if len(template) <= _LONGEST_TEMPLATE else None
    value = parsed.value if isinstance(parsed, Choice) else parsed
    if value is None or value.name not in ("value", "value_json") or (value.name == "value" and value.path):
        raise _refusal(template, "{{ value_json.name }}")
    if isinstance(parsed, Choice):
        return ValueTemplate(value.path, choice=parsed)
    _check(value)
    return ValueTemplate(value.path, value.scale, value.offset)


def read_command_template(template: str | None, names: Collection[str] = ("value",)) -> CommandTemplate:
    """Return what a template such as `{"level": {{ value }}}` means. Raises Untranslatable.

    `names` are the names of the value in this template.
    """
    if not template:
        return CommandTemplate()
    if len(template) > _LONGEST_TEMPLATE:
        raise _refusal(template, "{{ value }}")
    found = [*_EXPRESSION.finditer(template), *_STATEMENT.finditer(template)]
    payload = _STATEMENT.sub("{value}", _EXPRESSION.sub("{value}", template))
    parsed = _parse(found[0][0]) if len(found) == 1 and not any(sign in payload for sign in _MARKS) else None
    value = parsed.value if isinstance(parsed, Choice) else parsed
    if value is None or value.name not in names or value.path:
        raise _refusal(template, "{{ value }}")
    if isinstance(parsed, Choice):
        if parsed.literal is None:
            raise _refusal(template, "{{ value }}")
        return CommandTemplate(payload, choice=parsed)
    _check(value)
    return CommandTemplate(payload, value.scale, value.offset)


def fill_names(template: str, names: Mapping[str, str]) -> str:
    """Return the payload of a template: `{{ red }}` becomes `names["red"]`. Raises Untranslatable for other expressions."""

    def replaced(found: re.Match[str]) -> str:
        parsed = _parse(found[0])
        is_name = isinstance(parsed, Linear) and parsed.is_plain and not parsed.path
        text = names.get(parsed.name or "") if is_name and isinstance(parsed, Linear) else None
        if text is None:
            raise _refusal(template, "{{ red }},{{ green }},{{ blue }}")
        return text

    payload = _EXPRESSION.sub(replaced, template) if len(template) <= _LONGEST_TEMPLATE else template
    if len(template) > _LONGEST_TEMPLATE or any(sign in payload for sign in _MARKS):
        raise _refusal(template, "{{ red }},{{ green }},{{ blue }}")
    return payload


def _parse(template: str) -> Linear | Choice | None:
    """Return the meaning of a template that is one expression or one statement `if`. Return None for any other template."""
    try:
        if found := _EXPRESSION.fullmatch(template):
            return parse_expression(found[1])
        if found := _STATEMENT.fullmatch(template):
            return parse_condition(found[1], found[2].strip(), found[3].strip())
    except Unparsable:
        pass
    return None


def _check(value: Linear) -> None:
    if value.scale == 0 or not (math.isfinite(value.scale) and math.isfinite(value.offset)):
        raise Untranslatable("a template multiplies or divides by 0")


def _refusal(template: str, example: str) -> Untranslatable:
    return Untranslatable(
        f"the template {template[:100]!r} cannot be translated; only templates such as {example} can."
        " Describe the device with the dialect generic"
    )
