"""Which web origins may call: those of registered clients (Decision 0021)."""

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

from domogate.domain.events import Change, ClientChanged
from domogate.domain.people import Client
from domogate.ports import Store


class Origins:
    """The origins of all registered clients: those they name, and those their redirect URIs lie on."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._allowed: frozenset[bytes] = frozenset()
        self._loading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._load()

    def is_allowed(self, origin: bytes) -> bool:
        return origin in self._allowed

    def apply(self, changes: Sequence[Change]) -> None:
        """A listener of the store."""
        if any(isinstance(change.event, ClientChanged) for change in changes):
            self._loading = asyncio.create_task(self._load(), name="origins of clients")

    async def _load(self) -> None:
        clients = await self._store.list_clients()
        self._allowed = frozenset(origin.encode() for client in clients for origin in origins_of(client))


def origins_of(client: Client) -> set[str]:
    """RFC 6454 §6.2: scheme, host, and the port where it is not the scheme's own."""
    found = set(client.origins)
    for uri in client.redirect_uris:
        parts = urlsplit(uri)
        if parts.scheme in ("http", "https") and parts.hostname:
            host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            standard = {"http": 80, "https": 443}[parts.scheme]
            port = "" if parts.port in (None, standard) else f":{parts.port}"
            found.add(f"{parts.scheme}://{host}{port}")
    return found
