"""Ports to external HTTP services: the backend of the echo family, and the receivers of webhooks."""

from collections.abc import Mapping
from typing import Protocol

import msgspec


class EchoBackend(Protocol):
    """The HTTP service behind the echo family."""

    async def send(self, document: bytes) -> tuple[bytes, str]:
        """Send the document to the service. Return the body and the media type of the answer.

        Raise EchoTimeout if the service does not answer in time. Raise EchoUnreachable if it cannot be reached, or if its
        answer is an error or too long.
        """
        ...


class Delivered(msgspec.Struct, frozen=True):
    """The receiver answered with this status. A status 2xx means that the receiver accepted the delivery."""

    status: int
    retry_after: float | None = None
    """The number of seconds to wait before the next attempt, if the receiver sent the header Retry-After."""


class Undelivered(Exception):
    """The receiver sent no valid answer, or the gateway must not call it. The message is for the owner of the webhook.

    `forbidden` is True if the gateway must not call the URL now. An example is a forbidden IP address (Decision 0046).
    """

    def __init__(self, message: str, *, forbidden: bool = False) -> None:
        super().__init__(message)
        self.forbidden = forbidden


class WebhookSender(Protocol):
    """Posts to URLs of applications. It calls a private network only if the operator allowed it. It follows no redirects."""

    async def check_url(self, url: str) -> None:
        """Raise Undelivered if the URL may not be called now, or if its host is not found. The message says why."""
        ...

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Delivered:
        """Post the body on a new connection, or on the open connection of an earlier post.

        If the receiver closes the open connection without an answer, post the body again, on a new connection.

        Raise Undelivered if the receiver sends no valid answer, or if the URL may not be called now.
        """
        ...
