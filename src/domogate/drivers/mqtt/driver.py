"""The driver: modules by plant, each behind the broker that its options name."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import structlog

from domogate.domain.commands import Order
from domogate.domain.faults import DeviceOffline
from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.drivers.mqtt.broker import MqttBroker
from domogate.drivers.mqtt.module import BrokenModule, DrivenModule
from domogate.drivers.mqtt.options import find_option_problems, read_options
from domogate.drivers.mqtt.outbox import Outbox
from domogate.drivers.mqtt.station import Station
from domogate.ports import AttachedModule, Clock, Picture, ReportSink

_log = structlog.get_logger(__name__)


class _Place:
    """A module in its plant, what it was placed as, and the station it is behind (None: it cannot be driven)."""

    __slots__ = ("module", "placed", "station")

    def __init__(self, placed: AttachedModule, module: DrivenModule | BrokenModule, station: Station | None) -> None:
        self.placed = placed
        self.module = module
        self.station = station

    def is_same(self, placed: AttachedModule) -> bool:
        before, after = self.placed.module, placed.module
        return isinstance(self.module, DrivenModule) and before.kind is after.kind and before.options == after.options


class Mqtt:
    """Drives what speaks MQTT, over one connection for each broker."""

    name = "mqtt"

    def __init__(self, clock: Clock, brokers: Sequence[MqttBroker] = ()) -> None:
        names = [broker.name for broker in brokers]
        if len(set(names)) < len(names):
            raise ValueError("two MQTT brokers have the same name")
        self._clock = clock
        self._brokers = {broker.name: broker for broker in brokers}
        self._stations: dict[str, Station] = {}
        self._plants: dict[Id, dict[Id, _Place]] = {}
        self._outboxes: dict[Id, Outbox] = {}
        self._report: ReportSink | None = None
        self._jobs: list[asyncio.Task[None]] = []
        self._broke = asyncio.Event()
        self._mistake: Exception | None = None

    # lifecycle

    async def start(self, report: ReportSink) -> None:
        self._report = report
        self._broke.clear()
        self._mistake = None
        for name, broker in self._brokers.items():
            station = self._stations[name] = Station(broker, self._clock, self._note)
            for job, run in station.jobs():
                self._jobs.append(asyncio.create_task(self._watch(job, name, run), name=f"{job} of the MQTT broker {name}"))

    async def stop(self) -> None:
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        for station in self._stations.values():
            station.close()
        for outbox in self._outboxes.values():
            await outbox.stop()
        self._jobs.clear()
        self._stations.clear()
        self._outboxes.clear()
        self._plants.clear()
        self._report = None

    async def wait_failed(self) -> Exception:
        """Brokers come and go without it failing; only a mistake of its own ends one of its tasks."""
        while self._mistake is None:
            await self._broke.wait()
        return self._mistake

    async def _watch(self, job: str, broker: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await run()
        except Exception as error:
            _log.error("driver broke", driver=self.name, broker=broker, job=job, exc_info=error)
            self._mistake = error
            self._broke.set()

    # plants

    async def attach(self, plant_id: Id, modules: Sequence[AttachedModule]) -> None:
        before = self._plants.get(plant_id, {})
        after: dict[Id, _Place] = {}
        self._plants[plant_id] = after
        for placed in modules:
            there = before.get(placed.module.id)
            if there is not None and there.is_same(placed):
                after[placed.module.id] = there
                del before[placed.module.id]
                there.placed = placed
                if isinstance(there.module, DrivenModule):
                    there.module.attach_again(placed)
        for gone in before.values():
            _remove(gone)
        for placed in modules:
            if placed.module.id not in after:
                after[placed.module.id] = self._place(plant_id, placed)
            self._note(after[placed.module.id].module)

    async def detach(self, plant_id: Id) -> None:
        for place in self._plants.pop(plant_id, {}).values():
            _remove(place)
        outbox = self._outboxes.pop(plant_id, None)
        if outbox is not None:
            await outbox.stop()

    def _place(self, plant_id: Id, placed: AttachedModule) -> _Place:
        station, problem = self._find_station(placed)
        if station is None:
            return _Place(placed, BrokenModule(plant_id, placed, problem, self._clock.now()), None)
        options = read_options(placed.module.options)
        speech = options.speech_for(placed.module.kind)
        module = DrivenModule(plant_id, placed, speech, options.silent_after, gives_pictures=options.gives_pictures)
        station.add(module)
        return _Place(placed, module, station)

    def _find_station(self, placed: AttachedModule) -> tuple[Station | None, str]:
        """The station, or what is wrong."""
        for path, words in find_option_problems(placed.module.kind, placed.module.options):
            where = ".".join(map(str, path))
            return None, f"option {where}: {words}" if where else words
        wanted = placed.module.options.get("broker")
        if not self._stations:
            return None, "no MQTT broker is set up; the setting mqtt_brokers lists them"
        if wanted is None and len(self._stations) > 1:
            return None, f"the option broker is missing; there are {', '.join(self._stations)}"
        station = next(iter(self._stations.values())) if wanted is None else self._stations.get(wanted)
        return station, f"there is no MQTT broker {wanted!r}; there are {', '.join(self._stations)}"

    def _note(self, module: DrivenModule | BrokenModule) -> None:
        if self._report is None or not module.has_news:
            return
        outbox = self._outboxes.get(module.plant_id)
        if outbox is None:
            outbox = self._outboxes[module.plant_id] = Outbox(module.plant_id, self._report, self._clock)
        outbox.add(module)

    # orders and questions

    async def execute(self, order: Order) -> Report:
        place = self._find(order.plant_id, order.module_id)
        if place.station is None or isinstance(place.module, BrokenModule):
            raise DeviceOffline(f"the device cannot be reached: {_why(place)}")
        return await place.station.execute(place.module, order)

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        place = self._find(plant_id, module_id)
        if place.station is None or isinstance(place.module, BrokenModule):
            return place.module.report(self._clock.now())
        return await place.station.read(place.module, deadline)

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        place = self._find(plant_id, module_id)
        if place.station is None or isinstance(place.module, BrokenModule):
            raise DeviceOffline(f"the device cannot be reached: {_why(place)}")
        return await place.station.take_picture(place.module, deadline)

    def _find(self, plant_id: Id, module_id: Id) -> _Place:
        place = self._plants.get(plant_id, {}).get(module_id)
        if place is None:
            raise DeviceOffline("MQTT does not drive this module")
        return place


def _remove(place: _Place) -> None:
    if place.station is not None and isinstance(place.module, DrivenModule):
        place.station.remove(place.module)


def _why(place: _Place) -> str:
    return "" if place.module.absence is None else place.module.absence.evidence
