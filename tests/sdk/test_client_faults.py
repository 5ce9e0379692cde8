"""The errors of a real gateway have the class of their fault, in all families and on our own surfaces."""

from collections.abc import Callable
from typing import Any

import pytest

from domogate_client import Client, Tokens, faults
from domogate_client.errors import DomogateError, NotFound, Refused
from domogate_client.models.homeauto import LightOrder, SceneOrder
from support.gateway import Gateway
from support.sdk_calls import ANNA, HOSPITAL, HOUSE, LAMP, SCENE
from support.store_access import simulated

NOWHERE = "00000000-0000-4000-8000-000000000000"

Act = Callable[[Client], Any]


def client_of(demo: Gateway, **changes: str) -> Client:
    anna = demo.people[ANNA]
    tokens = Tokens(access_token=anna.access_token, id_token=changes.get("id_token", anna.id_token))
    return Client(demo.base_url, changes.get("key", demo.subscription_key), tokens=tokens)


@pytest.mark.slow
class TestFaults:
    @pytest.mark.parametrize(
        ("act", "kind", "status"),
        [
            (lambda client: client.homectl.read_topology(NOWHERE), faults.NoSuchPlant, 404),
            (lambda client: client.homeauto.read_topology(NOWHERE), faults.NoSuchPlant, 404),
            (lambda client: client.homeauto.read_topology("x"), faults.MalformedId, 404),
            (lambda client: client.homeauto.read_topology(HOSPITAL), faults.NotYourPlant, 403),
            (lambda client: client.homeauto.read_light(HOUSE, SCENE), faults.NoSuchModule, 404),
            (lambda client: client.thermostat.read_chronothermostat(HOSPITAL, NOWHERE), faults.NotYourPlant, 401),
            (lambda client: client.homeauto.set_light(HOUSE, LAMP, LightOrder(level=101)), faults.ValueOutOfRange, 400),
            (lambda client: client.homeauto.run_scene(HOUSE, LAMP, SceneOrder()), faults.NoSuchModule, 404),
            (lambda client: client.emergency_lighting.list_spare_parts("nothing"), faults.UnknownReference, 400),
            (lambda client: client.home.get_me(), faults.ScopeMissing, 403),
        ],
    )
    def test_each_error_has_its_class_code_text_and_request_id(
        self, demo: Gateway, act: Act, kind: type[Refused], status: int
    ) -> None:
        with client_of(demo) as client, pytest.raises(Refused) as raised:
            act(client)
        assert type(raised.value) is kind
        assert raised.value.status == status
        assert raised.value.message
        assert raised.value.request_id

    def test_a_device_that_is_offline_differs_from_a_device_that_does_not_exist(self, demo: Gateway) -> None:
        with client_of(demo) as client, simulated(demo, LAMP, "offline"):
            with pytest.raises(faults.DeviceOffline) as raised:
                client.homeauto.set_light(HOUSE, LAMP, LightOrder(status="on"))
            assert not isinstance(raised.value, NotFound)
        assert raised.value.status == 404

    def test_the_key_and_the_token(self, demo: Gateway) -> None:
        with client_of(demo, key="wrong") as client, pytest.raises(faults.KeyRefused):
            client.homeauto.list_plants()
        with client_of(demo, id_token="wrong") as client, pytest.raises(faults.TokenRefused):
            client.homeauto.list_plants()


class TestClasses:
    def test_there_is_one_for_each_fault_and_they_have_one_base(self) -> None:
        assert {code: kind.code for code, kind in faults.BY_CODE.items()} == {code: code for code in faults.BY_CODE}
        assert all(issubclass(kind, Refused) for kind in faults.BY_CODE.values())
        assert issubclass(Refused, DomogateError)
