"""The gateway of the test kit: estates, tokens, time, commands and traffic."""

import json
import sys
from contextlib import suppress
from datetime import datetime

import httpx
import pytest

from domogate.testing import Estate, Gateway, GatewayFailed, Refused
from domogate_client import Retries
from domogate_client.faults import ScopeMissing, TooManyRequests
from domogate_client.models.commands import SetLight
from support.http import PATIENCE
from support.kit_house import ANNA, BRUNO, HOME, LAMP, light_path, read_lamp, switch_lamp

pytestmark = pytest.mark.slow


class TestTokens:
    def test_tokens_have_only_the_asked_scopes(self, gateway: Gateway) -> None:
        headers = gateway.headers(ANNA, scopes=["light.read"])
        assert gateway.request("GET", light_path(), headers=headers).status == 200
        assert gateway.request("POST", light_path(), headers=headers, body={"status": "off"}).status == 401

    def test_tokens_are_only_for_the_asked_plants(self, gateway: Gateway) -> None:
        assert gateway.request("GET", light_path(), headers=gateway.headers(ANNA, plants=[])).status in (401, 403)
        assert gateway.request("GET", light_path(), headers=gateway.headers(ANNA, plants=[HOME])).status == 200

    def test_a_token_expires_when_time_moves(self, gateway: Gateway) -> None:
        headers = gateway.headers(ANNA, seconds=36_000)
        gateway.advance(18_000)
        assert gateway.request("GET", light_path(), headers=headers).status == 200
        gateway.advance(18_000)
        assert gateway.request("GET", light_path(), headers=headers).status == 401

    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            ({"user": "nobody@example.com"}, "no user"),
            ({"user": ANNA, "scopes": ["everything"]}, "may not have these scopes: everything"),
            ({"user": ANNA, "client": "none"}, "no client"),
            ({"user": ANNA, "plants": ["00000000-0000-4000-8000-000000000000"]}, "no plant"),
        ],
    )
    def test_a_wrong_request_for_tokens_is_refused(self, gateway: Gateway, wrong: dict[str, str], says: str) -> None:
        with pytest.raises(Refused, match=says):
            gateway.control("POST", "/tokens", wrong)

    def test_the_test_api_refuses_everybody_but_operators(self, gateway: Gateway) -> None:
        url = f"{gateway.base_url}/manage/v1/testing/reset"
        assert httpx.post(url, timeout=PATIENCE).status_code == 401
        token = gateway.tokens(ANNA).access_token
        assert httpx.post(url, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE).status_code == 403


class TestClients:
    def test_a_client_uses_the_tokens_of_the_user(self, gateway: Gateway) -> None:
        with gateway.client(ANNA) as client:
            client.home.command_module(HOME.id, LAMP.id, SetLight(on=False))
            assert client.homeauto.read_light(HOME.id, LAMP.id).lights[0].status == "off"
        assert gateway.traffic(operation="home.commandModule")[0]["status"] == 200

    async def test_an_async_client_has_only_the_asked_scopes_and_settings(self, gateway: Gateway) -> None:
        gateway.fault(429, operation="E8", times=1)
        async with gateway.async_client(ANNA, scopes=["light.read"], retries=Retries(attempts=1)) as client:
            with pytest.raises(TooManyRequests):
                await client.homeauto.read_light(HOME.id, LAMP.id)
            with pytest.raises(ScopeMissing):
                await client.home.get_me()

    def test_without_the_package_the_error_names_it(self, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "domogate_client", None)
        with pytest.raises(ImportError, match="domogate-client"):
            gateway.client(ANNA)

    def test_the_tokens_of_the_ready_file_are_for_the_home_api_too(self, gateway: Gateway) -> None:
        token = next(user["access_token"] for user in gateway.ready["users"] if user["email"] == ANNA)
        assert gateway.request("GET", "/home/v1/homes", headers={"Authorization": f"Bearer {token}"}).status == 200


class TestTime:
    def test_it_moves_by_the_given_seconds(self, gateway: Gateway) -> None:
        before = datetime.fromisoformat(gateway.now())
        gateway.advance(3_600)
        assert (datetime.fromisoformat(gateway.now()) - before).total_seconds() >= 3_600

    def test_the_gateway_works_after_many_leaps(self, gateway: Gateway) -> None:
        for seconds in (0.5, 5, 60, 3_600, 86_400, 30 * 86_400):
            gateway.advance(seconds)
            assert switch_lamp(gateway, "off").status == 200
            assert read_lamp(gateway).json()["lights"][0]["status"] == "off"


class TestCommands:
    def test_it_shows_what_was_commanded_and_by_whom(self, gateway: Gateway) -> None:
        switch_lamp(gateway, "off")
        switch_lamp(gateway, "on", BRUNO)
        commands = gateway.commands(module=LAMP)
        assert [(one["command"]["do"], one["command"]["on"], one["state"]) for one in commands] == [
            ("set light", False, "confirmed"),
            ("set light", True, "confirmed"),
        ]
        assert len({one["userId"] for one in commands}) == 2
        assert gateway.commands(plant="00000000-0000-4000-8000-000000000000") == []


