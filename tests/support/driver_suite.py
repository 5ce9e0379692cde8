"""What every driver must do, whatever stands behind it: one suite, run over each driver by a bench of its own.

A driver's tests subclass `DriverSuite` and give it a fixture `bench`: a `Bench` over devices that the test can have do things
by themselves, vanish, refuse and never answer.

    class TestSimulator(DriverSuite):
        @pytest.fixture
        async def bench(self) -> AsyncIterator[Bench]:
            async with SimulatorBench() as bench:
                yield bench

Who keeps an order from being carried out twice: under one `Order.id` it is whoever drives the plant (`services/driving` and
the store, which mark it as sent before the driver hears of it). A driver remembers no ids. What is asked of it here is that one
call of `execute` sends at most once, and never after the deadline, however the device behaves.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import ClassVar, Self

import pytest

from domogate.domain.commands import Command, OpenLock, Order, SetLight
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout, Fault
from domogate.domain.ids import Id, new_id
from domogate.domain.reachability import Why
from domogate.domain.states import LightState, Report
from domogate.ports import Clock, Driver, Placed

PLANT = Id("00000000-0000-4000-8000-00000000d001")
NEIGHBOUR = Id("00000000-0000-4000-8000-00000000d002")
PATIENCE = 30.0
"""How long a test waits for what must come, and an order has that must succeed. Nothing asserts that it came sooner."""


class Heard:
    """The sink: all that the driver reported, in order. It can be made to dawdle or to fail."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.gate: asyncio.Event | None = None
        """When set to an Event, reports wait for it before they are taken."""
        self.trouble: Exception | None = None
        """Raised instead of taking reports."""
        self.calls = 0
        self._waiting: dict[asyncio.Future[None], Callable[[], bool]] = {}

    async def __call__(self, reports: Sequence[Report]) -> None:
        self.calls += 1
        self._look()
        if self.gate is not None:
            await self.gate.wait()
        if self.trouble is not None:
            raise self.trouble
        self.reports += reports
        self._look()

    def _look(self) -> None:
        """After each report, and not when whoever waits gets a turn: the next report may be there by then."""
        for waiting, holds in self._waiting.items():
            if not waiting.done() and holds():
                waiting.set_result(None)

    def of(self, placed: Placed) -> list[Report]:
        return [report for report in self.reports if report.module_id == placed.module.id]

    async def until(self, holds: Callable[[], bool]) -> None:
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[waiting] = holds
        try:
            async with asyncio.timeout(PATIENCE):
                while not (waiting.done() or holds()):
                    # Also by itself now and then: what is waited for may show without a report.
                    await asyncio.wait((waiting,), timeout=0.02)
        finally:
            del self._waiting[waiting]

    async def report_of(self, placed: Placed, fits: Callable[[Report], bool] = lambda _: True) -> Report:
        """The newest report of the module, as soon as it fits."""
        found: list[Report] = []

        def has_come() -> bool:
            found[:] = [report for report in self.of(placed)[-1:] if fits(report)]
            return bool(found)

        await self.until(has_come)
        return found[0]


