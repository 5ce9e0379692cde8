"""E20: the JSON-to-XML policy and the echo backend behind it."""

import json
from xml.etree import ElementTree

import pytest

from support.gateway import Gateway
from support.http import expect_refusal
from support.spec_operations import E20


def echoed(gateway: Gateway, body: object) -> ElementTree.Element:
    """The XML answer, parsed by an independent parser."""
    answer = gateway.send(E20, body=json.dumps(body).encode())
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].split(";")[0] == "application/xml"
    return ElementTree.fromstring(answer.content)


class TestE20CreateResource:
    def test_the_four_fields_come_back_as_elements(self, demo: Gateway) -> None:
        body = {"vehicleType": "train", "maxSpeed": 125, "avgSpeed": 90.5, "speedUnit": "mph"}
        root = echoed(demo, body)
        assert {child.tag: child.text for child in root} == {
            "vehicleType": "train",
            "maxSpeed": "125",
            "avgSpeed": "90.5",
            "speedUnit": "mph",
        }

    def test_any_json_object_is_accepted(self, demo: Gateway) -> None:
        root = echoed(demo, {"wheels": [1, 2], "driver": {"name": "Ada"}, "late": False, "note": None})
        assert "Ada" in "".join(root.itertext())

    def test_an_empty_object_is_accepted(self, demo: Gateway) -> None:
        assert len(echoed(demo, {})) == 0

    def test_letters_of_every_script_survive(self, demo: Gateway) -> None:
        root = echoed(demo, {"vehicleType": "Straßenbahn 有轨电车 🚋"})
        assert root.findtext("vehicleType") == "Straßenbahn 有轨电车 🚋"

    @pytest.mark.parametrize("text", ["<b>", "]]>", "a & b", "&lt;", "\"'", "<!DOCTYPE x>", "<![CDATA[", "--><!--"])
    def test_markup_in_values_is_escaped(self, demo: Gateway, text: str) -> None:
        assert echoed(demo, {"vehicleType": text}).findtext("vehicleType") == text

    @pytest.mark.parametrize("key", ["<b>", "1st", "a b", "", "]]>", "x&y", "xml", "a:b", "é", "-", "a\u0000b", 'a="b"', "/"])
    def test_a_key_that_is_no_xml_name_still_gives_well_formed_xml_that_holds_its_value(self, demo: Gateway, key: str) -> None:
        assert "kept" in "".join(echoed(demo, {key: "kept"}).itertext())

    @pytest.mark.parametrize("text", ["a\u0000b", "\u0008", "\ufffe", "a\u001fb", "\ud800"])
    def test_characters_that_xml_forbids_never_make_it_ill_formed(self, demo: Gateway, text: str) -> None:
        answer = demo.send(E20, body=json.dumps({"vehicleType": text}).encode())
        if answer.status_code == 200:
            ElementTree.fromstring(answer.content)
        else:
            expect_refusal(E20, answer, 400)

    @pytest.mark.parametrize(
        "body",
        [
            {"vehicleType": 1},
            {"maxSpeed": "fast"},
            {"avgSpeed": True},
            {"speedUnit": None},
            {"maxSpeed": {}},
            {"vehicleType": ["train"]},
        ],
        ids=json.dumps,
    )
    def test_the_named_fields_are_type_checked_and_the_message_names_the_field(
        self, demo: Gateway, body: dict[str, object]
    ) -> None:
        refusal = expect_refusal(E20, demo.send(E20, body=json.dumps(body).encode()), 400)
        assert next(iter(body)) in refusal["message"]

    @pytest.mark.parametrize("body", [b"[]", b"null", b'"train"', b"1", b"true", b""])
    def test_what_is_no_object_is_400(self, demo: Gateway, body: bytes) -> None:
        expect_refusal(E20, demo.send(E20, body=body), 400)
