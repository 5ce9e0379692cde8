"""Webhooks over real HTTP: from a command to a receiver that verifies the post with independent libraries."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest

from domogate.app import Tools
from domogate.domain.ids import new_id
from domogate.domain.people import Grant, TokenKind
from support.extension_operations import X2, expect_done
from support.gateway import Gateway, eventually
from support.http import KEY_HEADER
from support.receivers import ReceivedRequest, ThreadedReceiver
from support.spec_operations import Target
from support.store_access import run_with_tools

pytestmark = pytest.mark.slow


@pytest.fixture
def receiver() -> Iterator[ThreadedReceiver]:
    one = ThreadedReceiver()
    yield one
    one.close()


def call(gateway: Gateway, who: str, method: str, path: str, body: Any = None, kind: str = "id") -> httpx.Response:
    person = gateway.people[who]
    token = person.id_token if kind == "id" else person.access_token
    headers = {"Ocp-Apim-Subscription-Key": gateway.subscription_key, "Authorization": f"Bearer {token}"}
    return gateway.api.http.request(method, path, headers=headers, json=body)


def set_light(gateway: Gateway, who: str, target: Target, **order: Any) -> None:
    expect_done(X2, gateway.send(X2, target, who=who, body=json.dumps(order).encode()))


def about(got: ReceivedRequest, module: str) -> bool:
    return bool(got.json["data"].get("moduleId") == module)


def narrow_token(gateway: Gateway, email: str, scopes: tuple[str, ...]) -> str:
    """A token with these scopes, of a grant that has all scopes: as after a refresh that asks for fewer."""

    async def mint(tools: Tools) -> str:
        user = await tools.store.find_user_by_email(email)
        assert user is not None
        client = (await tools.store.list_clients())[0]
        grant = Grant(new_id(), user.id, client.id, client.scopes, created_at=tools.clock.now())
        await tools.store.add_grant(grant)
        return await (await tools.open_signer()).mint_token(
            TokenKind.ID, user, client, msgspec.structs.replace(grant, scopes=scopes)
        )

    return run_with_tools(gateway, mint)


class TestFromACommandToAReceiver:
    @pytest.mark.story
    @pytest.mark.parametrize("kind", ["id", "access"])
    def test_a_light_that_is_set_is_told_signed_and_verified(
        self, workshop: Gateway, receiver: ThreadedReceiver, kind: str
    ) -> None:
        who, target = workshop.case(X2)
        wanted = {"plantId": target["plant"], "url": f"{receiver.url}/{kind}", "kinds": ["state"]}
        made = call(workshop, who, "POST", "/webhooks", wanted, kind)
        assert made.status_code == 201, made.text
        at = f"/webhooks/{made.json()['id']}"
        try:
            set_light(workshop, who, target, status="on", level=37)
            receiver.wait_for(lambda got: any(about(one, target["module"]) for one in got))
            told = next(one for one in receiver.got if about(one, target["module"]))
            assert told.verify(made.json()["secret"]) == told.json
            assert told.json["type"] == "domogate.state"
            assert told.json["data"]["state"]["of"] == "light"
            assert (told.json["source"], told.json["specversion"]) == (workshop.base_url, "1.0")
            tested = call(workshop, who, "POST", f"{at}/test").json()
            assert tested == {"taken": True, "status": 200, "problem": ""}
            assert any(one.json["type"] == "domogate.test" for one in receiver.got)
        finally:
            assert call(workshop, who, "DELETE", at).status_code == 204
        assert call(workshop, who, "GET", at).status_code == 404

    def test_a_token_with_fewer_scopes_than_its_grant_gets_no_more_by_a_webhook(
        self, workshop: Gateway, receiver: ThreadedReceiver
    ) -> None:
        who, target = workshop.case(X2)
        wanted = {"plantId": target["plant"], "kinds": ["state"]}
        made = []
        try:
            for path, scopes in (("narrow", ("plug.read",)), ("whole", ("plug.read", "light.read"))):
                headers = {
                    KEY_HEADER: workshop.subscription_key,
                    "Authorization": f"Bearer {narrow_token(workshop, who, scopes)}",
                }
                body = {**wanted, "url": f"{receiver.url}/{path}"}
                answer = workshop.api.http.request("POST", "/webhooks", headers=headers, json=body)
                assert answer.status_code == 201, answer.text
                assert answer.json()["scopes"] == sorted(scopes)
                made.append(answer.json()["id"])
            set_light(workshop, who, target, status="on", level=44)
            set_light(workshop, who, target, status="on", level=45)
            receiver.wait_for(lambda got: sum(about(one, target["module"]) and one.path == "/whole" for one in got) >= 2)
            assert not any(about(one, target["module"]) for one in receiver.got if one.path == "/narrow")
        finally:
            for webhook_id in made:
                workshop.domogate("webhook", "remove", webhook_id)

    def test_private_addresses_are_refused_where_only_loopback_is_allowed(self, workshop: Gateway) -> None:
        who, target = workshop.case(X2)
        for url in (
            "http://10.0.0.1/",
            "https://192.168.1.1/",
            "http://169.254.169.254/latest",
            "http://8.8.8.8/",
            "file:///etc",
        ):
            answer = call(workshop, who, "POST", "/webhooks", {"plantId": target["plant"], "url": url})
            assert answer.status_code == 422, f"{url}: {answer.text}"
            assert answer.json()["detail"].startswith(("The URL cannot be called", "The gateway does not call this URL"))
        assert call(workshop, who, "GET", "/webhooks").json() == {"items": []}

    def test_the_secret_is_shown_once_and_is_in_no_log(self, workshop: Gateway, receiver: ThreadedReceiver) -> None:
        who, target = workshop.case(X2)
        wanted = {"plantId": target["plant"], "url": f"{receiver.url}/secret", "kinds": ["people"]}
        made = call(workshop, who, "POST", "/webhooks", wanted).json()
        try:
            shown = call(workshop, who, "GET", "/webhooks").text + workshop.domogate("webhook", "list", "--json")
            shown += workshop.domogate("webhook", "show", made["id"]) + workshop.domogate(
                "audit", "list", "--limit", "100000", "--json"
            )
            assert made["id"] in shown
            assert made["secret"] not in shown + workshop.log
        finally:
            call(workshop, who, "DELETE", f"/webhooks/{made['id']}")


class TestTheOperator:
    def test_commands_list_show_and_remove(self, workshop: Gateway, receiver: ThreadedReceiver) -> None:
        who, target = workshop.case(X2)
        receiver.status = 500
        wanted = {"plantId": target["plant"], "url": f"{receiver.url}/operator"}
        made = call(workshop, who, "POST", "/webhooks", wanted).json()
        set_light(workshop, who, target, status="on", level=61)

        def listed() -> dict[str, Any]:
            return next(one for one in json.loads(workshop.domogate("webhook", "list", "--json")) if one["id"] == made["id"])

        eventually(lambda: listed()["problem"] == "The receiver answered 500.", "what is wrong is shown")
        assert "some events wait" in workshop.domogate("webhook", "show", made["id"])
        assert json.loads(workshop.domogate("webhook", "dead", made["id"], "--json")) == []
        workshop.domogate("webhook", "remove", made["id"])
        assert made["id"] not in workshop.domogate("webhook", "list")
        assert call(workshop, who, "GET", f"/webhooks/{made['id']}").status_code == 404
        noted = workshop.domogate("audit", "list", "--limit", "100000", "--json")
        assert "webhook removed" in noted
        assert "webhook added" in noted
