"""Templates of announcements for Home Assistant are translated, and no template takes much CPU time."""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.drivers.mqtt.home_assistant.templates import (
    Untranslatable,
    ValueTemplate,
    read_command_template,
    read_value_template,
)

READ = (read_value_template, read_command_template)


def count_lines(read: Callable[[str], object], text: str) -> int:
    """The lines of Python that run while the template is read. They do not depend on the speed of the machine."""
    lines = 0

    def trace(_frame: object, event: str, _argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with suppress(Untranslatable):
            read(text)
    finally:
        sys.settrace(before)
    return lines


class TestTemplates:
    @pytest.mark.parametrize(
        ("template", "path", "scale", "offset"),
        [
            ("", "", 1, 0),
            ("{{ value }}", "", 1, 0),
            ("{{value|float}}", "", 1, 0),
            ("{{ value_json.power }}", "power", 1, 0),
            ("{{ value_json['a b'].c[0][\"d\"] }}", "a b.c[0].d", 1, 0),
            ("{{ value_json[1].x | float(0) | round(1) }}", "[1].x", 1, 0),
            ("{{- value_json.x | default(none) -}}", "x", 1, 0),
            ("{{ value_json.x | int * 100 }}", "x", 100, 0),
            ("{{ value_json.x / 4 | round(1) }}", "x", 0.25, 0),
            ("{{ value_json.get('x', 0) }}", "x", 1, 0),
            ("{{ float(value_json.x, 0) * 10 }}", "x", 10, 0),
            ("{{ ((value | float - 32) / 2) | round(1) }}", "", 0.5, -16),
            ("{{ 100 - value_json.x }}", "x", -1, 100),
            ("{{ 2 * value + -1 }}", "", 2, -1),
        ],
    )
    def test_a_path_a_factor_and_an_offset_are_translated(self, template: str, path: str, scale: float, offset: float) -> None:
        assert read_value_template(template) == ValueTemplate(path, scale, offset)

    @pytest.mark.parametrize(
        ("template", "known"),
        [
            ("{{ 'ON' if value_json.s == 'open' else 'OFF' }}", {"map": {"open": True}, "other": False}),
            ("{{ 'ON' if value_json.s != 3 else 'OFF' }}", {"map": {"3": False}, "other": True}),
            ('{{ "ON" if value_json.s else "OFF" }}', {"map": {"false": False, "0": False, "": False}, "other": True}),
            ("{{ 'ON' if not value_json.s else 'OFF' }}", {"map": {"false": True, "0": True, "": True}, "other": False}),
            ("{% if value_json.s == true %} ON {%- else -%} OFF {% endif %}", {"map": {"true": True}, "other": False}),
            ("{{ 'ON' if value_json.s == 'open' else 'unknown' }}", {"map": {"open": True}}),
        ],
    )
    def test_a_choice_between_two_words_is_translated(self, template: str, known: dict[str, Any]) -> None:
        value = read_value_template(template)
        assert value.path == "s"
        assert value.meanings({"ON": True, "OFF": False}) == known

    @pytest.mark.parametrize(
        "template",
        [
            "{{ 'ON' if value_json.a and value_json.b else 'OFF' }}",
            "{{ value_json.a + value_json.b }}",
            "{{ value_json.a | timestamp_custom('%H') }}",
            "{{ value.split(',')[0] }}",
            "{{ value_json['a.b'] }}",
            "{{ " + "(" * 9 + "value" + ")" * 9 + " }}",
            "{% if value %}1{% endif %}",
            "{{ states('light.kitchen') }}",
            "{{ value_json.x * 0 }}",
            "{{ value }} and {{ value }}",
            "{{ value_json" + ".x" * 400 + " }}",
            "ON",
        ],
    )
    def test_everything_else_is_refused(self, template: str) -> None:
        with pytest.raises(Untranslatable):
            read_value_template(template)

    def test_a_payload_of_a_command(self) -> None:
        command = read_command_template('{"brightness": {{ value | int }}}')
        assert (command.payload, command.scale) == ('{"brightness": {value}}', 1)
        for template in ("{{ position }}", "{% if value %}{{ value }}{% endif %}", "nothing"):
            with pytest.raises(Untranslatable, match="cannot be translated"):
                read_command_template(template)

    @given(st.text(alphabet="{}|%value_json.[]'\"( )*/+-=!0x", max_size=60))
    def test_any_text_is_translated_or_refused(self, template: str) -> None:
        for read in READ:
            with suppress(Untranslatable):
                assert read(template).scale != 0

    @given(
        st.sampled_from(["(", "value|int(", "{{ value", "{% if value ", "value_json.a[0]", "-", "'a' if ", " | round(1)", " "]),
        st.integers(1, 500),
    )
    def test_a_repeated_part_is_translated_or_refused_after_few_steps(self, part: str, times: int) -> None:
        for text in (f"{{{{ {part * times} }}}}", f"{{% if {part * times} %}}a{{% else %}}b{{% endif %}}", part * times):
            for read in READ:
                assert count_lines(read, text) <= 100 + 60 * min(len(text), 500)