class TestTraffic:
    def test_it_shows_requests_and_answers_without_secrets(self, gateway: Gateway) -> None:
        tokens = gateway.tokens(ANNA)
        headers = {"Ocp-Apim-Subscription-Key": gateway.subscription_key, "Authorization": f"Bearer {tokens.id_token}"}
        gateway.request("POST", light_path(), headers=headers, body={"status": "off"})
        (exchange,) = gateway.traffic(operation="X2")
        assert (exchange["method"], exchange["path"], exchange["status"]) == ("POST", light_path(), 200)
        assert exchange["requestBody"] == '{"status":"off"}'
        assert exchange["requestHeaders"]["authorization"] == "[redacted]"
        assert not {tokens.id_token, gateway.subscription_key} & set(str(gateway.traffic()).split("'"))

    def test_it_takes_the_names_of_the_clients_and_the_ids_of_the_contract(self, gateway: Gateway) -> None:
        read_lamp(gateway)
        (exchange,) = gateway.traffic()
        assert exchange["operation"] == "homeauto.readLight"
        assert gateway.traffic(operation="homeauto.readLight") == gateway.traffic(operation="E8") == [exchange]
        assert gateway.traffic(operation="X2") == []

    def test_an_operation_that_does_not_exist_is_refused_with_the_list_of_operations(self, gateway: Gateway) -> None:
        with pytest.raises(Refused, match=r"422: There is no operation 'readLights'.*The operations are: .*\(E20\)"):
            gateway.traffic(operation="readLights")

    def test_bodies_of_the_login_are_not_recorded(self, gateway: Gateway) -> None:
        form = {"grant_type": "refresh_token", "refresh_token": "a-secret-refresh-token", "client_id": "test-kit"}
        httpx.post(f"{gateway.auth_url}/token?hint=a-secret-hint", data=form, timeout=PATIENCE)
        (exchange,) = gateway.traffic()
        assert (exchange["requestBody"], exchange["query"]) == ("[redacted]", "[redacted]")
        assert "a-secret" not in str(exchange)

    def test_it_names_the_fault(self, gateway: Gateway) -> None:
        gateway.fault("drop", times=1)
        with pytest.raises(OSError, match="closed"):
            read_lamp(gateway)
        (exchange,) = gateway.traffic(operation="E8")
        assert (exchange["fault"], exchange["status"]) == ("drop", None)

    @pytest.mark.parametrize("fault", [503, "drop"])
    def test_it_shows_what_a_request_sent_that_got_a_fault(self, gateway: Gateway, fault: int | str) -> None:
        headers = gateway.headers(ANNA)
        gateway.fault(fault, times=1)
        with suppress(OSError):
            gateway.request("POST", light_path(), headers=headers, body={"status": "off"})
        (exchange,) = gateway.traffic(operation="X2")
        assert (exchange["fault"], exchange["requestBody"]) == (str(fault), '{"status":"off"}')

    def test_a_body_with_many_levels_is_recorded_as_it_was_sent(self, gateway: Gateway) -> None:
        topology = gateway.request("GET", f"/homeauto/v1.0/plants/{HOME.id}/topology", headers=gateway.headers(ANNA))
        (exchange,) = gateway.traffic()
        assert json.loads(exchange["answerBody"]) == topology.json()

    def test_a_body_with_too_many_levels_is_refused_and_recorded(self, gateway: Gateway) -> None:
        body, url = b"[" * 5_000, f"{gateway.base_url}{light_path()}"
        answer = httpx.post(url, content=body, headers=gateway.headers(ANNA), timeout=PATIENCE)
        (exchange,) = gateway.traffic()
        assert (answer.status_code, exchange["status"], exchange["requestBody"]) == (400, 400, body.decode())


class TestEstates:
    def test_a_wrong_estate_is_refused_with_its_mistakes_and_the_old_one_stays(self, gateway: Gateway) -> None:
        wrong = Estate()
        wrong.plant("Nobody's", owner="nobody@example.com")
        with pytest.raises(Refused, match=r"nobody@example\.com"):
            gateway.load(wrong)
        assert read_lamp(gateway).status == 200

    def test_the_gateway_does_not_start_with_a_wrong_estate_and_says_why(self) -> None:
        wrong = Estate()
        wrong.plant("Nobody's", owner="nobody@example.com")
        with pytest.raises(GatewayFailed, match=r"nobody@example\.com"), Gateway.start(wrong):
            pass

    def test_two_devices_rooms_or_plants_of_one_name_are_refused(self) -> None:
        estate = Estate()
        plant = estate.plant("Home", owner=ANNA)
        plant.room("Kitchen").light("Lamp")
        with pytest.raises(ValueError, match=r"'Home' already has a device with the name 'Lamp'"):
            plant.room("Hall").plug("Lamp")
        with pytest.raises(ValueError, match=r"'Home' already has a room with the name 'Hall'"):
            plant.room("Hall")
        with pytest.raises(ValueError, match=r"the estate already has a plant with the name 'Home'"):
            estate.plant("Home", owner=ANNA)

    def test_ids_are_the_same_in_every_run(self) -> None:
        plant = Estate().plant("Home", owner=ANNA)
        assert plant.id == HOME.id
        assert plant.room("Kitchen").light("Lamp").id == LAMP.id
