"""Receivers for testing webhooks. They keep the last deliveries in memory, for some minutes (Decision 0081).

A receiver has a URL under the gateway's own URL. The gateway passes a delivery for such a URL to the receiver in memory. The
gateway opens no connection for this. So the rules for the addresses of webhooks (Decision 0046) need no exception.
"""

from collections import deque
from collections.abc import Mapping, Sequence

import msgspec

from domogate.domain.ids import Id, new_id
from domogate.ports import Clock, Delivered, Undelivered, WebhookSender
from domogate.services.refusals import Conflict, NotFound

LIFETIME = 600.0
MOST_PER_PERSON, MOST = 3, 100
MOST_DELIVERIES, MOST_BODY = 20, 8_192
"""The number of deliveries that a receiver keeps, and the number of bytes that it keeps of each body."""

PATH = "/developer/v1/receivers/"


class ReceivedDelivery(msgspec.Struct, frozen=True):
    at: float
    headers: Mapping[str, str]
    body: str
    whole: bool
    """False if the body was too long and only its beginning was kept."""


class Receiver:
    """A URL of the gateway with which one person tests a webhook. The last deliveries to this URL are kept in memory."""

    def __init__(self, user_id: Id, base_url: str, expires_at: float) -> None:
        self.id = new_id()
        self.user_id = user_id
        self.url = f"{base_url}{PATH}{self.id}"
        self.expires_at = expires_at
        self._deliveries: deque[ReceivedDelivery] = deque(maxlen=MOST_DELIVERIES)

    @property
    def deliveries(self) -> Sequence[ReceivedDelivery]:
        """The deliveries that are kept, the newest first."""
        return tuple(reversed(self._deliveries))

    def take(self, body: bytes, headers: Mapping[str, str], at: float) -> None:
        text = body[:MOST_BODY].decode(errors="replace")
        self._deliveries.append(ReceivedDelivery(at, dict(headers), text, len(body) <= MOST_BODY))


class Receivers:
    """All receivers for webhook tests in this process."""

    def __init__(self, base_url: str, clock: Clock) -> None:
        self._base_url = base_url
        self._clock = clock
        self._by_url: dict[str, Receiver] = {}

    def open(self, user_id: Id) -> Receiver:
        """Make a receiver for the person.

        If the person already has `MOST_PER_PERSON` receivers, the oldest of them ends. Raises Conflict if the gateway already
        has `MOST` receivers.
        """
        self._forget_expired()
        own = [url for url, receiver in self._by_url.items() if receiver.user_id == user_id]
        if len(own) >= MOST_PER_PERSON:
            del self._by_url[own[0]]
        if len(self._by_url) >= MOST:
            raise Conflict("All receivers of this gateway are in use. Try again in some minutes.")
        receiver = Receiver(user_id, self._base_url, self._clock.now() + LIFETIME)
        self._by_url[receiver.url] = receiver
        return receiver

    def get(self, user_id: Id, receiver_id: Id) -> Receiver:
        """Return the receiver. Raises NotFound if the person has no such receiver."""
        found = self.find(f"{self._base_url}{PATH}{receiver_id}")
        if found is None or found.user_id != user_id:
            raise NotFound(f"You have no such receiver. A receiver ends after {LIFETIME / 60:.0f} minutes.")
        return found

    def close(self, user_id: Id, receiver_id: Id) -> None:
        """End and delete the receiver. Raises NotFound if the person has no such receiver."""
        del self._by_url[self.get(user_id, receiver_id).url]

    def is_own_url(self, url: str) -> bool:
        """Whether the URL has the form of a receiver's URL, even if there is no such receiver."""
        return url.startswith(f"{self._base_url}{PATH}")

    def find(self, url: str) -> Receiver | None:
        self._forget_expired()
        return self._by_url.get(url)

    def _forget_expired(self) -> None:
        now = self._clock.now()
        for url in [url for url, receiver in self._by_url.items() if receiver.expires_at <= now]:
            del self._by_url[url]


class ReceiverSender:
    """Puts deliveries for test receivers into these receivers in memory. The sender `others` sends all other deliveries."""

    def __init__(self, receivers: Receivers, others: WebhookSender, clock: Clock) -> None:
        self._receivers = receivers
        self._others = others
        self._clock = clock

    async def check_url(self, url: str) -> None:
        if not self._receivers.is_own_url(url):
            await self._others.check_url(url)
        elif self._receivers.find(url) is None:
            raise Undelivered("There is no receiver at this URL, or it has ended. Make a new one.", forbidden=True)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Delivered:
        if not self._receivers.is_own_url(url):
            return await self._others.post(url, body, headers)
        receiver = self._receivers.find(url)
        if receiver is None:
            return Delivered(404, None)
        receiver.take(body, headers, self._clock.now())
        return Delivered(204, None)
