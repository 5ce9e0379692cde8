"""Knows the web origins that may call the gateway: the origins of registered clients (Decision 0021)."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from domogate.common.feed_cache import FeedCache
from domogate.domain.events import Change, ChangesLost, ClientChanged
from domogate.domain.people import Client
from domogate.ports import ClientStore

_ALL_CLIENTS = "all clients"


class Origins:
    """The registered origins of clients, and the origins of their redirect URIs.

    Register `apply` as a listener of the store, so that changes of clients take effect.
    """

    def __init__(self, store: ClientStore) -> None:
        self._store = store
        self._allowed: FeedCache[str, frozenset[bytes]] = FeedCache(
            self._fetch, capacity=1, invalidated_by={ClientChanged: lambda _: None, ChangesLost: lambda _: None}
        )

    async def is_allowed(self, origin: bytes) -> bool:
        allowed = await self._allowed.get(_ALL_CLIENTS)
        return allowed is not None and origin in allowed

    def apply(self, changes: Sequence[Change]) -> None:
        self._allowed.apply(changes)

    async def _fetch(self, _: str) -> frozenset[bytes]:
        clients = await self._store.list_clients()
        return frozenset(origin.encode() for client in clients for origin in origins_of(client))


def origins_of(client: Client) -> set[str]:
    """Return the web origins of a client (RFC 6454 §6.2): scheme and host, and the port if it is not the default port."""
    found = set(client.origins)
    for uri in client.redirect_uris:
        parts = urlsplit(uri)
        if parts.scheme in ("http", "https") and parts.hostname:
            host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            standard = {"http": 80, "https": 443}[parts.scheme]
            port = "" if parts.port in (None, standard) else f":{parts.port}"
            found.add(f"{parts.scheme}://{host}{port}")
    return found
