"""Tests of orders that every driver must pass: a device executes them, refuses them, never answers, or is offline."""

import asyncio

import pytest

from domogate.domain.commands import Command, OpenLock, SetLight
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.reachability import AbsenceReason
from support.driver_bench import PLANT, Bench, is_absent, is_off, is_on


class OrderSuite:
    """The part of `DriverSuite` about orders."""

    # orders

    async def test_an_order_is_answered_with_the_state_that_the_device_confirmed(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        report = await bench.tell(lamp, SetLight(on=True))
        assert (report.plant_id, report.module_id, report.reachable) == (PLANT, lamp.module.id, True)
        assert is_on(report)
        assert report.at <= bench.clock.now()
        assert is_off(await bench.tell(lamp, SetLight(on=False)))
        assert bench.count_commands(lamp) == 2

    async def test_what_an_order_changes_is_in_its_answer_and_in_no_other_report(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        await bench.recorder.report_of(lamp, is_off)
        await asyncio.sleep(0.2)  # until the driver waits for changes
        before = len(bench.recorder.of(lamp))
        assert is_on(await bench.tell(lamp, SetLight(on=True)))
        await bench.switch_by_hand(lamp, False)
        await bench.recorder.until(lambda: len(bench.recorder.of(lamp)) > before)
        assert [is_on(report) for report in bench.recorder.of(lamp)[before:]] == [False]

    async def test_an_order_for_what_is_so_already_is_confirmed_too(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        assert is_off(await bench.tell(lamp, SetLight(on=False)))

    async def test_orders_to_several_devices_at_once_each_get_their_own_answer(self, bench: Bench) -> None:
        lamps = [bench.lamp(number) for number in range(1, 7)]
        await bench.attach_and_wait(*lamps)
        wanted = [number % 2 == 0 for number in range(6)]
        orders = (bench.tell(lamp, SetLight(on=on)) for lamp, on in zip(lamps, wanted, strict=True))
        reports = await asyncio.gather(*orders)
        assert [report.module_id for report in reports] == [lamp.module.id for lamp in lamps]
        assert [is_on(report) for report in reports] == wanted

    async def test_an_order_is_not_sent_after_its_deadline(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        with pytest.raises(DeviceTimeout):
            await bench.tell(lamp, SetLight(on=True), within=0.0)
        with pytest.raises(DeviceTimeout):
            await bench.tell(lamp, SetLight(on=True), within=-60.0)
        assert is_off(await bench.ask(lamp))
        assert bench.count_commands(lamp) == 0

    async def test_an_order_that_the_device_refuses_is_refused(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
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
        await bench.attach_and_wait(lamp)
        with pytest.raises(DeviceRefused):
            await bench.tell(lamp, command)
        assert is_off(await bench.ask(lamp))

    async def test_an_order_that_is_given_up_on_does_not_hurt_the_next(self, bench: Bench) -> None:
        silent, lamp = bench.lamp(1), bench.lamp(2)
        await bench.attach_and_wait(silent, lamp)
        await bench.stop_answering(silent)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(bench.short / 2):
                await bench.driver.execute(bench.order(silent, SetLight(on=True), within=60.0))
        assert is_on(await bench.tell(lamp, SetLight(on=True)))

    # silence

    async def test_a_device_that_never_answers_is_a_time_out_at_the_deadline_and_was_told_once(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        await bench.stop_answering(lamp)
        within, orders = bench.short, 0
        while orders == 0 or (bench.counts_commands_to_silent_lamps and not bench.count_commands(lamp)):
            # If the machine pauses until the deadline, the driver correctly sends nothing. Then the test tries again.
            within, orders = within * 2, orders + 1
            with pytest.raises(DeviceTimeout):
                await bench.tell(lamp, SetLight(on=True), within=within)
        with pytest.raises(DeviceTimeout):
            await bench.ask(lamp, within=within)
        assert bench.count_commands(lamp) <= orders

    async def test_a_device_that_never_answers_does_not_hold_up_another(self, bench: Bench) -> None:
        silent, lamp = bench.lamp(1), bench.lamp(2)
        await bench.attach_and_wait(silent, lamp)
        await bench.stop_answering(silent)
        waiting = asyncio.create_task(bench.driver.execute(bench.order(silent, SetLight(on=True), within=3600.0)))
        assert is_on(await bench.tell(lamp, SetLight(on=True)))
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait((waiting,))

    # reachability

    async def test_a_device_that_is_gone_is_reported_absent_with_a_reason(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        await bench.go_offline(lamp)
        report = await bench.recorder.report_of(lamp, is_absent)
        assert report.absence is not None
        assert report.absence.why in AbsenceReason
        assert 0 < report.absence.since <= bench.clock.now()

    async def test_a_device_that_is_gone_takes_no_order_and_is_read_as_absent(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        await bench.go_offline(lamp)
        await bench.recorder.report_of(lamp, is_absent)
        with pytest.raises(DeviceOffline):
            await bench.tell(lamp, SetLight(on=True))
        assert bench.count_commands(lamp) == 0
        report = await bench.ask(lamp)
        assert not report.reachable
        assert report.absence is not None

    async def test_a_device_that_comes_back_is_reported_and_obeys_and_missed_no_order_late(self, bench: Bench) -> None:
        lamp = bench.lamp(1)
        await bench.attach_and_wait(lamp)
        await bench.go_offline(lamp)
        await bench.recorder.report_of(lamp, is_absent)
        with pytest.raises(DeviceOffline):
            await bench.tell(lamp, SetLight(on=True))
        await bench.come_online(lamp)
        report = await bench.recorder.report_of(lamp, lambda report: report.reachable and report.state is not None)
        assert report.absence is None
        assert is_off(report)
        assert bench.count_commands(lamp) == 0
        assert is_on(await bench.tell(lamp, SetLight(on=True)))
