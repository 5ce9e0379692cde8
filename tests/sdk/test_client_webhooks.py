"""The Python client checks deliveries of webhooks, and redeems tickets, with a real gateway."""

import base64
import hmac
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook as StandardWebhook

from domogate_client import Client, Tokens
from domogate_client.errors import Conflict, UnexpectedAnswer, WebhookNotVerified
from domogate_client.events import OtherEvent
from domogate_client.models.thermostat import SubscriptionOrder, ThermostatOrder
from domogate_client.models.tickets import RedemptionRequest
from domogate_client.models.webhooks import NewWebhook
from domogate_client.webhooks import delivery_id, verify, verify_notifications
from support.gateway import Gateway
from support.receivers import ThreadedReceiver
from support.sdk_calls import ANNA, CAMERA, HOUSE, THERMOSTAT

SECRET, OTHER = (f"whsec_{base64.b64encode(bytes([number]) * 32).decode()}" for number in (1, 2))
EVENT = {"id": "2", "source": "s", "type": "domogate.plant", "subject": "s", "time": "t", "data": {"plantId": HOUSE}}
BODY = json.dumps(EVENT).encode()


def signed(secret: str = SECRET, body: bytes = BODY, at: float | None = None) -> dict[str, str]:
    """Headers as the library of the standard makes them."""
    moment = datetime.fromtimestamp(time.time() if at is None else at, UTC)
    signature = StandardWebhook(secret).sign("message-1", moment, body.decode())
    return {"Webhook-Id": "message-1", "Webhook-Timestamp": str(int(moment.timestamp())), "Webhook-Signature": signature}


class TestVerify:
    def test_a_delivery_that_the_library_of_the_standard_signed(self) -> None:
        assert verify(SECRET, signed(), BODY).kind == "plant"
        assert delivery_id(signed()) == "message-1"

    def test_one_of_several_secrets_and_one_of_several_signatures_is_enough(self) -> None:
        headers = signed()
        headers["Webhook-Signature"] = f"v1,AAAA v2,x {headers['Webhook-Signature']}"
        assert verify([OTHER, SECRET], headers, BODY).id == "2"

    @pytest.mark.parametrize(
        "headers",
        [
            {},
            {**signed(), "Webhook-Id": "message-2"},
            {**signed(), "Webhook-Timestamp": str(int(time.time()) - 1)},
            {**signed(), "Webhook-Timestamp": "now"},
            {**signed(), "Webhook-Timestamp": "9" * 5000},
            {**signed(), "Webhook-Id": "\udcff"},  # some servers decode the bytes of headers like this
            {**signed(), "Webhook-Signature": "v1,\udcff"},
            {**signed(), "Webhook-Signature": ""},
            {**signed(), "Webhook-Signature": "v1,"},
            {**signed(), "Webhook-Signature": "v1,ü"},
            signed(OTHER),
            signed(at=time.time() - 4000),
            signed(at=time.time() + 4000),
        ],
    )
    def test_another_delivery_is_refused(self, headers: dict[str, str]) -> None:
        with pytest.raises(WebhookNotVerified):
            verify(SECRET, headers, BODY)

    def test_a_changed_or_very_large_body_is_refused(self) -> None:
        for body in (BODY + b" ", b" " * 2_000_000):
            with pytest.raises(WebhookNotVerified):
                verify(SECRET, signed(), body)

    @pytest.mark.parametrize("secret", ["whsec_ü", "whsec_", ""])
    def test_a_secret_that_is_none(self, secret: str) -> None:
        headers = signed()
        # Everybody can sign with an empty key.
        message = f"message-1.{headers['Webhook-Timestamp']}.".encode() + BODY
        headers["Webhook-Signature"] = f"v1,{base64.b64encode(hmac.digest(b'', message, 'sha256')).decode()}"
        with pytest.raises(WebhookNotVerified, match="whsec_"):
            verify(secret, headers, BODY)

    def test_a_signed_body_that_is_no_event(self) -> None:
        with pytest.raises(UnexpectedAnswer):
            verify(SECRET, signed(body=b"[]"), b"[]")


@pytest.fixture
def receiver() -> Iterator[ThreadedReceiver]:
    started = ThreadedReceiver()
    yield started
    started.close()


@pytest.fixture
def client(demo: Gateway) -> Iterator[Client]:
    anna = demo.people[ANNA]
    tokens = Tokens(access_token=anna.access_token, id_token=anna.id_token)
    with Client(demo.base_url, demo.subscription_key, tokens=tokens) as opened:
        yield opened


@pytest.mark.slow
class TestRealGateway:
    def test_a_delivery_of_a_webhook(self, client: Client, receiver: ThreadedReceiver) -> None:
        webhook = client.webhooks.register_webhook(NewWebhook(plant_id=HOUSE, url=f"{receiver.url}/hook", kinds=["people"]))
        assert client.webhooks.test_webhook(webhook.id).taken
        (got,) = receiver.of("/hook")
        event = verify(webhook.secret, got.headers, got.body)
        assert isinstance(event, OtherEvent)
        assert event.kind == "test"
        client.webhooks.remove_webhook(webhook.id)

    def test_a_notification_of_a_thermostat_subscription(self, client: Client, receiver: ThreadedReceiver) -> None:
        url = f"{receiver.url}/thermostats"
        made = client.thermostat.subscribe(HOUSE, SubscriptionOrder(end_point_url=url))
        secret = client.webhooks.renew_webhook_secret(made.subscription_id).secret
        client.thermostat.set_chronothermostat(HOUSE, THERMOSTAT, ThermostatOrder(function="heating", mode="protection"))
        got = receiver.wait_for(bool)[0]
        client.thermostat.unsubscribe(HOUSE, made.subscription_id)
        (notification,) = verify_notifications(secret, got.headers, got.body)
        assert notification.subject.startswith(f"/plants/{HOUSE}/modules/")
        assert notification.data.chronothermostats
        with pytest.raises(WebhookNotVerified):
            verify_notifications(SECRET, got.headers, got.body)

    def test_a_ticket_is_redeemed_once(self, client: Client) -> None:
        ticket = client.touchpanel.switch_on_camera(HOUSE, CAMERA).audiovideounits[0].ticket
        redeemed = client.tickets.redeem(RedemptionRequest(ticket=ticket))
        assert redeemed.outcome == "confirmed"
        assert redeemed.picture is not None
        assert client.tickets.picture(redeemed.picture.token).media_type in ("image/png", "image/jpeg")
        with pytest.raises(Conflict) as raised:
            client.tickets.redeem(RedemptionRequest(ticket=ticket))
        assert raised.value.reason == "used"
