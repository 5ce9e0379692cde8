"""HTTP services outside: the one behind a family, and the receivers of webhooks."""

from collections.abc import Mapping
from typing import Protocol

import msgspec


class EchoBackend(Protocol):
    """The HTTP service behind the echo family."""

    async def send(self, document: bytes) -> tuple[bytes, str]:
        """Its answer's body and media type. Raises EchoUnreachable, EchoTimeout."""
        ...


class Delivered(msgspec.Struct, frozen=True):
    """The receiver answered, with this status; 2xx is that it took it."""

    status: int
    retry_after: float | None = None
    """In how many seconds it wants to be asked again, if it said so."""


class Undelivered(Exception):
    """The receiver did not answer, or may not be asked; the message is for whoever looks after it.

    `forbidden`: its address is none that may be called, at this moment (Decision 0046).
    """

    def __init__(self, message: str, *, forbidden: bool = False) -> None:
        super().__init__(message)
        self.forbidden = forbidden


class WebhookSender(Protocol):
    """Posts to receivers that strangers named: never into private networks, never after a redirect."""

    async def check_url(self, url: str) -> None:
        """Whether it may be called, as far as can be told now. Raises Undelivered, with what to change."""
        ...

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Delivered:
        """Raises Undelivered."""
        ...
