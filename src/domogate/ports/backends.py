"""HTTP services that stand behind a family."""

from typing import Protocol


class EchoBackend(Protocol):
    """The HTTP service behind the echo family."""

    async def send(self, document: bytes) -> tuple[bytes, str]:
        """Its answer's body and media type. Raises EchoUnreachable, EchoTimeout."""
        ...
