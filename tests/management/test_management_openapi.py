"""The OpenAPI document: valid by an independent validator, and in agreement with the operations that are served."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from domogate.domain.states import Reading, Report, Unit
from domogate.management.surface import SURFACE
from support.clocks import NOW
from support.management_setup import ManagementApi
from support.stores import HOUSE, LAMP
from support.surface_docs import check_document, document_of


@pytest.fixture
def document() -> dict[str, Any]:
    return document_of(SURFACE)


class TestTheDocument:
    @pytest.mark.slow
    def test_is_valid_and_has_every_operation(self, document: dict[str, Any]) -> None:
        check_document(document, SURFACE)

    def test_parameters_of_lists_are_described(self, document: dict[str, Any]) -> None:
        told = {one["name"]: one for one in document["paths"]["/manage/v1/users"]["get"]["parameters"]}
        assert told.keys() == {"limit", "after", "email"}
        assert told["limit"]["schema"] == {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}
        assert told["after"]["schema"] == {"type": "string", "maxLength": 300}
        modules = {
            one["name"]: one["schema"] for one in document["paths"]["/manage/v1/plants/{plantId}/modules"]["get"]["parameters"]
        }
        assert "chronothermostat" in modules["kind"]["enum"]
        assert modules["reachable"] == {"type": "boolean"}
        audit = {one["name"] for one in document["paths"]["/manage/v1/audit"]["get"]["parameters"]}
        assert audit == {
            "limit",
            "after",
            "action",
            "successful",
            "userId",
            "email",
            "since",
            "until",
            "order",
            "people",
            "names",
        }

    def test_names_are_optional_in_lists_that_have_ids(self, document: dict[str, Any]) -> None:
        for path, schema, names in (
            ("/orders", "Order", ("plantName", "moduleName")),
            ("/faults", "Fault", ("plantName", "moduleName")),
            ("/plants/{plantId}/faults", "Fault", ("plantName", "moduleName")),
            ("/webhooks/{webhookId}/dead-letters", "NamedDeadLetter", ("moduleName",)),
        ):
            parameters = {one["name"]: one["schema"] for one in document["paths"][f"/manage/v1{path}"]["get"]["parameters"]}
            assert parameters["names"] == {"type": "boolean", "default": False}
            told = document["components"]["schemas"][schema]
            assert [told["properties"][name] for name in names] == [{"type": "string"}] * len(names)
            assert not set(names) & set(told["required"])

    def test_commands_have_their_bounds_and_their_key(self, document: dict[str, Any]) -> None:
        told = document["paths"]["/manage/v1/plants/{plantId}/modules/{moduleId}/commands"]["post"]
        assert [one["name"] for one in told["parameters"] if one["in"] == "header"] == ["Idempotency-Key"]
        schemas = document["components"]["schemas"]
        assert schemas["MoveShutter"]["properties"]["position"] == {"type": "integer", "minimum": 0, "maximum": 100}
        assert len(told["requestBody"]["content"]["application/json"]["schema"]["discriminator"]["mapping"]) == 9

    def test_bodies_are_strict_and_answers_hold_no_secret_hash(self, document: dict[str, Any]) -> None:
        schemas = document["components"]["schemas"]
        for name in (
            "SetLight",
            "SetThermostat",
            "NewFault",
            "NewUser",
            "UserChange",
            "NewClient",
            "ClientChange",
            "PlantChange",
            "NewInvitation",
            "NewSubscription",
        ):
            assert schemas[name]["additionalProperties"] is False
        assert not [
            name
            for schema in schemas.values()
            for name in schema.get("properties", ())
            if "hash" in name.lower() and name not in ("hash", "lastHash")
        ]

    async def test_is_served_without_a_token(self, api: ManagementApi, document: dict[str, Any]) -> None:
        answer = await api.send("GET", "/openapi.json", token="")
        assert answer.status_code == 200
        assert answer.json() == document
        assert (await api.send("POST", "/openapi.json", token="")).status_code == 405

    async def test_what_is_answered_is_as_described(self, driven: ManagementApi, document: dict[str, Any]) -> None:
        api = driven
        user = (await api.ok("POST", "/users", {"email": "dora@example.com"}, status=201))["user"]["id"]
        await api.ok("POST", "/subscriptions", {"name": "x"}, status=201)
        lamp = f"/plants/{HOUSE.id}/modules/{LAMP.id}"
        await api.ok("POST", f"{lamp}/commands", {"do": "set light", "level": 3})
        await api.ok("POST", f"/plants/{HOUSE.id}/faults", {"fault": "offline", "seconds": 5}, status=201)
        reading = ("power", Reading(3.5, Unit.WATT, NOW - 5))
        await api.env.store.record((Report(HOUSE.id, LAMP.id, NOW, readings=(reading,)),))
        for path in (
            *("/users", f"/users/{user}", "/clients", "/plants", "/subscriptions", "/signing-keys", "/audit"),
            *(f"/plants/{HOUSE.id}/modules", lamp, f"{lamp}/readings", f"{lamp}/readings?resolution=60"),
            *("/orders", "/faults", "/drivers"),
        ):
            named = (
                path.partition("?")[0].replace(user, "{userId}").replace(HOUSE.id, "{plantId}").replace(LAMP.id, "{moduleId}")
            )
            told = document["paths"][f"/manage/v1{named}"]["get"]
            schema = told["responses"]["200"]["content"]["application/json"]["schema"]
            whole = {**schema, "components": document["components"]}
            answer = await api.ok("GET", path)
            assert answer.get("items", True), path
            assert list(Draft202012Validator(whole).iter_errors(answer)) == []
