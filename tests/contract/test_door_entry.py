"""E9 to E11 and E15: topologies with capabilities, and tickets (Spec 2.1, 2.5, 2.11)."""

import re
import time
from typing import Any

import httpx
import jwt
import pytest

from support.gateway import Gateway
from support.http import expect_nothing, expect_ok
from support.spec_operations import E9, E10, E11, E15, Operation

KINDS = ("audiovideo unit", "gateway", "light", "lock", "activation")
ITEMS = {"E11": "locks", "E15": "audiovideounits"}
FORBIDDEN = re.compile(r"[^\w\s:.,-]")


def mint(gateway: Gateway, operation: Operation) -> tuple[httpx.Response, str, dict[str, str]]:
    who, target = gateway.case(operation)
    answer = gateway.send(operation, target, who=who)
    item = expect_ok(operation, answer)[ITEMS[operation.name]][0]
    assert item["sender"]["plant"]["id"] == target["plant"]
    return answer, item["ticket"], {**target, "who": who}


def verified(gateway: Gateway, ticket: str) -> dict[str, Any]:
    """The claims, verified by an independent library with the published keys."""
    keys = jwt.PyJWKSet.from_dict(gateway.api.http.get(f"{gateway.auth_url}/jwks").raise_for_status().json())
    header = jwt.get_unverified_header(ticket)
    key = keys[header["kid"]]
    claims: dict[str, Any] = jwt.decode(
        ticket,
        key,
        algorithms=[header["alg"]],
        options={"verify_aud": False, "require": ["iss", "aud", "sub", "exp", "iat", "jti"]},
    )
    return claims


class TestE9PlantTopology:
    def test_every_module_this_family_knows_is_shown_with_its_capabilities(self, demo: Gateway) -> None:
        for who, target in demo.cases(E9):
            plant = demo.estate.plant(target["plant"])
            body = expect_ok(E9, demo.send(E9, target, who=who))["plant"]
            assert (body["id"], body["name"]) == (plant.id, plant.record["name"])
            shown = sorted((module["id"], module["name"], module["device"]) for module in body["modules"])
            assert shown == sorted((module["id"], module["name"], module["kind"]) for module in plant.modules(*KINDS))

    def test_a_lock_can_be_commanded(self, demo: Gateway) -> None:
        who, target = demo.case(E11)
        body = expect_ok(E9, demo.send(E9, {"plant": target["plant"]}, who=who))["plant"]
        lock = next(module for module in body["modules"] if module["id"] == target["module"])
        assert any(item["canDo"]["command"]["do"] for item in lock["capabilities"])


class TestE10ListPlants:
    def test_each_user_sees_exactly_their_active_plants(self, demo: Gateway) -> None:
        for who in demo.people:
            mine = {plant.id: plant.record for plant in demo.estate.active_plants_of(who)}
            answer = demo.send(E10, who=who)
            if not mine:
                expect_nothing(E10, answer)
                continue
            plants = expect_ok(E10, answer)
            assert {plant["id"] for plant in plants} == mine.keys()
            for plant in plants:
                record = mine[plant["id"]]
                assert (plant["ownerEmail"], plant["type"]) == (record["owner"], record["type"])
                assert plant["name"] == FORBIDDEN.sub(" ", record["name"])
                if "country" in record:
                    assert plant["country"] == FORBIDDEN.sub(" ", record["country"])

    def test_a_user_without_plants_gets_204_and_no_body(self, demo: Gateway) -> None:
        expect_nothing(E10, demo.send(E10, who=demo.nobody))


@pytest.mark.parametrize("operation", [E11, E15], ids=str)
class TestE11AndE15Tickets:
    def test_the_ticket_verifies_against_the_published_keys_and_says_what_it_is_for(
        self, demo: Gateway, operation: Operation
    ) -> None:
        _, ticket, about = mint(demo, operation)
        claims = verified(demo, ticket)
        own = jwt.decode(demo.people[about["who"]].id_token, options={"verify_signature": False})
        assert claims["sub"] == own["sub"]
        assert claims["iss"] == own["iss"]
        assert claims["plant"] == about["plant"]
        assert claims["module"] == about["module"]
        assert isinstance(claims["action"], str)
        assert claims["action"]
        assert claims["aud"]

    def test_it_lives_for_sixty_seconds_from_now(self, demo: Gateway, operation: Operation) -> None:
        before = int(time.time())
        _, ticket, _ = mint(demo, operation)
        after = time.time()
        claims = jwt.decode(ticket, options={"verify_signature": False})
        assert claims["exp"] - claims["iat"] == 60
        assert before <= claims["iat"] <= after

    def test_its_type_sets_it_apart_from_every_token(self, demo: Gateway, operation: Operation) -> None:
        _, ticket, about = mint(demo, operation)
        person = demo.people[about["who"]]
        types = {jwt.get_unverified_header(token).get("typ", "JWT").lower() for token in (person.id_token, person.access_token)}
        typ = jwt.get_unverified_header(ticket)["typ"].lower()
        assert typ not in types | {"jwt", "at+jwt"}

    def test_no_two_tickets_are_the_same(self, demo: Gateway, operation: Operation) -> None:
        tickets = [verified(demo, mint(demo, operation)[1])["jti"] for _ in range(3)]
        assert len(set(tickets)) == 3

    def test_it_is_never_stored(self, demo: Gateway, operation: Operation) -> None:
        answer, _, _ = mint(demo, operation)
        assert answer.headers["cache-control"] == "no-store"
        assert "etag" not in answer.headers

    def test_a_ticket_is_no_token(self, demo: Gateway, operation: Operation) -> None:
        _, ticket, _ = mint(demo, operation)
        assert demo.send(E10, token=ticket).status_code == 401


def test_a_lock_ticket_and_a_camera_ticket_are_for_different_actions(demo: Gateway) -> None:
    actions = {verified(demo, mint(demo, operation)[1])["action"] for operation in (E11, E15)}
    assert len(actions) == 2
