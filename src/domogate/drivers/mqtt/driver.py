"""The MQTT driver. It reaches a module through the broker in the option `broker` of the module, or through the only broker."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from domogate.common.log import get_logger
from domogate.domain.commands import Order
from domogate.domain.faults import DeviceOffline
from domogate.domain.ids import Id
from domogate.domain.reachability import Absence, AbsenceReason, Evidence
from domogate.domain.states import Report
from domogate.drivers.mqtt import calls
from domogate.drivers.mqtt.broker import MqttBroker
from domogate.drivers.mqtt.broker_session import BrokerSession
from domogate.drivers.mqtt.module import DrivenModule, MisconfiguredModule
from domogate.drivers.mqtt.options import find_option_problems, read_options
from domogate.drivers.report_queue import ReportQueues
from domogate.ports import AttachedModule, Clock, ConnectionHealth, Picture, ReportSink

_log = get_logger(__name__)

REPORT_PAUSE = 1.0
"""In seconds: the pause between two reports of a module. Only some changes wait for its end (see `ReportQueue`)."""


class _Entry:
    """A module of a plant, and its session: the object that keeps the connection to its broker.

    If the session is None, the module is not driven.
    """

    __slots__ = ("attached", "module", "session")

    def __init__(
        self, attached: AttachedModule, module: DrivenModule | MisconfiguredModule, session: BrokerSession | None
    ) -> None:
        self.attached = attached
        self.module = module
        self.session = session

    def matches(self, attached: AttachedModule) -> bool:
        before, after = self.attached.module, attached.module
        return isinstance(self.module, DrivenModule) and before.kind is after.kind and before.options == after.options

    def remove(self) -> None:
        if self.session is not None and isinstance(self.module, DrivenModule):
            self.session.remove(self.module)


class Mqtt:
    """Drives modules that use MQTT, with one connection for each broker."""

    name = "mqtt"

    def __init__(
        self, clock: Clock, brokers: Sequence[MqttBroker] = (), monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        names = [broker.name for broker in brokers]
        if len(set(names)) < len(names):
            raise ValueError("two MQTT brokers have the same name")
        self._clock = clock
        self._monotonic = monotonic
        self._brokers = {broker.name: broker for broker in brokers}
        self.sessions: dict[str, BrokerSession] = {}
        """While the driver runs: the objects that keep the connections to the brokers, by the name of the broker."""
        self._plants: dict[Id, dict[Id, _Entry]] = {}
        self._reports = ReportQueues(clock, REPORT_PAUSE)
        self._tasks: list[asyncio.Task[None]] = []
        self._failed = asyncio.Event()
        self._failure: Exception | None = None

    # lifecycle

    async def start(self, report: ReportSink) -> None:
        self._reports.start(report)
        self._failed.clear()
        self._failure = None
        for name, broker in self._brokers.items():
            session = self.sessions[name] = BrokerSession(broker, self._clock, self._reports.add)
            for task, run in session.list_tasks():
                self._tasks.append(asyncio.create_task(self._watch(task, name, run), name=f"{task} of the MQTT broker {name}"))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for session in self.sessions.values():
            session.close()
        await self._reports.stop()
        self._tasks.clear()
        self.sessions.clear()
        self._plants.clear()

    async def wait_failed(self) -> Exception:
        """Wait for the first unexpected error in a task of the driver, and return it.

        A lost connection to a broker does not count as unexpected.
        """
        while self._failure is None:
            await self._failed.wait()
        return self._failure

    def list_connections(self) -> list[ConnectionHealth]:
        return [session.health for session in self.sessions.values()]

    async def _watch(self, task: str, broker: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await run()
        except Exception as error:
            _log.error("driver failed", driver=self.name, broker=broker, task=task, exc_info=error)
            self._failure = error
            self._failed.set()

    # plants

    async def attach(self, plant_id: Id, modules: Sequence[AttachedModule]) -> None:
        before = self._plants.get(plant_id, {})
        after: dict[Id, _Entry] = {}
        self._plants[plant_id] = after
        for attached in modules:
            entry = before.get(attached.module.id)
            if entry is not None and entry.matches(attached):
                after[attached.module.id] = entry
                del before[attached.module.id]
                entry.attached = attached
                if isinstance(entry.module, DrivenModule):
                    entry.module.update(attached)
        for entry in before.values():
            entry.remove()
        for attached in modules:
            if attached.module.id not in after:
                after[attached.module.id] = self._make_entry(plant_id, attached)
            self._reports.add(after[attached.module.id].module)

    async def detach(self, plant_id: Id) -> None:
        for entry in self._plants.pop(plant_id, {}).values():
            entry.remove()
        await self._reports.remove(plant_id)

    def _make_entry(self, plant_id: Id, attached: AttachedModule) -> _Entry:
        session = self._find_session(attached)
        if isinstance(session, Absence):
            return _Entry(attached, MisconfiguredModule(plant_id, attached, session), None)
        options = read_options(attached.module.options)
        codec = options.codec_for(attached.module.kind)
        module = DrivenModule(
            plant_id,
            attached,
            codec,
            options.silent_after,
            monotonic=self._monotonic,
            gives_pictures=options.gives_pictures,
        )
        session.add(module)
        return _Entry(attached, module, session)

    def _find_session(self, attached: AttachedModule) -> BrokerSession | Absence:
        """Return the object that keeps the connection to the broker. If the module cannot be driven, return the reason."""
        reason, now = AbsenceReason.MISCONFIGURED, self._clock.now()
        for path, words in find_option_problems(attached.module.kind, attached.module.options):
            where = ".".join(map(str, path))
            return Absence(reason, now, f"option {where}: {words}" if where else words)
        wanted = attached.module.options.get("broker")
        if not self.sessions:
            return Absence.of(reason, now, Evidence.NO_BROKER)
        names = ", ".join(self.sessions)
        if wanted is None and len(self.sessions) > 1:
            return Absence.of(reason, now, Evidence.BROKER_MISSING, brokers=names)
        session = next(iter(self.sessions.values())) if wanted is None else self.sessions.get(wanted)
        return session or Absence.of(reason, now, Evidence.BROKER_UNKNOWN, broker=str(wanted), brokers=names)

    # orders and reads

    async def execute(self, order: Order) -> Report:
        session, module = self._find_driven(order.plant_id, order.module_id)
        with self._reports.hold(module):
            return await calls.execute(session, module, order)

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        entry = self._find(plant_id, module_id)
        if entry.session is None or isinstance(entry.module, MisconfiguredModule):
            return entry.module.report(self._clock.now())
        return await calls.read(entry.session, entry.module, deadline)

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        session, module = self._find_driven(plant_id, module_id)
        return await calls.take_picture(session, module, deadline)

    def _find_driven(self, plant_id: Id, module_id: Id) -> tuple[BrokerSession, DrivenModule]:
        entry = self._find(plant_id, module_id)
        if entry.session is None or isinstance(entry.module, MisconfiguredModule):
            absence = entry.module.absence
            raise DeviceOffline(f"the device cannot be reached: {'' if absence is None else absence.evidence}")
        return entry.session, entry.module

    def _find(self, plant_id: Id, module_id: Id) -> _Entry:
        entry = self._plants.get(plant_id, {}).get(module_id)
        if entry is None:
            raise DeviceOffline("MQTT does not drive this module")
        return entry
