"""One broker and its modules: subscriptions, incoming messages, polling and silent modules. `calls.py` sends the orders."""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from domogate.domain.faults import DeviceOffline
from domogate.domain.ids import Id
from domogate.domain.reachability import AbsenceReason
from domogate.drivers.mqtt.broadcast import Broadcast
from domogate.drivers.mqtt.broker import MqttBroker
from domogate.drivers.mqtt.broker_connection import BrokerConnection, ConnectionOptions
from domogate.drivers.mqtt.connection import Connection, ConnectionLost
from domogate.drivers.mqtt.message_queue import MessageQueue
from domogate.drivers.mqtt.module import DrivenModule
from domogate.drivers.mqtt.packets import FAILURE, words_for
from domogate.drivers.mqtt.payloads import Unreadable
from domogate.drivers.mqtt.warning_counter import WarningCounter
from domogate.ports import Clock, ConnectionHealth

READ_EVERY = 0.05
"""Messages are collected for this number of seconds before they are read. For most topics, only the newest message is read."""
READ_BATCH, READ_PAUSE = 10, 0.001
"""After `READ_BATCH` messages, reading pauses for `READ_PAUSE` seconds.

Without these pauses, other tasks would wait for some milliseconds.
"""
POLL_DELAY, POLL_INTERVAL = 1.0, 0.1
"""Seconds to wait for retained messages after subscribing, and seconds between two polls.

After the wait, the modules that have not reported their state are polled: each gets a request for its state. They are polled
one by one, because radio networks are slow.
"""
NEVER_SEEN_AFTER, CHECK_EVERY = 30.0, 5.0


