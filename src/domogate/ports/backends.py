"""External HTTP services: the backend of the echo family, and the receivers of webhooks."""

from collections.abc import Mapping
from typing import Protocol

import msgspec


class EchoBackend(Protocol):
    """The HTTP service behind the echo family."""

    async def send(self, document: bytes) -> tuple[bytes, str]:
        """Return the body and the media type of its answer. Raises EchoUnreachable, EchoTimeout."""
        ...


class Delivered(msgspec.Struct, frozen=True):
    """The receiver answered with this status. 2xx means that it accepted the delivery."""

    status: int
    retry_after: float | None = None
    """The seconds after which the receiver wants the next try, if it said so."""


class Undelivered(Exception):
    """The receiver did not answer, or must not be called. The message is for the owner of the webhook.

    `forbidden`: at present its address must not be called (Decision 0046).
    """

    def __init__(self, message: str, *, forbidden: bool = False) -> None:
        super().__init__(message)
        self.forbidden = forbidden


class WebhookSender(Protocol):
    """Posts to URLs from outside: never into private networks, and never to the target of a redirect."""

    async def check_url(self, url: str) -> None:
        """Check whether the URL may be called now. Raises Undelivered with a message that says what to change."""
        ...

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Delivered:
        """Raises Undelivered."""
        ...
