"""An operator takes scopes away from an application, over real HTTP: they end at once for every live grant (Decision 0055)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from httpx_sse import ServerSentEvent

from support.certification import (
    ANNA,
    STRICT,
    Browser,
    Operator,
    RelyingParty,
    check_oauth_error,
    check_token_response,
)
from support.extension_operations import X2
from support.gateway import Gateway
from support.http import KEY_HEADER, expect_ok, expect_refusal
from support.receivers import ReceivedRequest, ThreadedReceiver
from support.spec_operations import E1, E7, E8, Target
from support.stream_reader import StreamReader, data_of

pytestmark = pytest.mark.slow

HOME = "openid offline_access topology.read light.read"


@pytest.fixture
def target(identity: Gateway) -> Target:
    """A light of Anna."""
    plant = identity.estate.find_plants(lambda it: it.owner == ANNA and bool(it.modules("light")))[0]
    light = next(module for module in plant.modules("light") if not identity.estate.unreachable(module))
    return {"plant": plant.id, "module": light["id"]}


@contextmanager
def without(operator: Operator, scope: str) -> Iterator[None]:
    """An operator takes the scope away from the application, and gives it back."""
    path = f"/clients/{STRICT.id}"
    scopes = operator.send("GET", path)["scopes"]
    operator.send("PATCH", path, {"scopes": [one for one in scopes if one != scope]})
    try:
        yield
    finally:
        operator.send("PATCH", path, {"scopes": scopes})


def dim(gateway: Gateway, target: Target, level: int) -> None:
    """By another application."""
    body = json.dumps({"status": "on", "level": level}).encode()
    answer = gateway.send(X2, target, who=ANNA, body=body)
    assert answer.status_code == 200, answer.text


def modules_until_ready(reader: StreamReader) -> set[str]:
    """The modules whose present state the stream shows at its start."""
    shown: set[str] = set()

    def read(event: ServerSentEvent) -> bool:
        if event.event == "present":
            shown.add(data_of(event)["moduleId"])
        return event.event == "ready"

    reader.wait_for(read)
    return shown


def levels_in(got: list[ReceivedRequest]) -> list[int]:
    return [one.json["data"]["state"]["level"] for one in got if one.json["data"]["kind"] == "light"]


class TestAScopeThatIsTakenAway:
    def test_is_gone_from_tokens_that_exist(
        self, identity: Gateway, rp: RelyingParty, operator: Operator, target: Target
    ) -> None:
        login = rp.log_in(Browser(identity), scope=HOME)
        expect_ok(E8, identity.api.send(E8, target, token=login.id_token))
        with without(operator, "light.read"):
            expect_refusal(E8, identity.api.send(E8, target, token=login.id_token), 401)
            expect_ok(E7, identity.api.send(E7, target, token=login.id_token))
        expect_ok(E8, identity.api.send(E8, target, token=login.id_token))

    def test_is_gone_from_refreshed_tokens(
        self, identity: Gateway, rp: RelyingParty, operator: Operator, target: Target
    ) -> None:
        login = rp.log_in(Browser(identity), scope=HOME)
        with without(operator, "light.read"):
            fewer = check_token_response(rp.refresh(login.refresh_token, scope=HOME))
            assert set(fewer["scope"].split()) == set(HOME.split()) - {"light.read"}
            expect_refusal(E8, identity.api.send(E8, target, token=fewer["id_token"]), 401)
            expect_ok(E7, identity.api.send(E7, target, token=fewer["id_token"]))
            check_oauth_error(rp.refresh(fewer["refresh_token"], scope="plug.write"), "invalid_scope")
        again = check_token_response(rp.refresh(fewer["refresh_token"], scope=HOME))
        expect_ok(E8, identity.api.send(E8, target, token=again["id_token"]))

    def test_ends_open_streams(self, identity: Gateway, rp: RelyingParty, operator: Operator, target: Target) -> None:
        login = rp.log_in(Browser(identity), scope=HOME)
        query = f"?plant={target['plant']}&present=true"
        before = StreamReader(identity, login.access_token, query=query)
        assert target["module"] in modules_until_ready(before)
        with without(operator, "light.read"):
            assert json.loads(before.wait_named("end").data)["code"] == "token"
            before.wait_over()
            after = StreamReader(identity, login.access_token, query=query)
            assert target["module"] not in modules_until_ready(after)
            after.close()

    def test_is_gone_from_webhooks(self, identity: Gateway, rp: RelyingParty, operator: Operator, target: Target) -> None:
        receiver = ThreadedReceiver()
        plugs = next(one for who, one in identity.cases(E1) if who == ANNA and one["plant"] == target["plant"])
        login = rp.log_in(Browser(identity), scope=f"{HOME} plug.read")
        headers = {KEY_HEADER: identity.subscription_key, "Authorization": f"Bearer {login.id_token}"}
        body = {"plantId": target["plant"], "url": receiver.url, "kinds": ["state"]}
        made = identity.api.http.post("/webhooks", headers=headers, json=body)
        assert made.status_code == 201, made.text
        try:
            with without(operator, "light.read"):
                dim(identity, target, 21)
                assert identity.send(E1, plugs, who=ANNA).status_code == 200
                receiver.wait_for(lambda got: any(one.json["data"]["kind"] == "plug" for one in got))  # after the light
            dim(identity, target, 22)
            receiver.wait_for(lambda got: 22 in levels_in(got))
            assert 21 not in levels_in(receiver.got)
        finally:
            identity.api.http.delete(f"/webhooks/{made.json()['id']}", headers=headers)
            receiver.close()
