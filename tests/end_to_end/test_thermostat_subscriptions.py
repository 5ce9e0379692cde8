"""X6 to X8 as real applications use them: subscribe, get notifications in the format of E12, list, unsubscribe."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.extension_operations import X1, X6, X7, X8, expect_done, expect_listed
from support.gateway import Gateway
from support.http import expect_nothing, expect_refusal, message_of
from support.receivers import ThreadedReceiver
from support.spec_operations import Target
from support.spec_schemas import check_body

pytestmark = pytest.mark.slow

NOBODY_S = "7d9d3c1e-2f0a-4c55-9b1a-6d1f0a3b5c78"


@pytest.fixture
def receiver() -> Iterator[ThreadedReceiver]:
    one = ThreadedReceiver()
    yield one
    one.close()


def subscribe(gateway: Gateway, who: str, target: Target, url: Any) -> httpx.Response:
    return gateway.send(X6, target, who=who, body=json.dumps({"EndPointUrl": url}).encode())


def headers_of(gateway: Gateway, who: str) -> dict[str, str]:
    return {
        "Ocp-Apim-Subscription-Key": gateway.subscription_key,
        "Authorization": f"Bearer {gateway.people[who].id_token}",
    }


def register(gateway: Gateway, who: str, target: Target, url: str) -> str:
    """Register a webhook at /webhooks, and return its id."""
    body = {"plantId": target["plant"], "url": url}
    answer = gateway.api.http.post("/webhooks", json=body, headers=headers_of(gateway, who))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def remove(gateway: Gateway, who: str, webhook_id: str) -> None:
    assert gateway.api.http.delete(f"/webhooks/{webhook_id}", headers=headers_of(gateway, who)).status_code == 204


class TestSubscribing:
    def test_the_whole_way(self, workshop: Gateway, receiver: ThreadedReceiver) -> None:
        who, target = workshop.case(X1)
        expect_nothing(X7, workshop.send(X7, who=who))
        url = f"{receiver.url}/smarther"
        made = subscribe(workshop, who, target, url)
        assert made.status_code == 201, made.text
        assert list(made.json()) == ["subscriptionId"]
        mine = {**target, "subscription": made.json()["subscriptionId"]}
        expect_refusal(X6, subscribe(workshop, who, target, url), 409)
        expect_refusal(X6, subscribe(workshop, who, target, f"{url}/another"), 409)
        listed = {"plantId": target["plant"], "subscriptionId": mine["subscription"], "EndPointUrl": url}
        assert expect_listed(X7, workshop.send(X7, who=who)) == [listed]

        order = b'{"function": "heating", "mode": "manual", "setPoint": {"value": 23.5, "unit": "C"}}'
        expect_done(X1, workshop.send(X1, target, who=who, body=order))
        receiver.wait_for(lambda got: any('"23.5"' in one.body.decode() for one in got))
        for got in receiver.got:
            assert got.headers["content-type"] == "application/json"
            (told,) = got.json
            assert told["eventType"] == "DeviceToCloud"
            assert told["id"] == got.id.rpartition("_")[2]
            assert told["eventTime"].endswith("Z")
            check_body("E12", told["data"])
            assert told["data"]["chronothermostats"][0]["sender"]["plant"]["id"] == target["plant"]

        expect_done(X8, workshop.send(X8, mine, who=who))
        expect_nothing(X7, workshop.send(X7, who=who))
        expect_refusal(X8, workshop.send(X8, mine, who=who), 404)

    def test_a_notification_is_verified_with_a_new_secret(self, workshop: Gateway, receiver: ThreadedReceiver) -> None:
        who, target = workshop.case(X1)
        made = subscribe(workshop, who, target, f"{receiver.url}/verified")
        mine = {**target, "subscription": made.json()["subscriptionId"]}
        path = f"/webhooks/{mine['subscription']}/secret"
        renewed = workshop.api.http.post(path, headers=headers_of(workshop, who))
        assert renewed.status_code == 200, renewed.text
        order = b'{"function": "heating", "mode": "manual", "setPoint": {"value": 19.5, "unit": "C"}}'
        expect_done(X1, workshop.send(X1, target, who=who, body=order))
        receiver.wait_for(lambda got: any('"19.5"' in one.body.decode() for one in got))
        told = next(one for one in receiver.got if '"19.5"' in one.body.decode())
        assert told.verify(renewed.json()["secret"]) == told.json
        expect_done(X8, workshop.send(X8, mine, who=who))

    def test_the_refusal_says_what_prevents_the_subscription(self, workshop: Gateway, receiver: ThreadedReceiver) -> None:
        who, target = workshop.case(X1)

        def refusal(url: str) -> str:
            return message_of(X6, expect_refusal(X6, subscribe(workshop, who, target, url), 409))

        first = register(workshop, who, target, f"{receiver.url}/0")
        message = refusal(f"{receiver.url}/0")
        assert "a webhook for this user, plant and URL" in message
        assert "remove the webhook" in message
        expect_nothing(X7, workshop.send(X7, who=who))

        others = [register(workshop, who, target, f"{receiver.url}/{n}") for n in range(1, 20)]
        message = refusal(f"{receiver.url}/more")
        assert "20 webhooks for this user and plant" in message
        assert "remove one" in message

        remove(workshop, who, first)
        made = subscribe(workshop, who, target, f"{receiver.url}/0").json()
        for url in (f"{receiver.url}/0", f"{receiver.url}/1", f"{receiver.url}/more"):
            assert "subscribed to this plant already" in refusal(url), "this is the reason, although there are 20 webhooks"
        expect_done(X8, workshop.send(X8, {**target, "subscription": made["subscriptionId"]}, who=who))
        for webhook_id in others:
            remove(workshop, who, webhook_id)

    @pytest.mark.parametrize(
        "url", ["", "x", "http://10.0.0.1/", "https://192.168.1.1/", "http://8.8.8.8/", "ftp://receiver.example/", 5, None]
    )
    def test_a_url_that_cannot_be_called_is_400(self, demo: Gateway, url: Any) -> None:
        who, target = demo.case(X6)
        expect_refusal(X6, subscribe(demo, who, target, url), 400)
        expect_nothing(X7, demo.send(X7, who=who))

    @pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"endPointUrl": "https://receiver.example/"}'])
    def test_a_body_without_it_is_400(self, demo: Gateway, body: bytes) -> None:
        who, target = demo.case(X6)
        expect_refusal(X6, demo.send(X6, target, who=who, body=body), 400)

    def test_a_user_without_rights_may_not(self, demo: Gateway) -> None:
        who, target = demo.case(X6)
        stranger = demo.a_stranger_to(demo.estate.plant(target["plant"]))
        mine = {**target, "subscription": NOBODY_S}
        for operation, what in ((X6, target), (X8, mine)):
            expect_refusal(operation, demo.send(operation, what, who=stranger), 401)
            expect_refusal(operation, demo.send(operation, {**what, "plant": NOBODY_S}, who=who), 404)
            expect_refusal(operation, demo.send(operation, what, token=None), 401)
            expect_refusal(operation, demo.send(operation, {**what, "plant": "x"}, who=who), 400)
        expect_refusal(X7, demo.send(X7, token=demo.people[who].access_token), 401)
        expect_refusal(X8, demo.send(X8, mine, who=who), 404)
        expect_refusal(X8, demo.send(X8, {**mine, "subscription": "x"}, who=who), 400)

    def test_another_s_subscription_is_not_there(self, workshop: Gateway, receiver: ThreadedReceiver) -> None:
        who, target = workshop.case(X1)
        plant = workshop.estate.plant(target["plant"])
        others = [mail for mail in workshop.good_people if mail in plant.people and mail != who]
        made = subscribe(workshop, who, target, f"{receiver.url}/mine").json()
        mine = {**target, "subscription": made["subscriptionId"]}
        for other in others:
            expect_nothing(X7, workshop.send(X7, who=other))
            expect_refusal(X8, workshop.send(X8, mine, who=other), 404)
        expect_done(X8, workshop.send(X8, mine, who=who))