class Bench(ABC):
    """A driver, devices behind it, and hands on those devices. Used as an async context; the driver is started inside."""

    clock: Clock
    driver: Driver
    short: ClassVar[float] = 0.2
    """Seconds in which this driver can tell a device something: the first deadline tried where nobody answers."""
    silent_ones_are_told: ClassVar[bool] = True
    """Whether `times_told` counts what a device that fell silent is told."""

    def __init__(self) -> None:
        self.heard = Heard()

    async def __aenter__(self) -> Self:
        await self.set_up()
        await self.driver.start(self.heard)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.driver.stop()
        await self.tear_down()

    # the devices

    @abstractmethod
    async def set_up(self) -> None:
        """Make the devices and whatever leads to them, and `driver` and `clock`."""

    @abstractmethod
    async def tear_down(self) -> None:
        """End what `set_up` began."""

    @abstractmethod
    def lamp(self, number: int) -> Placed:
        """A lamp that is off, there to be driven; up to eight of them, always the same for the same number."""

    @abstractmethod
    def meter(self) -> Placed:
        """A plug or meter that measures power."""

    @abstractmethod
    def misconfigured(self) -> Placed:
        """A lamp whose options do not say how to reach it."""

    @abstractmethod
    async def switch_by_hand(self, lamp: Placed, on: bool) -> None:
        """Somebody uses the switch on the wall."""

    @abstractmethod
    async def measure(self, meter: Placed, watts: float) -> None:
        """It now measures this."""

    @abstractmethod
    async def vanish(self, lamp: Placed) -> None:
        """It goes, in the way that this driver can notice. Others may go with it."""

    @abstractmethod
    async def come_back(self, lamp: Placed) -> None:
        """After `vanish`."""

    @abstractmethod
    async def fall_silent(self, lamp: Placed) -> None:
        """It still seems to be there, hears everything, does nothing and never answers again."""

    @abstractmethod
    async def make_refuse(self, lamp: Placed) -> Command:
        """From now on the lamp answers with a no: the command that it refuses."""

    @abstractmethod
    def times_told(self, lamp: Placed) -> int:
        """How many commands have reached the device, carried out or not."""

    # the driver

    async def attach(self, *placed: Placed, plant_id: Id = PLANT) -> None:
        await self.driver.attach(plant_id, placed)

    async def attach_and_hear(self, *placed: Placed, plant_id: Id = PLANT) -> None:
        await self.attach(*placed, plant_id=plant_id)
        for one in placed:
            await self.heard.report_of(one)

    def order(self, placed: Placed, command: Command, *, within: float = PATIENCE, plant_id: Id = PLANT) -> Order:
        return Order(new_id(), plant_id, placed.module.id, command, self.clock.now() + within)

    async def tell(self, placed: Placed, command: Command, *, within: float = PATIENCE, plant_id: Id = PLANT) -> Report:
        async with asyncio.timeout(within + PATIENCE):
            return await self.driver.execute(self.order(placed, command, within=within, plant_id=plant_id))

    async def ask(self, placed: Placed, *, within: float = PATIENCE, plant_id: Id = PLANT) -> Report:
        async with asyncio.timeout(within + PATIENCE):
            return await self.driver.read(plant_id, placed.module.id, self.clock.now() + within)


def is_on(report: Report) -> bool:
    return isinstance(report.state, LightState) and report.state.on


def is_off(report: Report) -> bool:
    return isinstance(report.state, LightState) and not report.state.on


def is_away(report: Report) -> bool:
    return not report.reachable


def every_reading(report: Report) -> Iterator[float]:
    for what in ("power", "energy"):
        if (reading := getattr(report.state, what, None)) is not None:
            yield reading.at
    for _, reading in report.readings:
        yield reading.at


