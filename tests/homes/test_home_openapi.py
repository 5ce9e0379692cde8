"""The OpenAPI document and the page docs/home-api.md: in agreement with the operations that are served."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from domogate.homes.surface import SURFACE
from support.full_plant import FULL_PLANT, MODULE_OF
from support.home_setup import HomeApi
from support.stores import BRUNO, HOUSE, LAMP
from support.surface_docs import check_document, check_page, document_of


@pytest.fixture
def document() -> dict[str, Any]:
    return document_of(SURFACE)


class TestTheDocument:
    @pytest.mark.slow
    def test_is_valid_and_has_every_operation(self, document: dict[str, Any]) -> None:
        check_document(document, SURFACE)

    async def test_is_served_without_a_token(self, api: HomeApi, document: dict[str, Any]) -> None:
        answer = await api.send("GET", "/openapi.json", token="")
        assert (answer.status_code, answer.json()) == (200, document)

    async def test_what_is_answered_is_as_described(self, api: HomeApi, document: dict[str, Any]) -> None:
        for method, path, body in (
            ("GET", "/me", None),
            ("GET", "/homes", None),
            ("GET", "/homes/{homeId}", None),
            ("GET", "/homes/{homeId}/modules/{moduleId}", None),
            ("POST", "/homes/{homeId}/modules/{moduleId}/commands", {"do": "set light", "level": 3}),
            ("GET", "/homes/{homeId}/events/recent", None),
            ("PUT", "/homes/{homeId}/favourites", {"modules": [LAMP.id]}),
            ("GET", "/homes/{homeId}/favourites", None),
            ("GET", "/homes/{homeId}/modules/{moduleId}/readings", None),
            ("GET", "/homes/{homeId}/energy", None),
            ("GET", "/homes/{homeId}/people", None),
            ("PATCH", "/homes/{homeId}/people/{email}", {"limits": {"modules": [LAMP.id]}}),
            ("GET", "/applications", None),
        ):
            described = document["paths"][f"/home/v1{path}"][method.lower()]
            schema = described["responses"]["200"]["content"]["application/json"]["schema"]
            validator = Draft202012Validator({**schema, "components": document["components"]})
            answer = await api.ok(method, path.format(homeId=HOUSE.id, moduleId=LAMP.id, email=BRUNO.email), body)
            assert list(validator.iter_errors(answer)) == [], path
            if path == "/homes/{homeId}":
                villa = await api.ok("GET", f"/homes/{FULL_PLANT.id}")
                assert len(villa["modules"]) == len(MODULE_OF)
                assert list(validator.iter_errors(villa)) == []


class TestThePage:
    def test_it_has_every_operation_as_it_is_declared(self) -> None:
        check_page("home-api.md", SURFACE)
