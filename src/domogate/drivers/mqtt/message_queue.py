"""Messages of a broker that the driver has not read yet, in limited memory (Decision 0038)."""

import asyncio
from collections import deque
from collections.abc import Collection, Iterable

from domogate.drivers.mqtt.properties import QueuePolicy

_PARTS = 64
"""The largest number of messages in the queue for a topic with the policy ALL. A further message replaces the oldest."""


class MessageQueue:
    """The unread payloads of each topic, as bytes.

    The policy of a topic says how many payloads the queue keeps. Usually the queue keeps only the newest payload.
    """

    def __init__(self) -> None:
        self._policies: dict[bytes, QueuePolicy] = {}
        self._newest: dict[bytes, bytes] = {}
        self._parts: dict[bytes, deque[bytes]] = {}
        self._filled = asyncio.Event()

    def add_topic(self, topic: bytes, policy: QueuePolicy) -> None:
        """Accept messages of this topic. If two modules use the same topic, the policy that keeps more messages applies."""
        keeps_more = (QueuePolicy.DURING_CALLS, QueuePolicy.LATEST, QueuePolicy.ALL)
        self._policies[topic] = max(policy, self._policies.get(topic, policy), key=keeps_more.index)

    def remove_topic(self, topic: bytes) -> None:
        self._policies.pop(topic, None)
        self._newest.pop(topic, None)
        self._parts.pop(topic, None)

    def put(self, topic: bytes, payload: bytes) -> None:
        policy = self._policies.get(topic)
        if policy is QueuePolicy.LATEST:
            self._newest[topic] = payload
        elif policy is QueuePolicy.ALL:
            parts = self._parts.get(topic)
            if parts is None:
                parts = self._parts[topic] = deque(maxlen=_PARTS)
            parts.append(payload)
        else:
            return
        self._filled.set()

    def holds_any(self, topics: Iterable[bytes]) -> bool:
        """Whether there is an unread message of one of these topics."""
        return any(topic in self._newest or topic in self._parts for topic in topics)

    async def wait_filled(self) -> None:
        await self._filled.wait()

    def list_topics(self) -> list[bytes]:
        """Return the topics that have messages now. After this call, `wait_filled` waits for a new message."""
        self._filled.clear()
        return [*self._newest, *self._parts]

    def take_of(self, topics: Collection[bytes]) -> list[tuple[bytes, bytes]]:
        """Remove and return the messages of these topics."""
        newest = [(topic, self._newest.pop(topic)) for topic in topics if topic in self._newest]
        return [*newest, *((topic, part) for topic in topics for part in self._parts.pop(topic, ()))]
