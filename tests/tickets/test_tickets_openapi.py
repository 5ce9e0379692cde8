"""The OpenAPI document: valid by an independent validator, and in agreement with the answers."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from domogate.services.tickets import Reason
from domogate.services.tickets.permits import TicketAction
from domogate.tickets.problems import KINDS, TYPE_PREFIX
from support.ticket_setup import TicketSetup


@pytest.fixture
async def document(setup: TicketSetup) -> dict[str, Any]:
    answer = await setup.http.get("/tickets/openapi.json")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    described: dict[str, Any] = answer.json()
    return described


def check(document: dict[str, Any], name: str, body: Any) -> None:
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    Draft202012Validator(schema).validate(body)


async def test_is_valid_and_has_every_reason(document: dict[str, Any]) -> None:
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []
    told = str(document["paths"])
    assert all(f"`{TYPE_PREFIX}{reason}`" in told for reason in Reason)
    responses = document["paths"]["/tickets/redeem"]["post"]["responses"]
    assert responses.keys() >= {str(kind.status) for reason, kind in KINDS.items() if reason is not Reason.CAMERA_OFF}


async def test_answers_match_the_document(setup: TicketSetup, document: dict[str, Any]) -> None:
    for action in TicketAction:
        ticket = await setup.mint(action)
        check(document, "RedemptionRequest", {"ticket": ticket})
        check(document, "Redemption", (await setup.redeem(ticket)).json())
        check(document, "ProblemDetails", (await setup.redeem(ticket)).json())
