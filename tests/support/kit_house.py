"""A small estate for the tests of the test kit, and the requests that these tests send."""

from collections.abc import Iterator

import pytest

from domogate.testing import Answer, Estate, Gateway

ANNA, BRUNO = "anna@example.com", "bruno@example.com"
ESTATE = Estate()
ESTATE.user(ANNA)
ESTATE.user(BRUNO)
HOME = ESTATE.plant("Home", owner=ANNA).allow(BRUNO)
KITCHEN = HOME.room("Kitchen", type="kitchen")
LAMP = KITCHEN.light("Lamp", on=True, level=80)
SPOT = KITCHEN.light("Spot", on=False, level=10)
SHUTTER = KITCHEN.shutter("Shutter", position=100)
SLOW_KEY = ESTATE.key("Slow", "slow-subscription-key-0001", rate="2/minute")


def light_path(module_id: str = LAMP.id) -> str:
    return f"/homeauto/v1.0/light/lighting/addressLocation/plants/{HOME.id}/modules/parameter/id/value/{module_id}"


def read_lamp(gateway: Gateway, user: str = ANNA, module_id: str = LAMP.id) -> Answer:
    return gateway.request("GET", light_path(module_id), headers=gateway.headers(user))


def switch_lamp(gateway: Gateway, status: str, user: str = ANNA) -> Answer:
    return gateway.request("POST", light_path(), headers=gateway.headers(user), body={"status": status})


@pytest.fixture(scope="session")
def house_gateway() -> Iterator[Gateway]:
    with Gateway.start(ESTATE) as started:
        yield started


@pytest.fixture
def gateway(house_gateway: Gateway) -> Gateway:
    house_gateway.reset()
    return house_gateway
