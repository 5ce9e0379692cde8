"""A person gives an application access to one of two homes, over real HTTP: the other home is as if of other people."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from domogate.domain.ids import HEX32, Id, new_id
from support.certification import STRICT, Browser, Login, RelyingParty
from support.gateway import QUICK, Gateway, running, serve_estate
from support.http import KEY_HEADER, expect_ok, expect_refusal
from support.spec_operations import ALL_SCOPES, E6, E7, E8, E11, not_your_plant
from support.stream_reader import StreamReader, data_of

pytestmark = pytest.mark.slow

KEY, PASSWORD = "key-of-the-homes-4711", "a good long password"
ANNA, BRUNO = "anna@example.com", "bruno@example.com"
SCOPES = "openid offline_access topology.read light.read comfort.read audiovideoterminal.read"
HOMES = {name: {"plant": str(new_id()), "lamp": str(new_id()), "lock": str(new_id())} for name in ("City", "Seaside", "Other")}
CITY, SEASIDE, OTHER = HOMES.values()


def home_record(name: str, owner: str) -> dict[str, Any]:
    ids = HOMES[name]
    lamp = {"id": ids["lamp"], "name": "Lamp", "kind": "light"}
    lock = {"id": ids["lock"], "name": "Door", "kind": "lock"}
    plant = {"id": ids["plant"], "name": name, "type": "house", "owner": owner, "driver": "simulator"}
    return {**plant, "modules": [lamp, lock]}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    document = {
        "users": [{"email": mail, "password": PASSWORD} for mail in (ANNA, BRUNO)],
        "subscriptions": [{"name": "homes", "key": KEY}],
        "clients": [{**STRICT.to_estate(), "scopes": list(ALL_SCOPES)}],
        "plants": [home_record("City", ANNA), home_record("Seaside", ANNA), home_record("Other", BRUNO)],
    }
    settings = {**QUICK, "DOMOGATE_SIMULATOR_TICK": "3600", "DOMOGATE_WEBHOOK_NETWORKS": "127.0.0.0/8"}
    with running(serve_estate(document, tmp_path_factory.mktemp("chosen"), settings)) as started:
        started.ready |= {"subscription_key": KEY, "users": []}
        yield started


@pytest.fixture(scope="module")
def rp(gateway: Gateway) -> RelyingParty:
    return RelyingParty(gateway, STRICT)


@pytest.fixture(scope="module")
def login(gateway: Gateway, rp: RelyingParty) -> Login:
    """The application may use the home at the seaside."""
    return rp.log_in(Browser(gateway, ANNA, PASSWORD), plants=[SEASIDE["plant"]], scope=SCOPES)


def target(home: dict[str, str], module: str = "lamp") -> dict[str, str]:
    return {"plant": home["plant"], "module": home[module]}


def call(gateway: Gateway, token: str, method: str, path: str, body: Any = None) -> httpx.Response:
    headers = {KEY_HEADER: KEY, "Authorization": f"Bearer {token}"}
    return gateway.api.http.request(method, path, headers=headers, json=body)


def without_ids(answer: httpx.Response, home: dict[str, str]) -> Any:
    """The body, without the ids of the plant and of the request."""
    plain = answer.text.replace(home["plant"], "PLANT").replace(HEX32.print_id(Id(home["plant"])), "PLANT")
    return plain.replace(answer.headers["x-request-id"], "REQUEST")


def check_only_seaside(gateway: Gateway, id_token: str) -> None:
    listed = gateway.api.send(E6, {}, token=id_token)
    expect_ok(E6, listed)
    assert [plant["name"] for plant in listed.json()["plants"]] == ["Seaside"]
    for operation, module in ((E7, "lamp"), (E8, "lamp"), (E11, "lock")):
        expect_ok(operation, gateway.api.send(operation, target(SEASIDE, module), token=id_token))
        own, foreign = (gateway.api.send(operation, target(home, module), token=id_token) for home in (CITY, OTHER))
        for answer in (own, foreign):
            expect_refusal(operation, answer, not_your_plant(operation))
        assert without_ids(own, CITY) == without_ids(foreign, OTHER), "the application cannot tell them apart"


class TestAChosenHome:
    def test_is_the_only_one_in_lists_and_operations(self, gateway: Gateway, login: Login) -> None:
        check_only_seaside(gateway, login.id_token)

    def test_is_the_only_one_after_a_refresh(self, gateway: Gateway, rp: RelyingParty) -> None:
        login = rp.log_in(Browser(gateway, ANNA, PASSWORD), plants=[SEASIDE["plant"]], scope=SCOPES)
        refreshed = rp.refresh(login.refresh_token).json()
        check_only_seaside(gateway, refreshed["id_token"])

    def test_is_the_only_one_without_a_new_consent(self, gateway: Gateway, rp: RelyingParty) -> None:
        browser, scope = Browser(gateway, ANNA, PASSWORD), SCOPES.replace("offline_access ", "")
        rp.log_in(browser, plants=[SEASIDE["plant"]], scope=scope, prompt="consent")
        browser.seen.clear()
        again = rp.log_in(browser, scope=scope)
        assert browser.seen == []
        check_only_seaside(gateway, again.id_token)

    def test_is_the_only_one_in_streams(self, gateway: Gateway, login: Login) -> None:
        for home in (CITY, OTHER):
            answer = call(gateway, login.access_token, "GET", f"/events?plant={home['plant']}")
            assert answer.status_code == 403
        reader = StreamReader(gateway, login.access_token, query="?present=true")
        shown: set[str] = set()

        def read(event: Any) -> bool:
            if event.event == "present":
                shown.add(data_of(event)["moduleId"])
            return bool(event.event == "ready")

        reader.wait_for(read)
        reader.close()
        assert shown == {SEASIDE["lamp"]}

    def test_is_the_only_one_for_webhooks(self, gateway: Gateway, login: Login) -> None:
        statuses = {
            name: call(
                gateway, login.id_token, "POST", "/webhooks", {"plantId": home["plant"], "url": "http://127.0.0.1:9/"}
            ).status_code
            for name, home in HOMES.items()
        }
        assert statuses == {"City": 403, "Seaside": 201, "Other": 403}

    def test_a_home_that_the_person_gets_later_is_not_included(self, gateway: Gateway, login: Login, rp: RelyingParty) -> None:
        both = [CITY["plant"], SEASIDE["plant"]]
        everything = rp.log_in(Browser(gateway, ANNA, PASSWORD), scope=SCOPES, prompt="consent", plants=both)
        gateway.domogate("plant", "allow", OTHER["plant"], ANNA)
        try:
            check = {"Seaside": login, "City, Other, Seaside": everything}
            for names, one in check.items():
                listed = gateway.api.send(E6, {}, token=one.id_token).json()["plants"]
                assert ", ".join(sorted(plant["name"] for plant in listed)) == names
        finally:
            gateway.domogate("plant", "withdraw", OTHER["plant"], ANNA)

    def test_is_shown_to_operators(self, gateway: Gateway, login: Login) -> None:
        shown = json.loads(gateway.domogate("user", "show", ANNA, "--json"))
        assert "Seaside" in {grant["plants"] for grant in shown["grants"]}
