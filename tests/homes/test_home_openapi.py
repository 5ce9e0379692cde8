"""The OpenAPI document and the page docs/home-api.md: in agreement with the operations that are served."""

import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from domogate.homes.surface import SURFACE
from domogate.http_api.openapi import describe_surface, errors_of
from support.full_plant import FULL_PLANT, MODULE_OF
from support.home_setup import HomeApi
from support.markdown import section, tables
from support.stores import BRUNO, HOUSE, LAMP

PAGE = Path(__file__).parents[2] / "docs" / "home-api.md"


@pytest.fixture
def document() -> dict[str, Any]:
    return describe_surface(SURFACE, base_url="https://gateway.example", version="1")


class TestTheDocument:
    def test_is_valid_by_an_independent_validator(self, document: dict[str, Any]) -> None:
        assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []

    def test_has_every_operation_with_its_errors(self, document: dict[str, Any]) -> None:
        described = {one["operationId"]: one for path in document["paths"].values() for one in path.values()}
        assert described.keys() == {operation.id for operation in SURFACE.operations}
        for operation in SURFACE.operations:
            expected = {operation.status, *errors_of(operation, SURFACE), *([304] if operation.has_etag else [])}
            assert set(described[operation.id]["responses"]) == {str(status) for status in expected}

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
        rows = [row for table in tables(section(PAGE.read_text(), "The operations")) for row in table]
        shown = {
            row["operation"].partition(":")[0]: (
                row["request"].strip("`"),
                int(row["answer"]),
                {int(status) for status in re.findall(r"\d{3}", row["refusals"])},
            )
            for row in rows
        }
        assert shown == {
            operation.id: (
                f"{operation.method} /home/v1{operation.path}",
                operation.status,
                errors_of(operation, SURFACE).keys() - {500, *SURFACE.credentials.errors},
            )
            for operation in SURFACE.operations
        }
