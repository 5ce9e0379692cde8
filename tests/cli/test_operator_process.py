"""An operator sets up an empty gateway: first with commands beside the running process, then with the API."""

import json
import re
from collections.abc import Iterator

import httpx
import pytest

from support.gateway import Gateway, running, start
from support.http import PATIENCE
from support.people_setup import GOOD_PASSWORD
from support.small_estate import EMAIL, LIGHT, PLANT, SMALL_ESTATE

pytestmark = pytest.mark.slow

OPERATOR = "olga@example.com"
LIGHT_PATH = f"/homeauto/v1.0/light/lighting/addressLocation/plants/{PLANT}/modules/parameter/id/value/{LIGHT}"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("operated")
    with running(start("serve", folder)) as started:
        said = started.log
        assert said.index("open the link") < said.index("domogate init --data") < said.index("domogate estate import FILE")
        (folder / "estate.yaml").write_text(SMALL_ESTATE)
        started.domogate("estate", "import", str(folder / "estate.yaml"))
        yield started


@pytest.fixture(scope="module")
def operator_token(gateway: Gateway) -> str:
    """The first operator sets a password by the link; a script gets a token for the management API."""
    link = gateway.domogate("init", "--email", OPERATOR).strip()
    assert link.startswith(gateway.base_url)
    with httpx.Client(follow_redirects=True, timeout=PATIENCE) as browser:
        page = browser.get(link)
        fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.text))
        names = re.findall(r'<input[^>]*type="password"[^>]*>', page.text)
        passwords = {re.findall(r'name="([^"]+)"', name)[0]: GOOD_PASSWORD for name in names}
        action = re.search(r'<form[^>]*action="([^"]*)"', page.text)
        assert action is not None
        answer = browser.post(str(page.url.join(action[1])), data=fields | passwords, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/console")
    gateway.domogate("client", "add", "script", "--scope", "gateway.manage")
    return gateway.domogate("token", "issue", OPERATOR, "--client", "script", "--kind", "access").strip()


def manage(gateway: Gateway, method: str, path: str, token: str, body: object = None) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"}
    return httpx.request(method, f"{gateway.base_url}/manage/v1{path}", headers=headers, json=body, timeout=PATIENCE)


def read_light(gateway: Gateway, token: str, key: str = "small-key-0123456789") -> int:
    headers = {"Ocp-Apim-Subscription-Key": key, "Authorization": f"Bearer {token}"}
    return httpx.get(gateway.base_url + LIGHT_PATH, headers=headers, timeout=PATIENCE).status_code


class TestAnOperator:
    def test_they_manage_over_http(self, gateway: Gateway, operator_token: str) -> None:
        users = manage(gateway, "GET", "/users", operator_token)
        assert users.status_code == 200
        assert {user["email"]: user["operator"] for user in users.json()["items"]}[OPERATOR] is True

    def test_a_key_issued_and_revoked_counts_from_the_next_request(self, gateway: Gateway, operator_token: str) -> None:
        token = gateway.domogate("token", "issue", EMAIL, "--client", "small-app").strip()
        made = manage(gateway, "POST", "/subscriptions", operator_token, {"name": "new"}).json()
        assert read_light(gateway, token, made["key"]) == 200
        manage(gateway, "DELETE", f"/subscriptions/{made['subscription']['id']}", operator_token)
        assert read_light(gateway, token, made["key"]) == 401

    def test_a_plant_shared_and_withdrawn_counts_from_the_next_request(self, gateway: Gateway, operator_token: str) -> None:
        token = gateway.domogate("token", "issue", OPERATOR, "--client", "small-app").strip()
        assert read_light(gateway, token) == 403
        assert manage(gateway, "POST", f"/plants/{PLANT}/invitations", operator_token, {"email": OPERATOR}).json() == {
            "outcome": "member",
            "link": None,
        }
        assert read_light(gateway, token) == 200
        gateway.domogate("plant", "withdraw", PLANT, OPERATOR)
        assert read_light(gateway, token) == 403
        gateway.domogate("plant", "allow", "Small house", OPERATOR)
        assert read_light(gateway, token) == 200
        gateway.domogate("plant", "remove", PLANT)
        assert read_light(gateway, token) == 404
        manage(gateway, "PATCH", f"/plants/{PLANT}", operator_token, {"status": "active"})
        assert read_light(gateway, token) == 200

    def test_a_users_applications_are_thrown_out_at_once(self, gateway: Gateway) -> None:
        token = gateway.domogate("token", "issue", EMAIL, "--client", "small-app").strip()
        assert read_light(gateway, token) == 200
        gateway.domogate("user", "logout", EMAIL, "--applications")
        assert read_light(gateway, token) == 401

    def test_devices_are_commanded_and_what_became_of_it_is_told(self, gateway: Gateway, operator_token: str) -> None:
        module = f"/plants/{PLANT}/modules/{LIGHT}"
        told = manage(gateway, "POST", f"{module}/commands", operator_token, {"do": "set light", "on": True, "level": 7})
        assert (told.status_code, told.json()["state"]) == (200, "confirmed")
        assert manage(gateway, "GET", module, operator_token).json()["state"]["level"] == 7
        shown = json.loads(gateway.domogate("order", "show", told.json()["id"], "--json"))
        assert (shown["state"], shown["command"]["level"]) == ("confirmed", 7)
        drivers = manage(gateway, "GET", "/drivers", operator_token).json()["items"]
        assert {driver["name"]: driver["condition"] for driver in drivers}["simulator"] == "running"

    def test_a_fault_injected_by_a_command_holds_once_it_has_returned(self, gateway: Gateway, operator_token: str) -> None:
        token = gateway.domogate("token", "issue", EMAIL, "--client", "small-app").strip()
        assert read_light(gateway, token) == 200
        gateway.domogate("fault", "inject", LIGHT, "offline", "--for", "10m")
        assert read_light(gateway, token) == 404
        absence = manage(gateway, "GET", f"/plants/{PLANT}/modules/{LIGHT}", operator_token).json()["absence"]
        assert absence["why"] == "injected"
        gateway.domogate("fault", "clear", "Small house")
        assert read_light(gateway, token) == 200

    def test_a_former_operator_is_refused_once_the_command_has_returned(self, gateway: Gateway, operator_token: str) -> None:
        gateway.domogate("user", "operator", EMAIL)
        gateway.domogate("user", "operator", OPERATOR, "no")
        try:
            assert manage(gateway, "GET", "/users", operator_token).status_code == 403
        finally:
            gateway.domogate("user", "operator", OPERATOR, "yes")
        assert manage(gateway, "GET", "/users", operator_token).status_code == 200

    def test_the_audit_log_holds_and_names_nobody(self, gateway: Gateway, operator_token: str) -> None:
        assert manage(gateway, "GET", "/audit?limit=200", operator_token).status_code == 200
        gateway.domogate("audit", "verify")
        exported = gateway.domogate("audit", "export")
        assert "password set" in exported
        for name in (EMAIL, OPERATOR, operator_token):
            assert name not in exported

    def test_the_management_token_opens_no_family_and_no_other_opens_the_management(
        self, gateway: Gateway, operator_token: str
    ) -> None:
        assert read_light(gateway, operator_token) == 401
        other = gateway.domogate("token", "issue", OPERATOR, "--client", "small-app", "--kind", "access").strip()
        assert manage(gateway, "GET", "/users", other).status_code == 403
