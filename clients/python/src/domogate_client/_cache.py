"""A bounded cache of answers with an ETag."""

from collections import OrderedDict
from threading import Lock


class ETagCache:
    """Keeps the newest answers by URL. The oldest are removed when the cache has more bytes or entries than allowed.

    An answer is used only if the gateway says that it has not changed (304). The ETag depends on the content, so an
    answer is right for every user of the client.
    """

    def __init__(self, max_bytes: int = 4_000_000, max_entries: int = 256) -> None:
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._entries: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def find(self, url: str) -> tuple[str, bytes] | None:
        """Return the ETag and the body."""
        with self._lock:
            entry = self._entries.get(url)
            if entry is not None:
                self._entries.move_to_end(url)
            return entry

    def keep(self, url: str, etag: str, body: bytes) -> None:
        if len(body) > self._max_bytes:
            return
        with self._lock:
            former = self._entries.pop(url, None)
            self._bytes += len(body) - (len(former[1]) if former else 0)
            self._entries[url] = etag, body
            while self._bytes > self._max_bytes or len(self._entries) > self._max_entries:
                _, (_, removed) = self._entries.popitem(last=False)
                self._bytes -= len(removed)

    def __len__(self) -> int:
        return len(self._entries)
