"""A reset leaves nothing: after any actions and a reset, the gateway answers as after its start."""

import random
import socket
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from domogate.testing import Answer, Estate, Gateway, Refused
from support.http import PATIENCE
from support.kit_house import (
    ANNA,
    BRUNO,
    ESTATE,
    HOME,
    KITCHEN,
    LAMP,
    SHUTTER,
    SLOW_KEY,
    SPOT,
    light_path,
    read_lamp,
    switch_lamp,
)

pytestmark = pytest.mark.slow

Action = Callable[[Gateway, random.Random], object]
MANAGE = "/manage/v1"


def manage(gateway: Gateway, method: str, path: str, body: object = None) -> Answer:
    headers = {"Authorization": f"Bearer {gateway.ready['management_token']}"}
    return gateway.request(method, MANAGE + path, headers=headers, body=body)


def list_of(gateway: Gateway, path: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = manage(gateway, "GET", path).json()["items"]
    return items


def _use_up_the_slow_key(gateway: Gateway, _random: random.Random) -> None:
    headers = {**gateway.headers(ANNA), "Ocp-Apim-Subscription-Key": SLOW_KEY}
    for _ in range(4):
        gateway.request("GET", light_path(), headers=headers)


def _guess_passwords(gateway: Gateway, _random: random.Random) -> None:
    form = {"grant_type": "refresh_token", "refresh_token": "wrong", "client_id": "test-kit", "client_secret": "wrong"}
    assert httpx.post(f"{gateway.auth_url}/token", data=form, timeout=PATIENCE).status_code >= 400


def _open_a_stream(gateway: Gateway, _random: random.Random) -> None:
    headers = gateway.headers(ANNA, kind="access")
    with httpx.stream("GET", f"{gateway.base_url}/events?present=true", headers=headers, timeout=PATIENCE) as answer:
        answer.read() if answer.status_code != 200 else next(answer.iter_lines())  # A fault may be injected.


ACTIONS: dict[str, Action] = {
    "command": lambda gateway, chance: switch_lamp(gateway, chance.choice(["on", "off"])),
    "move a shutter": lambda gateway, _: manage(
        gateway, "POST", f"/plants/{HOME.id}/modules/{SHUTTER.id}/commands", {"do": "move shutter", "position": 0}
    ),
    "status fault": lambda gateway, chance: gateway.fault(chance.choice([401, 429, 500, 503])),
    "offline": lambda gateway, chance: gateway.fault("offline", module=chance.choice([LAMP, SPOT])),
    "tokens": lambda gateway, _: gateway.tokens(ANNA, plants=[HOME]),
    "advance": lambda gateway, chance: gateway.advance(chance.choice([1, 60, 7_200])),
    "delete a user": lambda gateway, _: [
        manage(gateway, "DELETE", f"/users/{user['id']}") for user in list_of(gateway, "/users") if user["email"] == BRUNO
    ],
    "rename a plant": lambda gateway, _: manage(gateway, "PATCH", f"/plants/{HOME.id}", {"name": "Other"}),
    "new user": lambda gateway, chance: manage(gateway, "POST", "/users", {"email": f"u{chance.random()}@example.com"}),
    "new key": lambda gateway, _: manage(gateway, "POST", "/subscriptions", {"name": "More"}),
    "slow key": _use_up_the_slow_key,
    "wrong secrets": _guess_passwords,
    "stream": _open_a_stream,
}


def observe(gateway: Gateway) -> dict[str, Any]:
    """Everything that a client can see and that does not change with time."""
    slow = {**gateway.headers(ANNA), "Ocp-Apim-Subscription-Key": SLOW_KEY}
    return {
        "estate": manage(gateway, "GET", "/estate").body,
        "users": sorted(user["email"] for user in list_of(gateway, "/users")),
        "keys": sorted(key["name"] for key in list_of(gateway, "/subscriptions")),
        "faults": gateway.faults(),
        "injections": list_of(gateway, "/faults"),
        "commands": gateway.commands(),
        "orders": list_of(gateway, "/orders"),
        "lamp": read_lamp(gateway).json(),
        "spot": read_lamp(gateway, module_id=SPOT.id).json(),
        "topology": gateway.request(
            "GET", f"/doorentry-a/v1.0/plants/{HOME.id}/topology", headers=gateway.headers(BRUNO)
        ).json(),
        "slow key": [gateway.request("GET", light_path(), headers=slow).status for _ in range(2)],
    }


class TestReset:
    @pytest.mark.parametrize("seed", range(6))
    def test_any_actions_leave_nothing(self, gateway: Gateway, seed: int) -> None:
        before = observe(gateway)
        chance = random.Random(seed)
        for name in chance.choices(list(ACTIONS), k=8):
            ACTIONS[name](gateway, chance)
        gateway.reset()
        assert observe(gateway) == before

    @pytest.mark.parametrize(
        "name", ["move a shutter", "offline", "delete a user", "rename a plant", "new user", "new key", "slow key"]
    )
    def test_the_observation_notices_the_action(self, gateway: Gateway, name: str) -> None:
        before = observe(gateway)
        gateway.reset()
        ACTIONS[name](gateway, random.Random(1))
        with pytest.raises((AssertionError, Refused)):
            assert observe(gateway) == before

    def test_tokens_of_before_are_refused_and_the_tokens_of_the_ready_file_stay(self, gateway: Gateway) -> None:
        headers = gateway.headers(ANNA)
        gateway.reset()
        assert gateway.request("GET", light_path(), headers=headers).status == 401
        token = next(user["id_token"] for user in gateway.ready["users"] if user["email"] == ANNA)
        assert gateway.request("GET", light_path(), headers={**headers, "Authorization": f"Bearer {token}"}).status == 200

    def test_the_traffic_and_the_time_are_reset(self, gateway: Gateway) -> None:
        read_lamp(gateway)
        gateway.advance(10 * 86_400)
        later = datetime.fromisoformat(gateway.now())
        gateway.reset()
        assert gateway.traffic() == []
        assert later - datetime.fromisoformat(gateway.now()) > timedelta(days=5)

    def test_an_open_stream_ends(self, gateway: Gateway) -> None:
        headers = gateway.headers(ANNA, kind="access")
        with httpx.stream("GET", f"{gateway.base_url}/events?present=true", headers=headers, timeout=PATIENCE) as answer:
            lines = answer.iter_lines()
            next(lines)
            gateway.reset()
            for _ in lines:
                pass

    def test_a_request_that_is_still_delayed_is_aborted_and_leaves_nothing(self, gateway: Gateway) -> None:
        headers = gateway.headers(ANNA)
        gateway.fault("slow", ms=600_000)
        with socket.create_connection(("127.0.0.1", urlsplit(gateway.base_url).port or 0)) as waiting:
            lines = [f"GET {light_path()} HTTP/1.1", "Host: x", *(f"{name}: {value}" for name, value in headers.items())]
            waiting.sendall("\r\n".join([*lines, "", ""]).encode())
            while [fault["applied"] for fault in gateway.faults()] != [1]:
                pass
            gateway.reset()
            with suppress(ConnectionError):
                assert waiting.recv(1) == b""
        assert gateway.traffic() == []
        assert read_lamp(gateway).status == 200

    def test_a_reset_returns_to_the_replaced_estate(self, gateway: Gateway) -> None:
        other = Estate()
        other.user("carla@example.com")
        plant = other.plant("Office", owner="carla@example.com", type="office")
        lamp = plant.room("Desk").light("Desk lamp", on=True)
        gateway.load(other)
        try:
            gateway.fault("offline", module=lamp)
            gateway.reset()
            path = light_path(lamp.id).replace(HOME.id, plant.id)
            assert gateway.request("GET", path, headers=gateway.headers("carla@example.com")).status == 200
        finally:
            gateway.load(ESTATE)
        assert read_lamp(gateway).status == 200
        assert KITCHEN.id.encode() in manage(gateway, "GET", "/estate").body
