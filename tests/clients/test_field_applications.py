"""Applications in the field, step by step as public clients of these families do it, without an OAuth library."""

from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from support.gateway import Gateway
from support.http import KEY_HEADER, PATIENCE
from support.relying_party import PersonBrowser, Secrets

pytestmark = pytest.mark.slow

ANNA = "anna@example.com"
CLIENT = "demo-classic"


class FieldApplication:
    """It knows its id and secret, sends no scope and no PKCE, and takes the redirect apart by hand."""

    def __init__(self, gateway: Gateway, secrets: Secrets) -> None:
        self._gateway = gateway
        self._secrets = secrets
        (known,) = [client for client in gateway.ready["clients"] if client["client_id"] == CLIENT]
        self._credentials = {"client_id": CLIENT, "client_secret": known["client_secret"]}
        self._redirect_uri = known["redirect_uris"][0]
        secrets.note(known["client_secret"])
        self.http = httpx.Client(base_url=gateway.base_url, trust_env=False, verify=False, timeout=PATIENCE)

    def log_in(self, visitor: PersonBrowser) -> dict[str, Any]:
        query = f"client_id={CLIENT}&response_type=code&redirect_uri={self._redirect_uri}&state=field-application-state"
        callback = visitor.grant_access(f"{self._gateway.auth_url}/authorize?{query}")
        _, _, state = callback.partition("state=")
        assert state == "field-application-state", "some applications take the rest of the address as the state"
        code = callback.partition("code=")[2].partition("&")[0]
        return self._ask_token(grant_type="authorization_code", code=code)

    def refresh(self, refresh_token: str) -> dict[str, Any]:
        return self._ask_token(grant_type="refresh_token", refresh_token=refresh_token)

    def _ask_token(self, **form: str) -> dict[str, Any]:
        answer = self.http.post("/auth/token", data={**self._credentials, **form})
        assert answer.status_code == 200, answer.text
        tokens: dict[str, Any] = answer.json()
        self._secrets.note_tokens(tokens)
        self.http.headers = {KEY_HEADER: self._gateway.subscription_key, "Authorization": f"Bearer {tokens['access_token']}"}
        return tokens

    def get(self, path: str) -> Any:
        answer = self.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()


class TestAnApplicationInTheField:
    def test_logs_in_and_refreshes_as_it_always_did(self, gateway: Gateway, secrets: Secrets, visit: Any) -> None:
        app = FieldApplication(gateway, secrets)
        tokens = app.log_in(visit(ANNA))
        assert app.refresh(tokens["refresh_token"])["expires_on"] > tokens["expires_in"]
        app.http.close()

    def test_finds_plants_in_home_control(self, gateway: Gateway, secrets: Secrets, visit: Any) -> None:
        app = FieldApplication(gateway, secrets)
        app.log_in(visit(ANNA))
        plants = app.get("/homectl/api/v1.0/plants/")["plants"]
        assert plants
        for plant in plants:
            assert plant["country"] == gateway.estate.plant(_dashed(plant["id"])).record["country"]
            assert app.get(f"/homectl/api/v1.0/plants/{plant['id']}/topology")["plant"]["ambients"]
        app.http.close()

    def test_reads_and_sets_a_thermostat(self, gateway: Gateway, secrets: Secrets, visit: Any) -> None:
        app = FieldApplication(gateway, secrets)
        app.log_in(visit(ANNA))
        plant = app.get("/thermostat/v2.0/plants")["plants"][0]
        module = app.get(f"/thermostat/v2.0/plants/{plant['id']}/topology")["plant"]["modules"][0]
        path = (
            "/thermostat/v2.0/chronothermostat/thermoregulation/addressLocation"
            f"/plants/{plant['id']}/modules/parameter/id/value/{module['id']}"
        )
        measures = app.get(f"{path}/measures")
        assert float(measures["thermometer"]["measures"][0]["value"]) > 0
        assert float(measures["hygrometer"]["measures"][0]["value"]) > 0
        assert app.get(f"{path}/programlist")["chronothermostats"][0]["programs"]
        clock = datetime.fromisoformat(app.get(path)["chronothermostats"][0]["time"]).replace(tzinfo=None)
        until = (clock + timedelta(minutes=60)).isoformat()
        for order, mode in (
            ({"function": "HEATING", "mode": "BOOST", "activationTime": f"{clock.isoformat()}/{until}"}, "boost"),
            (
                {"function": "HEATING", "mode": "MANUAL", "setPoint": {"value": 20.5, "unit": "C"}, "activationTime": ""},
                "manual",
            ),
            ({"function": "heating", "mode": "automatic", "programs": [{"number": 1}]}, "automatic"),
        ):
            assert app.http.post(path, json=order).status_code == 200, order
            assert app.get(path)["chronothermostats"][0]["mode"] == mode
        app.http.close()


class TestAWebPage:
    def test_the_demo_has_one_without_a_secret_whose_origin_may_call(self, gateway: Gateway) -> None:
        (page,) = [client for client in gateway.ready["clients"] if client["client_id"] == "demo-page"]
        assert page["client_secret"] is None
        origin = page["redirect_uris"][0].removesuffix("/callback")
        asked = {"Origin": origin, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
        for path in ("/homeauto/v1.0/plants", "/events", "/auth/token"):
            answer = httpx.options(f"{gateway.base_url}{path}", headers=asked, trust_env=False, verify=False)
            assert answer.headers["access-control-allow-origin"] == origin


def _dashed(hexadecimal: str) -> str:
    return "-".join((hexadecimal[:8], hexadecimal[8:12], hexadecimal[12:16], hexadecimal[16:20], hexadecimal[20:]))
