"""What came in and is not read yet: bounded, whatever a broker sends (Decision 0038)."""

import asyncio
from collections import deque
from collections.abc import Iterable

from domogate.drivers.mqtt.facts import Keep

_PARTS = 64
"""How many messages that each say a part are kept of a topic."""


class Inbox:
    """The newest payload of each topic, unread and as bytes. Whoever waits for an answer gets each message at once."""

    def __init__(self) -> None:
        self._kept: dict[bytes, Keep] = {}
        self._newest: dict[bytes, bytes] = {}
        self._parts: dict[bytes, deque[bytes]] = {}
        self._filled = asyncio.Event()

    def listen(self, topic: bytes, keep: Keep) -> None:
        """Of two who listen to the same topic, the one who wants more gets it for both."""
        if self._kept.get(topic) is not Keep.EVERY:
            self._kept[topic] = keep if self._kept.get(topic) is not Keep.NEWEST or keep is Keep.EVERY else Keep.NEWEST

    def leave(self, topic: bytes) -> None:
        self._kept.pop(topic, None)
        self._newest.pop(topic, None)
        self._parts.pop(topic, None)

    def put(self, topic: bytes, payload: bytes) -> None:
        keep = self._kept.get(topic)
        if keep is Keep.NEWEST:
            self._newest[topic] = payload
        elif keep is Keep.EVERY:
            parts = self._parts.get(topic)
            if parts is None:
                parts = self._parts[topic] = deque(maxlen=_PARTS)
            parts.append(payload)
        else:
            return
        self._filled.set()

    def holds_any(self, topics: Iterable[bytes]) -> bool:
        """Whether something unread is of one of these."""
        return any(topic in self._newest or topic in self._parts for topic in topics)

    async def wait_filled(self) -> None:
        await self._filled.wait()

    def take(self) -> list[tuple[bytes, bytes]]:
        """All there is, and nothing is left."""
        self._filled.clear()
        newest, self._newest = self._newest, {}
        parts, self._parts = self._parts, {}
        return [*newest.items(), *((topic, one) for topic, some in parts.items() for one in some)]

    def take_of(self, topic: bytes) -> list[bytes]:
        """What is unread of one topic, before something newer of it is read past the inbox."""
        newest = self._newest.pop(topic, None)
        return [*self._parts.pop(topic, ()), *(() if newest is None else (newest,))]