class DriverSuite:
    """Subclass it and give it a fixture `bench`."""

    # attaching

    async def test_what_is_attached_reports_the_state_it_is_in(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach(lamp)
        report = await bench.heard.report_of(lamp, is_off)
        assert (report.plant_id, report.module_id, report.reachable) == (PLANT, lamp.module.id, True)
        assert report.absence is None

    async def test_what_a_device_does_by_itself_is_reported(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        await bench.switch_by_hand(lamp, True)
        await bench.heard.report_of(lamp, is_on)
        await bench.switch_by_hand(lamp, False)
        await bench.heard.report_of(lamp, is_off)

    async def test_attached_again_what_stays_goes_on_and_what_is_gone_is_dropped(self, bench: Bench) -> None:
        stays, goes, comes = bench.lamp(1), bench.lamp(2), bench.lamp(3)
        await bench.attach_and_hear(stays, goes)
        await bench.tell(stays, SetLight(on=True))
        await bench.attach(stays, comes)
        await bench.heard.report_of(comes)
        assert is_on(await bench.ask(stays))
        with pytest.raises(DeviceOffline):
            await bench.tell(goes, SetLight(on=True))
        assert bench.times_told(goes) == 0
        said = len(bench.heard.of(goes))
        await bench.switch_by_hand(goes, True)
        await bench.switch_by_hand(comes, True)
        await bench.heard.report_of(comes, is_on)
        assert len(bench.heard.of(goes)) == said

    async def test_of_a_detached_plant_nothing_is_reported_and_its_neighbour_goes_on(self, bench: Bench) -> None:
        lamp, neighbour = bench.lamp(1), bench.lamp(2)
        await bench.attach_and_hear(lamp)
        await bench.attach_and_hear(neighbour, plant_id=NEIGHBOUR)
        await bench.driver.detach(PLANT)
        await bench.driver.detach(PLANT)
        said = len(bench.heard.of(lamp))
        await bench.switch_by_hand(lamp, True)
        await bench.switch_by_hand(neighbour, True)
        report = await bench.heard.report_of(neighbour, is_on)
        assert report.plant_id == NEIGHBOUR
        assert len(bench.heard.of(lamp)) == said
        with pytest.raises(DeviceOffline):
            await bench.tell(lamp, SetLight(on=True))
        with pytest.raises(DeviceOffline):
            await bench.ask(lamp)

    async def test_what_is_not_attached_is_offline(self, bench: Bench) -> None:
        await bench.attach_and_hear(bench.lamp(1))
        with pytest.raises(DeviceOffline):
            await bench.tell(bench.lamp(2), SetLight(on=True))
        with pytest.raises(DeviceOffline):
            await bench.ask(bench.lamp(2))
        with pytest.raises(DeviceOffline):
            await bench.tell(bench.lamp(1), SetLight(on=True), plant_id=NEIGHBOUR)

    async def test_a_module_with_bad_options_is_absent_as_misconfigured_and_the_others_work(self, bench: Bench) -> None:
        lamp, bad = bench.lamp(1), bench.misconfigured()
        await bench.attach(bad, lamp)
        report = await bench.heard.report_of(bad, is_away)
        assert report.absence is not None
        assert report.absence.why is Why.MISCONFIGURED
        assert report.absence.evidence, "it says what is wrong"
        assert is_on(await bench.tell(lamp, SetLight(on=True)))
        with pytest.raises(DeviceOffline):
            await bench.tell(bad, SetLight(on=True))
        assert not (await bench.ask(bad)).reachable

    # orders

    async def test_an_order_is_answered_with_the_state_that_the_device_confirmed(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        report = await bench.tell(lamp, SetLight(on=True))
        assert (report.plant_id, report.module_id, report.reachable) == (PLANT, lamp.module.id, True)
        assert is_on(report)
        assert report.at <= bench.clock.now()
        assert is_off(await bench.tell(lamp, SetLight(on=False)))
        assert bench.times_told(lamp) == 2

    async def test_an_order_for_what_is_so_already_is_confirmed_too(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        assert is_off(await bench.tell(lamp, SetLight(on=False)))

    async def test_orders_to_several_devices_at_once_each_get_their_own_answer(self, bench: Bench) -> None:
        lamps = [bench.lamp(number) for number in range(1, 7)]
        await bench.attach_and_hear(*lamps)
        wanted = [number % 2 == 0 for number in range(6)]
        orders = (bench.tell(lamp, SetLight(on=on)) for lamp, on in zip(lamps, wanted, strict=True))
        reports = await asyncio.gather(*orders)
        assert [report.module_id for report in reports] == [lamp.module.id for lamp in lamps]
        assert [is_on(report) for report in reports] == wanted

    async def test_an_order_is_not_sent_after_its_deadline(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        with pytest.raises(DeviceTimeout):
            await bench.tell(lamp, SetLight(on=True), within=0.0)
        with pytest.raises(DeviceTimeout):
            await bench.tell(lamp, SetLight(on=True), within=-60.0)
        assert is_off(await bench.ask(lamp))
        assert bench.times_told(lamp) == 0

    async def test_an_order_that_the_device_refuses_is_refused(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        command = await bench.make_refuse(lamp)
        with pytest.raises(DeviceRefused) as refused:
            await bench.tell(lamp, command)
        assert refused.value.message
        assert is_off(await bench.ask(lamp))

    @pytest.mark.parametrize("command", [OpenLock(), SetLight(level=101), SetLight(level=-1)], ids=str)
    async def test_an_order_that_does_not_fit_the_module_is_refused_and_changes_nothing(
        self, bench: Bench, command: Command
    ) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        with pytest.raises(DeviceRefused):
            await bench.tell(lamp, command)
        assert is_off(await bench.ask(lamp))

    async def test_an_order_that_is_given_up_on_does_not_hurt_the_next(self, bench: Bench) -> None:
        silent, lamp = bench.lamp(1), bench.lamp(2)
        await bench.attach_and_hear(silent, lamp)
        await bench.fall_silent(silent)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(bench.short / 2):
                await bench.driver.execute(bench.order(silent, SetLight(on=True), within=60.0))
        assert is_on(await bench.tell(lamp, SetLight(on=True)))

    # silence

    async def test_a_device_that_never_answers_is_a_time_out_at_the_deadline_and_was_told_once(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        await bench.fall_silent(lamp)
        within, orders = bench.short, 0
        while orders == 0 or (bench.silent_ones_are_told and not bench.times_told(lamp)):
            # More than one only where the machine stalls until the time is up: rightly the device is not told then.
            within, orders = within * 2, orders + 1
            with pytest.raises(DeviceTimeout):
                await bench.tell(lamp, SetLight(on=True), within=within)
        with pytest.raises(DeviceTimeout):
            await bench.ask(lamp, within=within)
        assert bench.times_told(lamp) <= orders

    async def test_a_device_that_never_answers_does_not_hold_up_another(self, bench: Bench) -> None:
        silent, lamp = bench.lamp(1), bench.lamp(2)
        await bench.attach_and_hear(silent, lamp)
        await bench.fall_silent(silent)
        waiting = asyncio.create_task(bench.driver.execute(bench.order(silent, SetLight(on=True), within=3600.0)))
        assert is_on(await bench.tell(lamp, SetLight(on=True)))
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait((waiting,))

    # reachability

    async def test_a_device_that_is_gone_is_reported_absent_with_a_reason(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        await bench.vanish(lamp)
        report = await bench.heard.report_of(lamp, is_away)
        assert report.absence is not None
        assert report.absence.why in Why
        assert 0 < report.absence.since <= bench.clock.now()

    async def test_a_device_that_is_gone_takes_no_order_and_is_read_as_absent(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        await bench.vanish(lamp)
        await bench.heard.report_of(lamp, is_away)
        with pytest.raises(DeviceOffline):
            await bench.tell(lamp, SetLight(on=True))
        assert bench.times_told(lamp) == 0
        report = await bench.ask(lamp)
        assert not report.reachable
        assert report.absence is not None

    async def test_a_device_that_comes_back_is_reported_and_obeys_and_missed_no_order_late(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        await bench.vanish(lamp)
        await bench.heard.report_of(lamp, is_away)
        with pytest.raises(DeviceOffline):
            await bench.tell(lamp, SetLight(on=True))
        await bench.come_back(lamp)
        report = await bench.heard.report_of(lamp, lambda report: report.reachable and report.state is not None)
        assert report.absence is None
        assert is_off(report)
        assert bench.times_told(lamp) == 0
        assert is_on(await bench.tell(lamp, SetLight(on=True)))

    # questions and measures

    async def test_a_question_is_answered_with_the_state_of_now(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        assert is_off(await bench.ask(lamp))
        await bench.tell(lamp, SetLight(on=True))
        report = await bench.ask(lamp)
        assert is_on(report)
        assert report.reachable

    async def test_measures_are_dated_and_kept_as_readings(self, bench: Bench) -> None:
        meter = bench.meter()
        before = bench.clock.now()
        await bench.attach(meter)
        await bench.measure(meter, 230.0)

        def has_measured(report: Report) -> bool:
            power = getattr(report.state, "power", None)
            return power is not None and power.value == pytest.approx(230.0, rel=0.05)

        report = await bench.heard.report_of(meter, has_measured)
        kept = {what for one in bench.heard.of(meter) for what, _ in one.readings}
        assert "power" in kept
        # A device may carry a clock of its own, a second or an hour off; a reading without any date is what must not be.
        assert all(before - 86_400 < at <= bench.clock.now() + 86_400 for at in every_reading(report))

    # whoever listens

    async def test_a_listener_that_takes_its_time_holds_up_no_order_and_hears_the_newest_in_the_end(self, bench: Bench) -> None:
        lamp, other = bench.lamp(1), bench.lamp(2)
        await bench.attach_and_hear(lamp, other)
        bench.heard.gate = asyncio.Event()
        calls = bench.heard.calls
        switching = asyncio.create_task(bench.switch_by_hand(lamp, True))
        await bench.heard.until(lambda: bench.heard.calls > calls)
        assert is_on(await bench.tell(other, SetLight(on=True)))
        bench.heard.gate.set()
        bench.heard.gate = None
        await switching
        await bench.switch_by_hand(lamp, False)
        await bench.switch_by_hand(lamp, True)
        await bench.heard.report_of(lamp, is_on)

    async def test_a_listener_that_fails_does_not_stop_the_driver(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        bench.heard.trouble = OSError("disk full")
        calls = bench.heard.calls
        await bench.switch_by_hand(lamp, True)
        await bench.heard.until(lambda: bench.heard.calls > calls)
        bench.heard.trouble = None
        assert is_off(await bench.tell(lamp, SetLight(on=False)))
        await bench.switch_by_hand(lamp, True)
        await bench.heard.report_of(lamp, is_on)

    # starting and stopping

    async def test_it_does_not_fail_by_itself(self, bench: Bench) -> None:
        await bench.attach_and_hear(bench.lamp(1))
        waiting = asyncio.create_task(bench.driver.wait_failed())
        await bench.tell(bench.lamp(1), SetLight(on=True))
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait((waiting,))

    async def test_stopped_it_leaves_nothing_behind_and_says_nothing(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        await bench.driver.stop()
        await bench.driver.stop()
        said = bench.heard.calls
        await bench.switch_by_hand(lamp, True)
        with pytest.raises(DeviceOffline):
            await bench.tell(lamp, SetLight(on=True))
        assert bench.heard.calls == said
        assert bench.times_told(lamp) == 0

    async def test_stopped_in_the_middle_of_an_order_it_ends_that_order(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        await bench.fall_silent(lamp)
        waiting = asyncio.create_task(bench.driver.execute(bench.order(lamp, SetLight(on=True), within=3600.0)))
        await asyncio.sleep(bench.short / 10)
        await bench.driver.stop()
        with pytest.raises((Fault, asyncio.CancelledError)):
            await asyncio.wait_for(waiting, PATIENCE)

    async def test_stopped_it_can_be_started_again(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_hear(lamp)
        await bench.driver.stop()
        bench.heard.reports.clear()
        await bench.driver.start(bench.heard)
        await bench.attach_and_hear(lamp)
        assert is_on(await bench.tell(lamp, SetLight(on=True)))

    async def test_it_runs_no_task_once_it_is_stopped(self, bench: Bench) -> None:
        await bench.driver.stop()
        before = asyncio.all_tasks()
        await bench.driver.start(bench.heard)
        await bench.attach_and_hear(bench.lamp(1))
        await bench.driver.stop()
        left = asyncio.all_tasks() - before
        assert not [task for task in left if not task.done()], "what it started, it ends"
