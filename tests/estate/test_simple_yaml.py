"""Simple YAML is read as the YAML parser reads it. All other text is left to the YAML parser."""

from io import StringIO
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import example, given, settings

from domogate.domain.estate import Estate, EstatePlant
from domogate.estate import EstateMistakes, demo_text, read_estate
from domogate.estate.composing import compose
from domogate.estate.nodes import PLANTS
from domogate.estate.quick_read import to_raw
from domogate.estate.quick_scan import QuickScan
from domogate.estate.simple_yaml import NotSimple, read_parts
from support.examples import examples

pytestmark = pytest.mark.slow

_SIGNS = [
    *"-:#'\"{}[],&*!|>%@`?~ \n\t\\.=",
    ": ",
    " #",
    "- ",
    "\n  ",
    "\n- ",
    "''",
    "null",
    "\\u",
    "\r",
    "\x85",
    "\u2028",
    "é",
    "---",
]


def read_simply(text: str) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key, value in read_parts(StringIO(text)):
        if key == PLANTS:
            document.setdefault(key, []).append(value)
        else:
            document[key] = value
    return document


def read_by_parser(text: str) -> Any:
    root, mistakes = compose(StringIO(text))
    assert not mistakes, mistakes
    assert root is not None
    return to_raw(root)


LINES = """\
users:
  - {email: anna@example.com, name: "Anna: \\"A\\"", password: 'it''s a secret'}
plants:
  - id: ca5a0001-0000-4000-8000-000000000000
    name: Casa Bianchi - 3
    allowed: [bruno@example.com, {email: carla@example.com, validFrom: 2026-11-20T14:00:00+01:00, floors: []}]
    # a comment
    floors:
      - id: ca5a0001-000f-4000-8000-000000000001
        ambients:
        - name: Kitchen
          modules:
            - {id: a, state: {on: true, level: 60}, options: {delay: -2.5, of: "5"}}
    modules:
      - id: b
        steps:
          - {module: a, do: set light}

  - id: ca5a0002-0000-4000-8000-000000000000
    name: x
spareParts:
- unit: "062520"
  parts: [{quantity: '1'}]
"""


class TestSimpleText:
    @pytest.mark.parametrize("text", [LINES, demo_text(), "users:\n- a\n- b", "users: [a]\nplants:\n- id: x\n- id: y\n"])
    def test_it_is_read_as_the_yaml_parser_reads_it(self, text: str) -> None:
        assert read_simply(text) == read_by_parser(text)

    @settings(deadline=None, max_examples=examples(150))
    @given(st.data())
    def test_changed_text_is_read_as_the_yaml_parser_reads_it_or_not_at_all(self, data: st.DataObject) -> None:
        text = LINES
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(text)))
            cut = data.draw(st.integers(0, 3))
            text = text[:at] + data.draw(st.sampled_from(_SIGNS) | st.text(max_size=2)) + text[at + cut :]
        try:
            simply = read_simply(text)
        except NotSimple:
            return
        assert simply == read_by_parser(text)

    @settings(deadline=None, max_examples=examples(150))
    @given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("ab1 :#-,'\"{}[]\\"), max_size=12))
    @example("a: b")
    @example("\\ud83d\\ude00")
    def test_any_value_is_read_as_the_yaml_parser_reads_it_or_not_at_all(self, value: str) -> None:
        for line in (f"k: {value}", f'k: "{value}"', f"k: '{value}'", f"k: [{value}]", f"k: {{x: {value}}}", f"k:\n- {value}"):
            try:
                simply = read_simply(line)
            except NotSimple:
                continue
            assert simply == read_by_parser(line)


class TestQuickScan:
    def test_it_reads_an_export_as_the_yaml_parser_does(self, printed: str) -> None:
        plants: list[EstatePlant] = []
        file = QuickScan("printed", plants.append, None).run(StringIO(printed))
        assert file is not None
        by_parser = read_estate(f"---\n{printed}", "printed")
        assert msgspec.structs.replace(file.estate, plants=tuple(plants)) == by_parser.estate

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("kind: plug", "kind: plugg"),
            ("owner: anna@example.com", "owner: nobody@example.com"),
            ("id: ca5a0001-0001-4000-8000-000000000002", "id: ca5a0001-0001-4000-8000-000000000001"),
            ("name: Ground floor", "internalId: ca5a0001-0001-4000-8000-000000000001\n        name: Ground floor"),
        ],
    )
    def test_it_leaves_mistakes_to_the_yaml_parser(self, printed: str, old: str, new: str) -> None:
        changed = printed.replace(old, new)
        assert changed != printed
        assert QuickScan("printed", lambda _: None, None).run(StringIO(changed)) is None
        with pytest.raises(EstateMistakes):
            read_estate(changed, "printed")

    def test_each_plant_is_passed_on_once_if_the_yaml_parser_reads_the_last_one(self, demo: Estate, printed: str) -> None:
        last = printed.rindex("    name: ")
        end = printed.index("\n", last)
        assert read_estate(f"{printed[:end]} # a comment{printed[end:]}", "printed").estate == demo
