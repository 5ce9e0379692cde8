"""YAML is read strictly: text stays as written, without YAML's implicit types."""

from copy import deepcopy
from functools import cache
from io import StringIO
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domogate.domain.estate import EstatePlant
from domogate.estate import EstateMistakes, demo_text, read_estate
from domogate.estate.composing import compose
from domogate.estate.nodes import MAX_DEPTH
from domogate.estate.schema import guide
from support.estate_documents import draw_place
from support.examples import examples

HEAD = """\
users: [{email: anna@example.com}]
plants:
  - id: ca5a0001-0000-4000-8000-000000000000
    type: house
    owner: anna@example.com
"""


def plant(**keys: str) -> EstatePlant:
    lines = "".join(f"    {key}: {value}\n" for key, value in ({"name": "x"} | keys).items())
    return read_estate(HEAD + lines, "estate.yaml").estate.plants[0]


def options(value: str) -> object:
    module = f"[{{id: ca5a0001-0001-4000-8000-000000000001, name: M, kind: light, driver: simulator, options: {{x: {value}}}}}]"
    return plant(modules=module).topology.modules[0].options["x"]


def complaint(text: str) -> str:
    with pytest.raises(EstateMistakes) as caught:
        read_estate(text, "estate.yaml")
    return str(caught.value)


class TestScalars:
    @pytest.mark.parametrize(
        "word", ["on", "off", "yes", "No", "true", "062520", "0x10", "1e3", "12:30", "2026-11-15", "1_000", "=", "Null"]
    )
    def test_where_text_is_expected_every_word_is_text(self, word: str) -> None:
        assert plant(name=word, zipCode=word).plant.name == word
        assert plant(name=f"'{word}'").plant.name == word

    @pytest.mark.parametrize("word", ["", "~", "null"])
    def test_no_value_at_all_is_a_mistake(self, word: str) -> None:
        told = complaint(f"{HEAD}    name: {word}\n")
        assert "plants[0].name: there is no value here; allowed: text. Leave the key out, or write '' for an empty text" in told

    def test_an_empty_text_is_written_with_quotes(self) -> None:
        assert plant(name="''").plant.name == ""

    @pytest.mark.parametrize(
        ("word", "hint"),
        [("yes", "Write true"), ("off", "Write false"), ("'true'", "Write it without quotes"), ("True", "Write true")],
    )
    def test_only_true_and_false_are_booleans(self, word: str, hint: str) -> None:
        told = complaint(f"{HEAD}    name: x\n    emergencyLighting: {word}\n")
        assert "is text; allowed: true or false" in told
        assert told.endswith(hint)

    @pytest.mark.parametrize(
        "word", ["'60'", "0x10", "060", "1_0", ".5", "+5", "1e400", "sixty", "5.", ".inf", "NaN", "9" * 5000]
    )
    def test_numbers_are_plain_decimal_numbers(self, word: str) -> None:
        module = f"[{{id: ca5a0001-0001-4000-8000-000000000001, name: M, kind: light, state: {{on: true, level: {word}}}}}]"
        assert "plants[0].modules[0].state.level" in complaint(f"{HEAD}    name: x\n    modules: {module}\n")

    @pytest.mark.parametrize(
        ("written", "value"),
        [
            ("7", 7),
            ("-7.5", -7.5),
            ("1e3", 1000.0),
            ("true", True),
            ("null", None),
            ("on", "on"),
            ("062520", "062520"),
            ("'7'", "7"),
        ],
    )
    def test_options_of_a_driver_are_read_as_json_would_be(self, written: str, value: object) -> None:
        told = options(written)
        assert told == value
        assert type(told) is type(value)

    def test_a_number_too_long_for_a_store_stays_text(self) -> None:
        assert options("1234567890123456789012345") == "1234567890123456789012345"


