"""The tests that every driver must pass.

The tests of a driver subclass `DriverSuite` and give it a fixture `bench`: a `Bench` with devices that can change by
themselves, go offline, refuse commands and never answer.

    class TestSimulator(DriverSuite):
        @pytest.fixture
        async def bench(self) -> AsyncIterator[Bench]:
            async with SimulatorBench() as bench:
                yield bench

`services/driving` and the store prevent that an order is executed twice: they mark it as sent before they call the driver. A
driver remembers no ids. One call of `execute` must send at most once, and never after the deadline.
"""

import asyncio
from collections.abc import Iterator

import msgspec
import pytest

from domogate.domain.commands import SetLight
from domogate.domain.faults import DeviceOffline, Fault
from domogate.domain.reachability import AbsenceReason
from domogate.domain.states import Report
from support.driver_bench import OTHER_PLANT, PATIENCE, PLANT, Bench, is_absent, is_off, is_on
from support.driver_orders import OrderSuite


def every_reading(report: Report) -> Iterator[float]:
    for what in ("power", "energy"):
        if (reading := getattr(report.state, what, None)) is not None:
            yield reading.at
    for _, reading in report.readings:
        yield reading.at


class DriverSuite(OrderSuite):
    """Subclass it and give it a fixture `bench`."""

    # attach

    async def test_what_is_attached_reports_the_state_it_is_in(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach(lamp)
        report = await bench.recorder.report_of(lamp, is_off)
        assert (report.plant_id, report.module_id, report.reachable) == (PLANT, lamp.module.id, True)
        assert report.absence is None

    async def test_what_a_device_does_by_itself_is_reported(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        await bench.switch_by_hand(lamp, True)
        await bench.recorder.report_of(lamp, is_on)
        await bench.switch_by_hand(lamp, False)
        await bench.recorder.report_of(lamp, is_off)

    async def test_attached_again_with_an_older_stored_state_it_reports_its_state(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        off = bench.recorder.of(lamp)[-1].state
        await bench.switch_by_hand(lamp, True)
        await bench.recorder.report_of(lamp, is_on)
        bench.recorder.reports.clear()  # The store could not write this report.
        last = msgspec.structs.replace(lamp.last, state=off)
        await bench.attach(msgspec.structs.replace(lamp, last=last, reported_at=bench.clock.now()))
        await bench.recorder.report_of(lamp, is_on)

    async def test_attached_again_what_stays_goes_on_and_what_is_gone_is_dropped(self, bench: Bench) -> None:
        stays, goes, comes = bench.lamp(1), bench.lamp(2), bench.lamp(3)
        await bench.attach_and_wait(stays, goes)
        await bench.tell(stays, SetLight(on=True))
        await bench.attach(stays, comes)
        await bench.recorder.report_of(comes)
        assert is_on(await bench.ask(stays))
        with pytest.raises(DeviceOffline):
            await bench.tell(goes, SetLight(on=True))
        assert bench.count_commands(goes) == 0
        said = len(bench.recorder.of(goes))
        await bench.switch_by_hand(goes, True)
        await bench.switch_by_hand(comes, True)
        await bench.recorder.report_of(comes, is_on)
        assert len(bench.recorder.of(goes)) == said

    async def test_of_a_detached_plant_nothing_is_reported_and_its_neighbour_goes_on(self, bench: Bench) -> None:
        lamp, neighbour = bench.lamp(1), bench.lamp(2)
        await bench.attach_and_wait(lamp)
        await bench.attach_and_wait(neighbour, plant_id=OTHER_PLANT)
        await bench.driver.detach(PLANT)
        await bench.driver.detach(PLANT)
        said = len(bench.recorder.of(lamp))
        await bench.switch_by_hand(lamp, True)
        await bench.switch_by_hand(neighbour, True)
        report = await bench.recorder.report_of(neighbour, is_on)
        assert report.plant_id == OTHER_PLANT
        assert len(bench.recorder.of(lamp)) == said
        with pytest.raises(DeviceOffline):
            await bench.tell(lamp, SetLight(on=True))
        with pytest.raises(DeviceOffline):
            await bench.ask(lamp)

    async def test_what_is_not_attached_is_offline(self, bench: Bench) -> None:
        await bench.attach_and_wait(bench.lamp(1))
        with pytest.raises(DeviceOffline):
            await bench.tell(bench.lamp(2), SetLight(on=True))
        with pytest.raises(DeviceOffline):
            await bench.ask(bench.lamp(2))
        with pytest.raises(DeviceOffline):
            await bench.tell(bench.lamp(1), SetLight(on=True), plant_id=OTHER_PLANT)

    async def test_a_module_with_bad_options_is_absent_as_misconfigured_and_the_others_work(self, bench: Bench) -> None:
        lamp, bad = bench.lamp(1), bench.misconfigured()
        await bench.attach(bad, lamp)
        report = await bench.recorder.report_of(bad, is_absent)
        assert report.absence is not None
        assert report.absence.why is AbsenceReason.MISCONFIGURED
        assert report.absence.evidence, "the evidence is empty"
        assert is_on(await bench.tell(lamp, SetLight(on=True)))
        with pytest.raises(DeviceOffline):
            await bench.tell(bad, SetLight(on=True))
        assert not (await bench.ask(bad)).reachable

    # reads and readings

    async def test_a_question_is_answered_with_the_current_state(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
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

        report = await bench.recorder.report_of(meter, has_measured)
        kept = {what for one in bench.recorder.of(meter) for what, _ in one.readings}
        assert "power" in kept
        # A device may have a wrong clock; but every reading must have a time.
        assert all(before - 86_400 < at <= bench.clock.now() + 86_400 for at in every_reading(report))

    # the receiver of reports

    async def test_a_slow_receiver_of_reports_delays_no_order_and_gets_the_newest_report_in_the_end(self, bench: Bench) -> None:
        lamp, other = bench.lamp(1), bench.lamp(2)
        await bench.attach_and_wait(lamp, other)
        bench.recorder.gate = asyncio.Event()
        calls = bench.recorder.calls
        switching = asyncio.create_task(bench.switch_by_hand(lamp, True))
        await bench.recorder.until(lambda: bench.recorder.calls > calls)
        assert is_on(await bench.tell(other, SetLight(on=True)))
        bench.recorder.gate.set()
        bench.recorder.gate = None
        await switching
        await bench.switch_by_hand(lamp, False)
        await bench.switch_by_hand(lamp, True)
        await bench.recorder.report_of(lamp, is_on)

    async def test_a_receiver_of_reports_that_fails_does_not_stop_the_driver(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        bench.recorder.error = OSError("disk full")
        calls = bench.recorder.calls
        await bench.switch_by_hand(lamp, True)
        await bench.recorder.until(lambda: bench.recorder.calls > calls)
        bench.recorder.error = None
        assert is_off(await bench.tell(lamp, SetLight(on=False)))
        await bench.switch_by_hand(lamp, True)
        await bench.recorder.report_of(lamp, is_on)

    # start and stop

    async def test_it_does_not_fail_by_itself(self, bench: Bench) -> None:
        await bench.attach_and_wait(bench.lamp(1))
        waiting = asyncio.create_task(bench.driver.wait_failed())
        await bench.tell(bench.lamp(1), SetLight(on=True))
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait((waiting,))

    async def test_stopped_it_leaves_nothing_behind_and_says_nothing(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        await bench.driver.stop()
        await bench.driver.stop()
        said = bench.recorder.calls
        await bench.switch_by_hand(lamp, True)
        with pytest.raises(DeviceOffline):
            await bench.tell(lamp, SetLight(on=True))
        assert bench.recorder.calls == said
        assert bench.count_commands(lamp) == 0

    async def test_stopped_in_the_middle_of_an_order_it_ends_that_order(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        await bench.stop_answering(lamp)
        waiting = asyncio.create_task(bench.driver.execute(bench.order(lamp, SetLight(on=True), within=3600.0)))
        await asyncio.sleep(bench.short / 10)
        await bench.driver.stop()
        with pytest.raises((Fault, asyncio.CancelledError)):
            await asyncio.wait_for(waiting, PATIENCE)

    async def test_stopped_it_can_be_started_again(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        await bench.driver.stop()
        bench.recorder.reports.clear()
        await bench.driver.start(bench.recorder)
        await bench.attach_and_wait(lamp)
        assert is_on(await bench.tell(lamp, SetLight(on=True)))

    async def test_it_runs_no_task_once_it_is_stopped(self, bench: Bench) -> None:
        await bench.driver.stop()
        before = asyncio.all_tasks()
        await bench.driver.start(bench.recorder)
        await bench.attach_and_wait(bench.lamp(1))
        await bench.driver.stop()
        left = asyncio.all_tasks() - before
        assert not [task for task in left if not task.done()], "a task is still running"
