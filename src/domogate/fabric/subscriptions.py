"""The shards whose requests this gateway gets over NATS, and the message that tells other gateways about a new holder."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from nats.aio.msg import Msg

from domogate.common.log import get_logger
from domogate.common.tasks import cancel
from domogate.fabric.connection import Handler, NatsConnection

_log = get_logger(__name__)


class ShardSubscriptions:
    """Subscribes this gateway to the NATS subjects of the shards that it holds, and ends the subscriptions of all other shards.

    After the gateway has subscribed to new shards, it sends a message without content on `<cluster>.held`. Other gateways with
    orders or questions that wait for a holder then send them again at once.
    """

    def __init__(self, connection: NatsConnection, cluster: str, on_request: Handler) -> None:
        self._connection = connection
        self._prefix = cluster
        self._on_request = on_request
        self.held: set[int] = set()
        self.moved = asyncio.Event()
        """An asyncio event that is set when shards get a holder. A new asyncio event then replaces the event that was set."""
        self.equal = asyncio.Event()
        """An asyncio event that is set while this gateway is subscribed to exactly the shards in `held`."""
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._connection.subscribe(f"{self._prefix}.held", calling(self._note_move))
        self._task = asyncio.create_task(self._keep_equal(), name="subscriptions of shards")

    async def stop(self) -> None:
        await cancel(self._task)

    def subject_of(self, shard: int) -> str:
        return f"{self._prefix}.shard.{shard}"

    def add(self, shards: Iterable[int]) -> None:
        """Subscribe to the messages for these shards, in the background."""
        self.held.update(shards)
        self._change()
        self._note_move()

    def remove(self, shards: Iterable[int]) -> None:
        """End the subscriptions of these shards, in the background."""
        self.held.difference_update(shards)
        self._change()

    def _change(self) -> None:
        self.equal.clear()
        self._changed.set()

    async def _keep_equal(self) -> None:
        subscribed: set[int] = set()
        while True:
            await self._changed.wait()
            self._changed.clear()
            gone, new = subscribed - self.held, self.held - subscribed
            subscribed = set(self.held)
            await asyncio.gather(*(self._connection.unsubscribe(self.subject_of(shard)) for shard in gone))
            await asyncio.gather(*(self._connection.subscribe(self.subject_of(shard), self._on_request) for shard in new))
            if new:
                # The server gets this message after the subscriptions, so a request that is sent again later finds its holder.
                await signal(self._connection, f"{self._prefix}.held")
            if not self._changed.is_set():
                self.equal.set()

    def _note_move(self) -> None:
        self.moved.set()
        self.moved = asyncio.Event()


def calling(callback: Callable[[], None]) -> Callable[[Msg], Awaitable[None]]:
    """Return a handler that calls `callback` for each message, and ignores the content of the message."""

    async def handle(_message: Msg) -> None:
        callback()

    return handle


async def signal(connection: NatsConnection, subject: str, content: bytes = b"") -> None:
    """Send a message that tells other gateways about a change.

    Without a connection the message is lost, and nothing is raised. The other gateways find the change later by themselves.
    """
    try:
        await connection.publish(subject, content)
    except ConnectionError as error:
        _log.debug("gateways not told; they find the change themselves", subject=subject, reason=str(error))