class TestYamlThatIsRefused:
    def test_a_key_twice_is_told_with_the_line_of_the_first(self) -> None:
        told = complaint(f"{HEAD}    name: a\n    country: b\n    name: c\n")
        assert told == "estate.yaml:8:5 plants[0].name: 'name' is used twice; the first is in line 6"

    @pytest.mark.parametrize(
        ("value", "problem"),
        [
            ("&a x", "the anchor '&a' cannot be used here"),
            ("*a", "the alias '*a' cannot be used here"),
            ("!!str x", "the tag 'tag:yaml.org,2002:str' cannot be used here"),
            ("!!python/object/apply:os.system [x]", "cannot be used here"),
            ("!x y", "the tag '!x' cannot be used here"),
            ('"\\0"', "the character U+0000 cannot be stored"),
        ],
    )
    def test_anchors_aliases_tags_and_nul(self, value: str, problem: str) -> None:
        told = complaint(f"{HEAD}    name: x\n    country: {value}\n")
        assert "estate.yaml:7:14 plants[0].country: " in told
        assert problem in told

    def test_a_bomb_of_aliases_is_refused_without_being_lit(self) -> None:
        lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
        lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
        assert "alias" in complaint("\n".join(lines))

    def test_a_merge_key_is_a_key_like_any_other(self) -> None:
        assert "'<<' does not belong to a user" in complaint("users: [{email: a@example.com, <<: {name: x}}]")

    @pytest.mark.parametrize("bracket", ["[", "{a: ", "- "])
    def test_nesting_is_bounded(self, bracket: str) -> None:
        assert f"this is nested too deeply; allowed: {MAX_DEPTH} levels" in complaint(
            f"plants: {bracket * 500}" if bracket != "- " else bracket * 500
        )

    def test_a_second_document(self) -> None:
        assert "a second document begins here" in complaint("users: []\n---\nusers: []\n")

    def test_a_list_as_a_key(self) -> None:
        assert "a key must be a word" in complaint("? [a, b]\n: c\nusers: []\n")

    @pytest.mark.parametrize("text", ["", "# only a comment\n", "\n\n"])
    def test_an_empty_file(self, text: str) -> None:
        assert complaint(text) == "estate.yaml:1:1 the file is empty"

    @pytest.mark.parametrize("text", ["--- ~", "{}", "[]", "x", "null"])
    def test_a_file_that_says_nothing(self, text: str) -> None:
        assert complaint(text).startswith("estate.yaml:1:")

    @pytest.mark.parametrize("character", ["\x00", "\x07", "\x1b", "\ud800", "\ufffe"])
    def test_a_control_character(self, character: str) -> None:
        assert complaint(f"users: []\n# {character}\n").startswith("estate.yaml:2:3 the character U+")

    def test_a_byte_order_mark_is_no_mistake(self) -> None:
        assert read_estate("\ufeffusers: []\n", "x").estate.users == ()


class TestSyntax:
    @pytest.mark.parametrize(
        ("text", "place", "words"),
        [
            ("users: []\na: b: c\n", "2:5", "this ':' is not allowed here"),
            ("users: [1, 2\nplants: []\n", "2:7", "a list opened with '[' is not closed"),
            ("users: [{email: x\n", "2:1", "a mapping opened with '{' is not closed"),
            ("users:\n\t- x\n", "2:1", "indent with spaces, not with tabs"),
            ('users: "x\n', "2:1", "a quoted text is not closed"),
            ("users: @x\n", "1:8", "quote the text"),
            ('users: "\\q"\n', "1:", "no such '\\' escape"),
            ("- a\nb: c\n", "2:1", "does not match the lines above it"),
            ("{a: 1}}", "1:7", "after the end of the document"),
        ],
    )
    def test_what_is_not_yaml_is_told_in_plain_words(self, text: str, place: str, words: str) -> None:
        told = complaint(text)
        assert told.startswith(f"estate.yaml:{place}")
        assert words in told

    def test_mistakes_before_the_broken_line_are_told_too(self) -> None:
        assert complaint("users: []\nusers: []\nplants: [\n").count("\n") == 1


PLAIN = "users plants modules units steps state kind light scene id name on do owner allowed true null 7 options controller"
WORDS = st.sampled_from(
    [*PLAIN.split(), "ca5a0001-0000-4000-8000-000000000000", "a@example.com", "chronothermostat", "emergency unit"]
)
EDITS = st.sampled_from(["", *":-[{}],\n x'\"7&*#"])
DATA = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=5),
    max_leaves=30,
)


@cache
def _demo_document() -> dict[str, Any]:
    """The demo estate as data, with only its first plant."""
    root, _ = compose(StringIO(demo_text()))
    assert root is not None
    document: dict[str, Any] = guide().to_data(root)
    return document | {"plants": document["plants"][:1]}


class TestNothingButMistakes:
    """For any text, the reader returns an estate or raises EstateMistakes, and nothing else."""

    @settings(deadline=None)
    @given(st.text())
    def test_any_text(self, text: str) -> None:
        self._read(text)

    @pytest.mark.slow
    @settings(deadline=None, max_examples=examples(30))
    @given(st.dictionaries(st.sampled_from(["users", "subscriptions", "clients", "plants", "spareParts"]), DATA))
    @example({"plants": ["x"], "users": None})
    def test_any_data(self, document: dict[str, Any]) -> None:
        self._read(yaml.safe_dump(document))

    @pytest.mark.slow
    @settings(deadline=None, max_examples=examples(12))
    @given(st.data())
    def test_the_demo_estate_with_some_characters_changed(self, data: st.DataObject) -> None:
        text = demo_text()[:9000]
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(text) - 1))
            text = text[:at] + data.draw(EDITS) + text[at + 1 :]
        self._read(text)

    @pytest.mark.slow
    @settings(deadline=None, max_examples=examples(12))
    @given(st.data())
    def test_the_demo_estate_with_any_value_put_in_any_place(self, data: st.DataObject) -> None:
        document = deepcopy(_demo_document())
        place, key = draw_place(data, document)
        place[key] = data.draw(DATA)
        self._read(yaml.safe_dump(document))

    def _read(self, text: str) -> None:
        try:
            read_estate(text, "estate.yaml")
        except EstateMistakes as error:
            found = error.mistakes
        else:
            return
        assert found
        assert all(told.line >= 1 and told.column >= 1 and told.problem for told in found)
