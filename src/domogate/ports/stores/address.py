"""The port for the stored URL of the gateway, which commands print in links and tokens."""

from typing import Protocol


class AddressStore(Protocol):
    """Stores the URL of the gateway that started last."""

    async def find_address(self) -> str | None:
        """Return the URL, or None if no gateway has started on this store yet."""
        ...

    async def set_address(self, url: str) -> None: ...
