import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.domain.faults import BodyTooLarge, MalformedRequest
from domogate.families._xml import MOST_IN_TAGS, to_xml

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


_KEYS = st.text() | st.text("_x0041 A", max_size=24)


def _decode(element: str) -> str:
    """Return the key of an element, as Decision 0017 describes it."""
    return "" if element == "_" else re.sub("_x([0-9A-Fa-f]{4,6})_", lambda code: chr(int(code[1], 16)), element)


class TestTheJsonToXmlPolicy:
    @given(st.dictionaries(st.text(), _JSON, max_size=4))
    def test_gives_well_formed_xml_or_says_what_cannot_be_carried(self, resource: dict[str, Any]) -> None:
        try:
            document = to_xml(resource)
        except MalformedRequest:
            return  # a control character, which XML cannot represent
        assert ElementTree.fromstring(document).tag == "Document"

    @given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"])))
    def test_keeps_every_text(self, text: str) -> None:
        assert (ElementTree.fromstring(to_xml({"a": text})).findtext("a") or "") == text

    @given(_KEYS)
    def test_loses_no_character_of_a_key(self, key: str) -> None:
        assert _decode(ElementTree.fromstring(to_xml({key: 1}))[0].tag) == key

    def test_names_values_and_lists(self) -> None:
        document = to_xml(
            {"vehicleType": "train", "maxSpeed": 125, "avg": 90.5, "on": True, "none": None, "stops": [1, {"x": 2}]}
        )
        assert document.partition(b"?>")[2].strip() == (
            b"<Document><vehicleType>train</vehicleType><maxSpeed>125</maxSpeed><avg>90.5</avg><on>true</on><none />"
            b"<stops>1</stops><stops><x>2</x></stops></Document>"
        )

    @pytest.mark.parametrize(
        ("key", "element"),
        [
            ("a<b", "a_x003C_b"),
            ("1st", "_x0031_st"),
            ("max speed", "max_x0020_speed"),
            ("ns:name", "ns_x003A_name"),
            ("-", "_x002D_"),
            ("_x0041_", "_x005F_x0041_"),
            ("a_x0041_", "a_x005F_x0041_"),
            ("a_x0041 b", "a_x005F_x0041_x0020_b"),
            ("", "_"),
            ("_", "_x005F_"),
            ("größe", "größe"),
            ("日", "_x65E5_"),
            ("a\0b", "a_x0000_b"),
        ],
    )
    def test_a_key_that_is_no_name_is_escaped(self, key: str, element: str) -> None:
        assert ElementTree.fromstring(to_xml({key: 1})).find(element) is not None

    def test_markup_in_values_stays_text(self) -> None:
        text = "<b>&amp; ]]> \"'"
        assert ElementTree.fromstring(to_xml({"a": text})).findtext("a") == text

    def test_a_long_key_of_many_items_is_refused_before_the_document_grows(self) -> None:
        with pytest.raises(BodyTooLarge):
            to_xml({" " * 30_000: [0] * 15_000})
        with pytest.raises(BodyTooLarge):
            to_xml({"a": [{"b" * 1_000: [[0] * 500, [0] * 500]}]})

    def test_the_tags_may_have_a_million_characters_together(self) -> None:
        items = MOST_IN_TAGS // len("<item></item>")
        assert to_xml({"item": [0] * items}).count(b"<item>") == items
        with pytest.raises(BodyTooLarge):
            to_xml({"item": [0] * (items + 1)})
