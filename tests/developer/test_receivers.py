"""Receivers for testing webhooks: what they keep, for how long, and for whom."""

from collections.abc import Mapping

import pytest

from domogate.domain.ids import Id
from domogate.ports import Delivered, Undelivered
from domogate.services.developer.receivers import LIFETIME, MOST, MOST_BODY, MOST_PER_PERSON, Receivers, ReceiverSender
from support.clocks import ManualClock
from support.developer_setup import DeveloperApi
from support.people_setup import BASE_URL
from support.stores import ANNA, an_id

pytestmark = pytest.mark.slow


class OtherSender:
    """Notes the URLs that would be called over the network."""

    def __init__(self) -> None:
        self.called: list[str] = []

    async def check_url(self, url: str) -> None:
        self.called.append(url)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Delivered:
        self.called.append(url)
        return Delivered(200)


class TestTheApi:
    async def test_a_delivery_is_shown_with_its_headers(self, api: DeveloperApi) -> None:
        receiver = await api.ok("POST", "/receivers", status=201)
        sender = ReceiverSender(api.receivers, OtherSender(), api.env.clock)
        await sender.check_url(receiver["url"])
        answer = await sender.post(receiver["url"], b'{"n": 1}', {"webhook-id": "m1"})
        assert answer.status == 204
        shown = await api.ok("GET", f"/receivers/{receiver['id']}")
        ((delivery),) = shown["deliveries"]
        assert (delivery["body"], delivery["headers"], delivery["whole"]) == ('{"n": 1}', {"webhook-id": "m1"}, True)

    async def test_an_ended_receiver_is_404_and_keeps_nothing(self, api: DeveloperApi) -> None:
        receiver = await api.ok("POST", "/receivers", status=201)
        sender = ReceiverSender(api.receivers, OtherSender(), api.env.clock)
        api.env.clock.advance(LIFETIME)
        assert (await sender.post(receiver["url"], b"{}", {})).status == 404
        with pytest.raises(Undelivered) as refused:
            await sender.check_url(receiver["url"])
        assert refused.value.forbidden
        assert "10 minutes" in await api.refused("GET", f"/receivers/{receiver['id']}", status=404)

    async def test_a_closed_receiver_is_404(self, api: DeveloperApi) -> None:
        receiver = await api.ok("POST", "/receivers", status=201)
        await api.ok("DELETE", f"/receivers/{receiver['id']}", status=204)
        await api.refused("GET", f"/receivers/{receiver['id']}", status=404)

    async def test_nobody_can_post_to_its_url_over_http(self, api: DeveloperApi) -> None:
        receiver = await api.ok("POST", "/receivers", status=201)
        answer = await api.http.post(receiver["url"], content=b"{}")
        assert answer.status_code == 405
        assert (await api.ok("GET", f"/receivers/{receiver['id']}"))["deliveries"] == []

    async def test_one_more_than_a_person_may_have_ends_the_oldest(self, api: DeveloperApi) -> None:
        first, *others = [await api.ok("POST", "/receivers", status=201) for _ in range(MOST_PER_PERSON + 1)]
        await api.refused("GET", f"/receivers/{first['id']}", status=404)
        for receiver in others:
            await api.ok("GET", f"/receivers/{receiver['id']}")


class TestLimits:
    def test_the_gateway_has_a_limited_number(self) -> None:
        receivers = Receivers(BASE_URL, ManualClock())
        for number in range(MOST):
            receivers.open(Id(an_id(number)))
        with pytest.raises(Exception, match="in use"):
            receivers.open(Id(an_id(MOST)))

    async def test_it_keeps_the_newest_twenty_deliveries_and_the_beginning_of_long_bodies(self) -> None:
        clock = ManualClock()
        receivers = Receivers(BASE_URL, clock)
        receiver = receivers.open(ANNA.id)
        sender = ReceiverSender(receivers, OtherSender(), clock)
        for number in range(25):
            await sender.post(receiver.url, b"%d" % number, {})
        assert [delivery.body for delivery in receiver.deliveries] == [str(number) for number in range(24, 4, -1)]
        await sender.post(receiver.url, b"x" * (MOST_BODY + 1), {})
        newest = receiver.deliveries[0]
        assert (len(newest.body), newest.whole) == (MOST_BODY, False)

    @pytest.mark.parametrize(
        "url",
        [
            "https://receiver.example/developer/v1/receivers/x",
            f"{BASE_URL}/developer/v1/keys",
            f"{BASE_URL}.evil.example/developer/v1/receivers/x",
            f"{BASE_URL}/developer/v1/../v1/receivers/x",
        ],
    )
    async def test_all_other_urls_go_the_usual_way(self, url: str) -> None:
        """So the rules for addresses hold for them, also for URLs of the gateway itself."""
        clock, others = ManualClock(), OtherSender()
        sender = ReceiverSender(Receivers(BASE_URL, clock), others, clock)
        await sender.check_url(url)
        await sender.post(url, b"", {})
        assert others.called == [url, url]
