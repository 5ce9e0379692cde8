"""One bridge: publishes the modules of a plant, and takes commands. Its memory is limited, even if a broker sends much."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from math import inf

import msgspec

from domogate.common.limited_log import LimitedLog
from domogate.common.log import get_logger
from domogate.common.tasks import cancel, wait_for_event
from domogate.common.window_limiter import WindowLimiter
from domogate.domain.bridges import BridgePlan
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id, new_id
from domogate.ports import BridgeBroker, BridgeConnection, Clock
from domogate.services.bridges.announcements import announce
from domogate.services.bridges.commands import BridgeCommands
from domogate.services.bridges.rights import BridgeRights, Shown
from domogate.services.bridges.topics import OFFLINE, ONLINE, BridgeTopics
from domogate.services.events.cloud_events import show_module
from domogate.services.events.frames import present_event
from domogate.services.homes.commands import HomeCommands
from domogate.services.plants.read_model import ModuleView

_log = get_logger(__name__)

MESSAGES, MESSAGES_SPAN = 600, 60.0
"""A bridge takes at most `MESSAGES` messages in `MESSAGES_SPAN` seconds, and drops further messages.

Commands and late last wills of earlier connections count together.
"""
MOST_WAITING, WORKERS = 100, 8
"""At most `MOST_WAITING` commands wait; further commands are dropped. `WORKERS` commands are executed at the same time."""
MOST_RETAINED = 50_000
"""The largest number of topics with retained messages of earlier connections that a bridge remembers.