class BrokerSession:
    """Drives the modules that use one broker. `on_change` is called with each module that may have changed."""

    def __init__(self, broker: MqttBroker, clock: Clock, on_change: Callable[[DrivenModule], None]) -> None:
        self.clock = clock
        self.connection: Connection | None = None
        self._on_change = on_change
        self._broker_connection = BrokerConnection(
            broker, ConnectionOptions(self._deliver), serve=self._serve, lost=self._connection_lost
        )
        self._queue = MessageQueue()
        self._modules: dict[tuple[Id, Id], DrivenModule] = {}
        self._routes: dict[bytes, list[DrivenModule]] = {}
        self._urgent: dict[bytes, int] = {}
        """The topics on which callers wait for a message, each with the number of these callers."""
        self._subscribed: set[bytes] = set()
        self._problem: tuple[AbsenceReason, str] | None = None
        self._since: float | None = None
        """The time at which the connection was last made or lost. None until the first attempt to connect has ended."""
        self._modules_changed = asyncio.Event()
        self.reachability = Broadcast()
        """Wakes waiting callers when topics have been subscribed, and when the connection is lost."""
        self._to_poll: deque[DrivenModule] = deque()
        self._poll_wanted = asyncio.Event()
        self.warnings = WarningCounter(broker.name)
        self.received = 0
        """Number of messages that were received."""

    def list_tasks(self) -> Iterable[tuple[str, Callable[[], Coroutine[Any, Any, None]]]]:
        """Return the tasks of the session, each with its name. Each task runs until it is cancelled."""
        return (
            ("connection", self._broker_connection.run),
            ("reader", self._run_reader),
            ("poller", self._run_poller),
            ("checks", self._run_checks),
        )

    def close(self) -> None:
        stopping = DeviceOffline("the driver is stopping")
        for module in self._modules.values():
            module.end_calls(stopping)
            module.removed = True
        self._modules.clear()
        self._routes.clear()
        if self.connection is not None:
            self.connection.close()

    # modules

    def add(self, module: DrivenModule) -> None:
        self._modules[module.plant_id, module.id] = module
        for topic, subscription in module.codec.topics.items():
            self._routes.setdefault(topic.encode(), []).append(module)
            self._queue.add_topic(topic.encode(), subscription.policy)
        if self._problem is not None:
            module.lose_connection(*self._problem, self.clock.now())
            self._on_change(module)
        # A topic that is already subscribed is subscribed again, because the broker then sends its retained message.
        self._subscribed.difference_update(topic.encode() for topic in module.codec.topics)
        self._modules_changed.set()

    def remove(self, module: DrivenModule) -> None:
        module.removed = True
        module.end_calls(DeviceOffline("the module is no longer driven"))
        self._modules.pop((module.plant_id, module.id), None)
        for topic in map(str.encode, module.codec.topics):
            left = [one for one in self._routes.get(topic, ()) if one is not module]
            if left:
                self._routes[topic] = left
            else:
                self._routes.pop(topic, None)
                self._queue.remove_topic(topic)
        self._modules_changed.set()

    # connection

    @property
    def health(self) -> ConnectionHealth:
        broker = self._broker_connection.broker
        problem = "" if self._problem is None else self._problem[1]
        if self.connection is not None:
            return ConnectionHealth(broker.name, broker.url, "connected", self._since)
        return ConnectionHealth(broker.name, broker.url, "lost" if problem else "connecting", self._since, problem)

    async def _serve(self, connection: Connection) -> None:
        self.connection, self._problem, self._since = connection, None, self.clock.now()
        self._subscribed.clear()
        self._modules_changed.set()
        while not connection.lost.done():
            changed = asyncio.ensure_future(self._modules_changed.wait())
            try:
                await asyncio.wait((changed, connection.lost), return_when=asyncio.FIRST_COMPLETED)
            finally:
                changed.cancel()
            if self._modules_changed.is_set() and not connection.lost.done():
                self._modules_changed.clear()
                await self._subscribe(connection)

    async def _subscribe(self, connection: Connection) -> None:
        """Subscribe to the topics of new modules, and unsubscribe from the topics of removed modules."""
        old = [topic for topic in self._subscribed if topic not in self._routes]
        new = [topic for topic in self._routes if topic not in self._subscribed]
        self._subscribed.difference_update(old)
        self._subscribed.update(new)
        wanted = [(topic.decode(), self._qos_of(topic)) for topic in new]
        waiting = [module for module in self._modules.values() if module.subscribed_since is None]
        reasons = await connection.subscribe(wanted)
        now = self.clock.now()
        for module in waiting:
            module.set_subscribed(now)
        for (topic, _), reason in zip(wanted, reasons, strict=True):
            if reason >= FAILURE:
                for module in self._routes.get(topic.encode(), ()):
                    module.refuse_topic(topic, words_for(reason), now)
        for module in waiting:
            self._on_change(module)
        self._poll_soon(waiting)
        self.reachability.notify()
        await connection.unsubscribe([topic.decode() for topic in old])

    def _qos_of(self, topic: bytes) -> int:
        name = topic.decode()
        return max(module.codec.topics[name].qos for module in self._routes[topic])

    def _connection_lost(self, why: AbsenceReason, evidence: str) -> None:
        now = self.clock.now()
        if self._problem is None:
            self._since = now
        self.connection, self._problem = None, (why, evidence)
        for module in self._modules.values():
            module.lose_connection(why, evidence, now)
            self._on_change(module)
        self.reachability.notify()

    # incoming messages

    @contextmanager
    def urgent(self, module: DrivenModule) -> Iterator[None]:
        """Inside the `with` block, read messages of this module as soon as they arrive.

        A caller waits for these messages.

        Messages that arrived before the block are read first. Otherwise they would be read after newer messages.
        """
        topics = [topic.encode() for topic in module.codec.topics]
        for topic, payload in self._queue.take_of(topics):
            self._dispatch(topic, payload)
        for topic in topics:
            self._urgent[topic] = self._urgent.get(topic, 0) + 1
        try:
            yield
        finally:
            for topic in topics:
                self._urgent[topic] -= 1
                if not self._urgent[topic]:
                    del self._urgent[topic]

    def _deliver(self, topic: bytes, payload: bytes) -> None:
        self.received += 1
        if topic in self._urgent:
            self._dispatch(topic, payload)
        else:
            self._queue.put(topic, payload)

    async def _run_reader(self) -> None:
        while True:
            await self._queue.wait_filled()
            await asyncio.sleep(READ_EVERY)
            count = 0
            for queued in self._queue.list_topics():
                # A message leaves the queue only when it is read: during the pauses, `urgent` may read it first.
                for topic, payload in self._queue.take_of((queued,)):
                    self._dispatch(topic, payload)
                    count += 1
                if count >= READ_BATCH:
                    count = 0
                    await asyncio.sleep(READ_PAUSE)

    def _dispatch(self, topic: bytes, payload: bytes) -> None:
        for module in self._routes.get(topic, ()):
            absent = module.absence is not None
            try:
                module.receive(topic.decode(), payload, self.clock.now())
            except Unreadable as unreadable:
                self.warnings.add(topic, payload, str(unreadable))
            except Exception as error:
                self.warnings.add(topic, payload, repr(error))
            if absent and module.absence is None:
                self._poll_soon((module,))
            self._on_change(module)

    # silent modules

    def _poll_soon(self, modules: Iterable[DrivenModule]) -> None:
        self._to_poll.extend(module for module in modules if module not in self._to_poll)
        if self._to_poll:
            self._poll_wanted.set()

    async def _run_poller(self) -> None:
        while True:
            await self._poll_wanted.wait()
            await asyncio.sleep(POLL_DELAY)
            while self._to_poll:
                module = self._to_poll.popleft()
                silent = module.received_at is None or module.received_at < (module.subscribed_since or 0.0)
                connection = self.connection
                if module.removed or module.absence is not None or connection is None or not silent:
                    continue
                with suppress(ConnectionLost):
                    for request in module.codec.encode_read():
                        await connection.wait_writable()
                        connection.publish(request.topic, request.payload, math.ceil(NEVER_SEEN_AFTER))
                await asyncio.sleep(POLL_INTERVAL)
            self._poll_wanted.clear()

    async def _run_checks(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY)
            self.check_modules()

    def check_modules(self) -> None:
        """Mark the modules that have been silent for too long as absent. Write one log line about unreadable messages."""
        for module in self._modules.values():
            # A module with a message that is not read yet is not silent.
            if not self._queue.holds_any(map(str.encode, module.codec.topics)):
                module.check_silence(self.clock.now(), NEVER_SEEN_AFTER)
                self._on_change(module)
        self.warnings.log()
