"""The parts of an answer that a recording keeps, and the parts that it replaces."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.recording.redaction import Redactor, redact_target

UUID = "0f6b8c1e-1111-4222-8333-444455556666"
PLANT = {
    "id": UUID,
    "ownerId": "9c6b8c1e-1111-4222-8333-444455556666",
    "ownerEmail": "anna@home.example",
    "name": "Villa Rossi",
    "type": "house",
    "country": "Italy",
    "zipCode": "20100",
    "address": "Via Roma 1",
    "allowedUsers": [{"id": "9c6b8c1e-1111-4222-8333-444455556666", "email": "anna@home.example"}],
    "invitedUsers": [{"email": "bruno@home.example"}],
}
PERSONAL = ("anna", "bruno", "Rossi", "Italy", "20100", "Roma", "9c6b8c1e")


class TestBodies:
    def test_people_and_places_are_replaced(self) -> None:
        kept = Redactor().redact({"plants": [PLANT]})
        assert not [one for one in PERSONAL if one in json.dumps(kept)]
        (plant,) = kept["plants"]
        assert (plant["id"], plant["type"]) == (UUID, "house")
        assert plant["zipCode"].isdigit()
        assert plant["ownerEmail"] == plant["allowedUsers"][0]["email"] != plant["invitedUsers"][0]["email"]
        assert plant["ownerId"] == plant["allowedUsers"][0]["id"]

    def test_states_are_kept(self) -> None:
        state = {
            "status": "on",
            "level": 40,
            "reachable": True,
            "measures": [{"timeStamp": "2026-01-02T03:04:05Z", "value": 1.5}],
        }
        assert Redactor().redact(state) == state

    @pytest.mark.parametrize(
        "body",
        [
            {"ticket": "secret-word"},
            {"access_token": "secret-word"},
            {"serialNumber": "123456"},
            {"phone": "123456"},
            {"ticket": "12345678-1234-4234-8234-123456789012"},
            {"message": "secret-word"},
            {"status": "x" * 65},
            {"value": "a@b.example"},
            {"unknown": {"deep": ["secret-word"]}},
            {"anna@home.example": 1},
            {"latitude": 45.46},
        ],
    )
    def test_what_is_not_known_to_be_harmless_is_replaced(self, body: dict[str, Any]) -> None:
        kept = json.dumps(Redactor().redact(body))
        assert not [one for one in ("secret-word", "123456", "xxx", "@b", "anna", "45.46") if one in kept]

    @given(st.text(), st.text())
    def test_equal_texts_have_equal_replacements(self, one: str, other: str) -> None:
        redactor = Redactor()
        first, second, again = (redactor.redact({"name": f"The {text}"})["name"] for text in (one, other, one))
        assert first == again
        assert (first == second) == (one == other)


class TestTargets:
    @pytest.mark.parametrize(
        ("target", "kept"),
        [
            (f"/homeauto/v1.0/plants/{UUID}", f"/homeauto/v1.0/plants/{UUID}"),
            ("/a/anna@home.example/b", "/a/*/b"),
            ("/a?start=2026-01-02&end=2026-01-03T04:05:06Z", "/a?end=2026-01-03T04:05:06Z&start=2026-01-02"),
            ("/a?email=anna%40home.example&n=3", "/a?email=*&n=3"),
            ("/a?", "/a"),
            ("//[x/b#c", "//*/b"),
        ],
    )
    def test_ids_and_times_are_kept(self, target: str, kept: str) -> None:
        assert redact_target(target) == kept
        assert redact_target(kept) == kept
