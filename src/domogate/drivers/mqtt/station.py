"""A broker and all modules behind it: who listens to which topic, what is read when, and how orders go out."""

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any

import structlog

from domogate.domain.commands import Order
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.ids import Id
from domogate.domain.reachability import AbsenceReason
from domogate.domain.states import Report
from domogate.drivers.mqtt.broker import MqttBroker
from domogate.drivers.mqtt.complaints import Complaints
from domogate.drivers.mqtt.connection import Connection, ConnectionLost
from domogate.drivers.mqtt.facts import Facts, Publication, Unreadable, Unsayable
from domogate.drivers.mqtt.inbox import Inbox
from domogate.drivers.mqtt.kinds import wish
from domogate.drivers.mqtt.link import Link
from domogate.drivers.mqtt.module import DrivenModule, Wait
from domogate.drivers.mqtt.packets import FAILURE, NO_MATCHING_SUBSCRIBERS, words_for
from domogate.ports import Clock, Picture

_log = structlog.get_logger(__name__)

READ_EVERY = 0.05
"""Seconds in which messages gather before they are read: of each topic only the newest is."""
AT_ONCE, BREATH = 10, 0.001
"""So many messages are read before others get their turn, and for so long: all at once would hold them up for milliseconds."""
ASK_AFTER, ASK_PACE = 1.0, 0.1
"""Retained messages come first; then modules that said nothing are asked, few at a time: radio networks are slow."""
NEVER_AFTER, LOOK_EVERY = 30.0, 5.0
TRUSTED = 60.0
"""Seconds for which a module that speaks by itself need not be asked."""


