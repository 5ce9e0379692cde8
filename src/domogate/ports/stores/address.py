"""The port for the stored URL of the gateway.

`domogate` commands that make links or tokens use this URL if the setting `public_url` is not set.
"""

from typing import Protocol


class AddressStore(Protocol):
    """Stores the URL of the gateway that started last."""

    async def find_address(self) -> str | None:
        """Return the URL, or None if no gateway has started on this store yet."""
        ...

    async def set_address(self, url: str) -> None: ...
