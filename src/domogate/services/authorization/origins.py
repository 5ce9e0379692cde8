"""Which web origins may call: those of registered clients (Decision 0021)."""

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

import structlog

from domogate.domain.events import Change, ClientChanged
from domogate.domain.people import Client
from domogate.ports import ClientStore

_log = structlog.get_logger(__name__)

_RETRY = 5.0


class Origins:
    """The origins of all registered clients: those they name, and those their redirect URIs lie on."""

    def __init__(self, store: ClientStore) -> None:
        self._store = store
        self._allowed: frozenset[bytes] = frozenset()
        self._outdated = False
        self._loading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._load()

    async def stop(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)

    def is_allowed(self, origin: bytes) -> bool:
        return origin in self._allowed

    def apply(self, changes: Sequence[Change]) -> None:
        """A listener of the store."""
        if any(isinstance(change.event, ClientChanged) for change in changes):
            self._outdated = True
            if self._loading is None or self._loading.done():
                self._loading = asyncio.create_task(self._load_anew(), name="origins of clients")

    async def _load_anew(self) -> None:
        """One reading at a time: of two, the earlier one could come last, and would undo the later."""
        while self._outdated:
            self._outdated = False
            try:
                await self._load()
            except Exception as error:
                _log.error("origins of clients not read, next try in a moment", exc_info=error)
                self._outdated = True
                await asyncio.sleep(_RETRY)

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