The bridge needs these topics to remove the messages that it does not publish any more.
"""
_MARKER_WITHIN = 10.0
_STALE_PAUSE = 1.0
_CHECK_EVERY = 60.0
"""Seconds after which the rights are checked again, even if nothing changed."""
_BATCH = 20
_GRACE = 0.5
"""In seconds. When the bridge ends, running commands get this time to end."""


class Bridge:
    """Publishes the modules of a plant to a broker, and takes commands from it. Implements BridgeClient.

    Call `change_state` when the state of a module changed, and `change_all` after other changes.
    """

    def __init__(
        self,
        plan: BridgePlan,
        broker: BridgeBroker,
        rights: BridgeRights,
        commands: HomeCommands,
        clock: Clock,
        is_current: Callable[[], bool],
        wait_current: Callable[[], Awaitable[None]],
    ) -> None:
        """`is_current` returns whether this gateway knows the latest rights.

        `wait_current` waits until this gateway knows the latest rights. It raises Internal if this takes too long.
        """
        self.plan = plan
        self._broker = broker
        self._rights = rights
        self._clock = clock
        self._is_current = is_current
        self._wait_current = wait_current
        self._topics = BridgeTopics(plan)
        self._commands = BridgeCommands(commands, self._find_latest_rights)
        self._connection: BridgeConnection | None = None
        self._retained: dict[str, bytes | None] = {}
        """The payloads of the retained messages at the broker, by topic. The payload of a message that an earlier connection
        published is None: it is not known.
        """
        self._shown: Shown | None = None
        self._has_rights: bool | None = None
        self._changed: set[Id] = set()
        self._all_changed = True
        self._check_at = 0.0
        """The time at which the rights are checked again."""
        self._is_declared_offline = False
        """True if the last will of an earlier connection (the message that the bridge is offline) arrived late.

        Then the bridge publishes again that it is online.
        """
        self._is_signing_off = False
        self._wake = asyncio.Event()
        self._marker, self._marked = b"", asyncio.Event()
        self._is_reading_retained = False
        self._waiting: deque[tuple[Id, bytes]] = deque()
        self._command_waits = asyncio.Event()
        self._is_ending = False
        self._limiter = WindowLimiter(MESSAGES, MESSAGES_SPAN)
        self._dropped = LimitedLog(_log, "commands dropped")
        self._run_lock = asyncio.Lock()
        self.cleared = asyncio.Event()
        """Set when this bridge has removed its retained messages, because its setting is `active = false`."""

    @property
    def will(self) -> tuple[str, bytes] | None:
        return (self._topics.availability, OFFLINE) if self.plan.active else None

    @property
    def user_id(self) -> Id | None:
        """The user whose rights the bridge has, or None if this user has no rights now."""
        return None if self._shown is None else self._shown.principal.user_id

    # what changed

    def change_state(self, module_id: Id) -> None:
        self._changed.add(module_id)
        self._wake.set()

    def change_all(self) -> None:
        self._all_changed = True
        self._wake.set()

    # the connection

    async def run(self) -> None:
        """Keep the bridge running until this method is cancelled.

        If an earlier call was cancelled but has not ended yet, first wait for its end: both calls use the same attributes.
        """
        async with self._run_lock:
            await self._run()

    async def _run(self) -> None:
        self._is_ending = self._is_signing_off = False
        workers = [asyncio.create_task(self._execute_commands(), name="commands of a bridge") for _ in range(WORKERS)]
        try:
            await self._broker.run(self)
        finally:
            self._is_ending = True
            self._waiting.clear()
            self._command_waits.set()
            await asyncio.wait(workers, timeout=_GRACE)
            await cancel(*workers)

    async def sign_off(self) -> None:
        """Publish that the modules of this bridge are not available any more. Does nothing without a connection."""
        self._is_signing_off = True
        if self._connection is not None:
            await self._connection.publish(self._topics.availability, OFFLINE, retain=True)

    async def serve(self, connection: BridgeConnection) -> None:
        try:
            await self._read_retained(connection)
            self._connection = connection
            if not self.plan.active:
                await self._publish_wanted(connection, {})
                await connection.publish(self._topics.availability, b"", retain=True)
                self.cleared.set()
                return
            await connection.subscribe(self._topics.availability)
            if self.plan.commands:
                await connection.subscribe(self._topics.commands)
            await connection.publish(self._topics.availability, ONLINE, retain=True)
            self._all_changed = True
            while True:
                await wait_for_event(self._wake, await self._publish_changes(connection))
        finally:
            self._connection = None

    async def _read_retained(self, connection: BridgeConnection) -> None:
        """Learn which retained messages the broker has, so that old messages can be removed.

        After the subscription, the bridge publishes a marker. When the marker arrives, all retained messages have arrived.
        """
        self._retained.clear()
        self._marker, self._marked = new_id().encode(), asyncio.Event()
        self._is_reading_retained = True
        filters = (*self._topics.retained, self._topics.marker)
        await connection.subscribe(*filters)
        await connection.publish(self._topics.marker, self._marker, retain=False)
        if not await wait_for_event(self._marked, _MARKER_WITHIN):
            _log.warning("old retained messages may be left at the broker", broker=self._broker.name, topic=self._topics.marker)
        await connection.unsubscribe(*filters)
        self._is_reading_retained = False

    def receive(self, topic: str, payload: bytes, *, retained: bool) -> None:
        if self._is_reading_retained:
            if payload == self._marker and topic == self._topics.marker:
                self._marked.set()
            elif retained and payload and self._topics.is_retained(topic) and len(self._retained) < MOST_RETAINED:
                self._retained[topic] = None
            return
        module_id = self._topics.find_commanded(topic)
        is_command = module_id is not None and self.plan.commands and not retained
        is_late_will = topic == self._topics.availability and payload != ONLINE and not self._is_signing_off
        if not is_command and not is_late_will:
            return  # A retained command is dropped too: the broker would send it again after each reconnect.
        now = self._clock.now()
        if self._limiter.wait("", now) or len(self._waiting) >= MOST_WAITING:
            self._dropped.warn(f"too many messages to {self._topics.commands}")
            return
        self._limiter.count("", now)
        if module_id is None:
            self._is_declared_offline = True
            self._wake.set()
        else:
            self._waiting.append((module_id, payload))
            self._command_waits.set()

    # publishing

    async def _publish_changes(self, connection: BridgeConnection) -> float:
        """Publish what changed. Return the seconds after which this method must be called again, even without a change.

        Publish only if it is certain that this gateway knows the latest rights of the user.
        """
        self._wake.clear()
        if not self._is_current():
            return _STALE_PAUSE
        if self._is_declared_offline:
            self._is_declared_offline = False
            await connection.publish(self._topics.availability, ONLINE, retain=True)
        shown = self._shown
        if self._all_changed or self._check_at <= self._clock.now() or (shown is not None and not self._rights.is_fresh(shown)):
            self._all_changed = False
            self._changed.clear()
            self._shown = shown = await self._find_rights()
            self._note_rights(shown)
            self._check_at = min(self._clock.now() + _CHECK_EVERY, inf if shown is None else shown.until)
            await self._publish_wanted(connection, await self._print_all(shown))
        changed, self._changed = self._changed, set()
        for module_id in changed:
            view = None if shown is None else shown.modules.get(module_id)
            if view is not None and view.module.kind is not DeviceKind.SCENE:
                await self._publish_retained(connection, self._topics.state(module_id), _print_state(view))
            if self._all_changed:
                break  # The rights may have changed. The present states of all modules follow.
        return 0.0 if self._changed or self._all_changed else max(0.1, self._check_at - self._clock.now())

    def _note_rights(self, shown: Shown | None) -> None:
        if self._has_rights is not (shown is not None):
            self._has_rights = shown is not None
            if shown is None:
                _log.warning("the user of a bridge has no rights on its plant", plant=self.plan.plant_id, base=self.plan.base)

    async def _find_rights(self) -> Shown | None:
        return await self._rights.find(self.plan, self._broker)

    async def _find_latest_rights(self) -> Shown | None:
        await self._wait_current()
        return await self._find_rights()

    async def _print_all(self, shown: Shown | None) -> dict[str, bytes]:
        """Return the retained messages that the bridge publishes, by topic: states and announcements of modules."""
        wanted: dict[str, bytes] = {}
        if shown is None:
            return wanted
        areas = {module.id: room.name for room in shown.home.view.ambients.values() for module in room.modules}
        for number, (module_id, view) in enumerate(shown.modules.items(), start=1):
            if view.module.kind is not DeviceKind.SCENE:
                wanted[self._topics.state(module_id)] = _print_state(view)
            if self.plan.announced_under:
                area = areas.get(module_id, shown.home.plant.name)
                wanted |= announce(shown.home, view, self._topics, area=area, commands=self.plan.commands)
            if number % _BATCH == 0:
                await asyncio.sleep(0)  # Other tasks must not wait for a large plant.
        return wanted

    async def _publish_wanted(self, connection: BridgeConnection, wanted: dict[str, bytes]) -> None:
        for topic in [topic for topic in self._retained if topic not in wanted]:
            await connection.publish(topic, b"", retain=True)
            del self._retained[topic]
        for topic, payload in wanted.items():
            if self._all_changed:
                return  # The rights may have changed. `_publish_changes` runs again.
            await self._publish_retained(connection, topic, payload)

    async def _publish_retained(self, connection: BridgeConnection, topic: str, payload: bytes) -> None:
        if self._retained.get(topic) != payload:
            await connection.publish(topic, payload, retain=True)
            self._retained[topic] = payload

    # commands

    async def _execute_commands(self) -> None:
        while not self._is_ending:
            if not self._waiting:
                self._command_waits.clear()
                await self._command_waits.wait()
                continue
            module_id, payload = self._waiting.popleft()
            try:
                answer = await self._commands.execute(module_id, payload)
                if self._connection is not None:
                    await self._connection.publish(self._topics.result(module_id), msgspec.json.encode(answer), retain=False)
            except Exception as failed:  # The connection was lost, or the store does not answer.
                self._dropped.warn(f"{type(failed).__name__}: {failed}")


def _print_state(view: ModuleView) -> bytes:
    return msgspec.json.encode(show_module(view.module, present_event(view)))