class Station:
    """Drives the modules behind one broker. `note` is called with each module of which there is news."""

    def __init__(self, broker: MqttBroker, clock: Clock, note: Callable[[DrivenModule], None]) -> None:
        self._clock = clock
        self._note = note
        self._link = Link(broker, deliver=self._deliver, serve=self._serve, lost=self._lose)
        self._inbox = Inbox()
        self._modules: dict[tuple[Id, Id], DrivenModule] = {}
        self._routes: dict[bytes, list[DrivenModule]] = {}
        self._urgent: dict[bytes, int] = {}
        """Topics that somebody waits to hear on, and how many do."""
        self._subscribed: set[bytes] = set()
        self._connection: Connection | None = None
        self._trouble: tuple[AbsenceReason, str] | None = None
        self._changed = asyncio.Event()
        self._turn = asyncio.Event()
        self._to_ask: deque[DrivenModule] = deque()
        self._asking = asyncio.Event()
        self.complaints = Complaints(broker.name)
        self.received = 0
        """How many messages came in."""

    def jobs(self) -> Iterable[tuple[str, Callable[[], Coroutine[Any, Any, None]]]]:
        """What is to run for as long as the station is there, by name."""
        return (
            ("connection", self._link.run),
            ("reading", self._keep_reading),
            ("asking", self._keep_asking),
            ("looking", self._keep_looking),
        )

    def close(self) -> None:
        gone = DeviceOffline("the driver is stopping")
        for module in self._modules.values():
            module.end_waits(gone)
            module.gone = True
        self._modules.clear()
        self._routes.clear()
        if self._connection is not None:
            self._connection.close()

    # who is there

    def add(self, module: DrivenModule) -> None:
        self._modules[module.plant_id, module.id] = module
        for topic, how in module.speech.topics.items():
            self._routes.setdefault(topic.encode(), []).append(module)
            self._inbox.listen(topic.encode(), how.keep)
        if self._trouble is not None:
            module.lose_way(*self._trouble, self._clock.now())
            self._note(module)
        # Whatever is subscribed to already is subscribed to again: that brings what the broker retains.
        self._subscribed.difference_update(topic.encode() for topic in module.speech.topics)
        self._changed.set()

    def remove(self, module: DrivenModule) -> None:
        module.gone = True
        module.end_waits(DeviceOffline("nobody drives this module any more"))
        self._modules.pop((module.plant_id, module.id), None)
        for topic in map(str.encode, module.speech.topics):
            left = [one for one in self._routes.get(topic, ()) if one is not module]
            if left:
                self._routes[topic] = left
            else:
                self._routes.pop(topic, None)
                self._inbox.leave(topic)
        self._changed.set()

    # the connection

    async def _serve(self, connection: Connection) -> None:
        self._connection, self._trouble = connection, None
        self._subscribed.clear()
        self._changed.set()
        while not connection.lost.done():
            changed = asyncio.ensure_future(self._changed.wait())
            try:
                await asyncio.wait((changed, connection.lost), return_when=asyncio.FIRST_COMPLETED)
            finally:
                changed.cancel()
            if self._changed.is_set() and not connection.lost.done():
                self._changed.clear()
                await self._subscribe(connection)

    async def _subscribe(self, connection: Connection) -> None:
        """Bring what is subscribed to into line with who is there."""
        gone = [topic for topic in self._subscribed if topic not in self._routes]
        new = [topic for topic in self._routes if topic not in self._subscribed]
        self._subscribed.difference_update(gone)
        self._subscribed.update(new)
        wanted = [(topic.decode(), self._qos_of(topic)) for topic in new]
        waiting = [module for module in self._modules.values() if module.listening_since is None]
        reasons = await connection.subscribe(wanted)
        now = self._clock.now()
        for module in waiting:
            module.find_way(now)
        for (topic, _), reason in zip(wanted, reasons, strict=True):
            if reason >= FAILURE:
                for module in self._routes.get(topic.encode(), ()):
                    module.refuse_topic(topic, words_for(reason), now)
        for module in waiting:
            self._note(module)
        self._ask_soon(waiting)
        self._turn_over()
        await connection.unsubscribe([topic.decode() for topic in gone])

    def _qos_of(self, topic: bytes) -> int:
        name = topic.decode()
        return max(module.speech.topics[name].qos for module in self._routes[topic])

    def _lose(self, why: AbsenceReason, evidence: str) -> None:
        self._connection, self._trouble = None, (why, evidence)
        now = self._clock.now()
        for module in self._modules.values():
            module.lose_way(why, evidence, now)
            self._note(module)
        self._turn_over()

    def _turn_over(self) -> None:
        """Wake whoever waits to know how things stand."""
        self._turn.set()
        self._turn = asyncio.Event()

    # what comes in

    def _deliver(self, topic: bytes, payload: bytes) -> None:
        self.received += 1
        if topic in self._urgent:
            for earlier in self._inbox.take_of(topic):
                self._read(topic, earlier)
            self._read(topic, payload)
        else:
            self._inbox.put(topic, payload)

    async def _keep_reading(self) -> None:
        while True:
            await self._inbox.wait_filled()
            await asyncio.sleep(READ_EVERY)
            for count, (topic, payload) in enumerate(self._inbox.take(), start=1):
                self._read(topic, payload)
                if count % AT_ONCE == 0:
                    await asyncio.sleep(BREATH)

    def _read(self, topic: bytes, payload: bytes) -> None:
        for module in self._routes.get(topic, ()):
            away = module.absence is not None
            try:
                module.hear(topic.decode(), payload, self._clock.now())
            except Unreadable as unreadable:
                self.complaints.take(topic, payload, str(unreadable))
            except Exception as error:
                self.complaints.take(topic, payload, repr(error))
            if away and module.absence is None:
                self._ask_soon((module,))
            self._note(module)

    # what is not heard

    def _ask_soon(self, modules: Iterable[DrivenModule]) -> None:
        self._to_ask.extend(module for module in modules if module not in self._to_ask)
        if self._to_ask:
            self._asking.set()

    async def _keep_asking(self) -> None:
        while True:
            await self._asking.wait()
            await asyncio.sleep(ASK_AFTER)
            while self._to_ask:
                module = self._to_ask.popleft()
                unheard = module.heard_at is None or module.heard_at < (module.listening_since or 0.0)
                connection = self._connection
                if module.gone or module.absence is not None or connection is None or not unheard:
                    continue
                with suppress(ConnectionLost):
                    for question in module.speech.ask():
                        connection.publish(question.topic, question.payload, math.ceil(NEVER_AFTER))
                await asyncio.sleep(ASK_PACE)
            self._asking.clear()

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            self.look()

    def look(self) -> None:
        """Notice who is silent, and say what could not be read meanwhile."""
        for module in self._modules.values():
            if not self._inbox.holds_any(map(str.encode, module.speech.topics)):  # else it spoke, and was not read yet
                module.check_quiet(self._clock.now(), NEVER_AFTER)
                self._note(module)
        self.complaints.say()

    # orders and questions

    async def execute(self, module: DrivenModule, order: Order) -> Report:
        try:
            wanted = wish(module.kind, order.command, module.speech.always)
            said = module.speech.say(wanted)
        except Unsayable as unsayable:
            raise DeviceRefused(str(unsayable)) from None
        await self._until_settled(module, order.deadline)
        if (absence := module.absence) is not None:
            raise DeviceOffline(f"the device cannot be reached ({absence.why}): {absence.evidence}")
        if said:
            await self._converse(module, wanted, said, order.deadline, by_broker=module.speech.confirmed_by_broker)
        return module.report(self._clock.now())

    async def read(self, module: DrivenModule, deadline: float) -> Report:
        await self._until_settled(module, deadline)
        now = self._clock.now()
        questions = module.speech.ask()
        heard_lately = module.heard_at is not None and now - module.heard_at < TRUSTED and not module.unanswered
        if module.absence is not None or (module.state is not None and (heard_lately or not questions)):
            return module.report(now)
        if not questions:
            raise DeviceTimeout("the device has not said anything yet, and cannot be asked")
        await self._converse(module, Facts(), questions, deadline, by_broker=False)
        return module.report(self._clock.now())

    async def take_picture(self, module: DrivenModule, deadline: float) -> Picture:
        pictures = module.pictures
        if pictures is None:
            raise DeviceRefused("the module's options do not say where its pictures are")
        await self._until_settled(module, deadline)
        while True:
            if module.gone:
                raise DeviceOffline("nobody drives this module any more")
            if (absence := module.absence) is not None:
                raise DeviceOffline(f"the device cannot be reached ({absence.why}): {absence.evidence}")
            if not pictures.is_on:
                raise DeviceRefused("the camera is off")
            if (newest := pictures.find_newest()) is not None:
                return newest
            await self._in_time(pictures.wait(), deadline, "the camera gave no picture in time")

    async def _until_settled(self, module: DrivenModule, deadline: float) -> None:
        """Just started, it is not known yet whether the broker is there: that takes a moment."""
        while module.listening_since is None and module.absence is None and not module.gone:
            await self._in_time(self._turn.wait(), deadline, "the broker was not reached in time")
        if module.gone:
            raise DeviceOffline("nobody drives this module any more")

    async def _converse(
        self, module: DrivenModule, wanted: Facts, said: Iterable[Publication], deadline: float, *, by_broker: bool
    ) -> None:
        """Say it, once and in time, and wait for the answer."""
        wait = module.expect(wanted)
        topics = [topic.encode() for topic in module.speech.topics]
        for topic in topics:
            self._urgent[topic] = self._urgent.get(topic, 0) + 1
        try:
            acks = []
            for one in said:
                acks.append(await self._publish(one, wait, deadline))
                module.unanswered = True  # from the first message on, whatever becomes of the others
            if by_broker:
                await self._in_time(
                    asyncio.gather(*acks, return_exceptions=True), deadline, "the broker did not acknowledge it"
                )
                wait.end()
            await self._hear_answer(wait, deadline)
            module.unanswered = False
        finally:
            module.forget(wait)
            for topic in topics:
                self._urgent[topic] -= 1
                if not self._urgent[topic]:
                    del self._urgent[topic]

    async def _hear_answer(self, wait: Wait, deadline: float) -> None:
        """An answer that is there counts, also when the gateway itself was held up until the time was over."""
        await asyncio.wait((wait.answered,), timeout=max(0.0, deadline - self._clock.now()))
        if not wait.answered.done():
            raise DeviceTimeout("the device did not confirm in time")
        wait.answered.result()

    async def _publish(self, publication: Publication, wait: Wait, deadline: float) -> "asyncio.Future[bytes]":
        connection = self._connection
        if connection is None:
            raise DeviceOffline("the connection to the broker is lost")
        await self._in_time(connection.wait_writable(), deadline, "the broker takes nothing")
        remaining = deadline - self._clock.now()
        if remaining <= 0:
            raise DeviceTimeout("the device was not told: the time was up")
        try:
            # In whole seconds, and 0 is for ever with some brokers (Decision 0038).
            ack = connection.publish(publication.topic, publication.payload, max(1, math.floor(remaining)))
        except ConnectionLost as lost:
            raise DeviceOffline(f"the connection to the broker is lost: {lost}") from None
        ack.add_done_callback(lambda done: _judge(done, publication.topic, wait))
        return ack

    async def _in_time(self, what: Awaitable[object], deadline: float, words: str) -> None:
        try:
            async with asyncio.timeout(max(0.0, deadline - self._clock.now())):
                await what
        except TimeoutError:
            raise DeviceTimeout(words) from None


def _judge(ack: "asyncio.Future[bytes]", topic: str, wait: Wait) -> None:
    """What the broker said to a publication. That the connection was lost says nothing: the device may have heard it."""
    if ack.cancelled() or ack.exception() is not None:
        return
    reason = ack.result()[0]
    if reason >= FAILURE:
        wait.end(DeviceRefused(f"the broker does not let the gateway publish to {topic}: {words_for(reason)}"))
    elif reason == NO_MATCHING_SUBSCRIBERS:
        wait.end(DeviceOffline(f"nobody listens to {topic}"))
