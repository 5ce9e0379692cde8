"""Errors on a bus: they are reported and stop nothing else."""

import asyncio
import math

import pytest

from domogate.domain.commands import Activate, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout
from domogate.domain.reachability import AbsenceReason
from domogate.domain.states import (
    LightState,
)
from domogate.drivers.openwebnet import command_session, poller
from domogate.drivers.report_queue import BATCH
from support.log_lines import capture_logs
from support.openwebnet_bus import BusLight, BusMeter, BusScenarios
from support.openwebnet_setup import PLANT, attached_module, open_setup, until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("steady_time", "short_pauses")]


class TestTroubleOnTheBus:
    async def test_bad_frames_stop_nothing(self) -> None:
        async with open_setup(BusLight("11")) as (gateway, setup):
            lamp = attached_module(DeviceKind.LIGHT, where="11")
            await setup.attach(lamp)
            await gateway.happen(
                "garbage", "##", "\xff\xfe##", "*" * 5000, "##", "*1*99999*11##", "*#1*11*1*x##", "*#1*11*12*1##"
            )
            await gateway.happen("*1*1*11##")
            await setup.wait_for_state(lamp, LightState(on=True))
            assert gateway.sessions["1"] == 1

    async def test_a_device_that_fails_on_a_frame_does_not_stop_the_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with open_setup(BusLight("11"), BusLight("12")) as (gateway, setup):
            lamps = [attached_module(DeviceKind.LIGHT, where="11"), attached_module(DeviceKind.LIGHT, where="12")]
            await setup.attach(*lamps)
            first = setup.driver._plants[PLANT][lamps[0].module.id]

            def choke(*_: object) -> bool:
                raise RuntimeError("a mistake")

            monkeypatch.setattr(first.device, "receive", choke)
            with capture_logs() as logs:
                await gateway.happen("*1*1*11##", "*1*1*12##")
                await setup.wait_for_state(lamps[1], LightState(on=True))
                with pytest.raises(DeviceTimeout):
                    await setup.read(lamps[0], within=0.2)
            assert {(entry["event"], entry["module_id"]) for entry in logs} == {
                ("a frame could not be processed", lamps[0].module.id)
            }
            failing = asyncio.create_task(setup.driver.wait_failed())
            assert (await setup.order(lamps[1], SetLight(on=False))).state == LightState(on=False)
            assert not failing.done()
            failing.cancel()

    async def test_in_a_flood_the_newest_state_wins_and_reports_are_few(self) -> None:
        lights = [BusLight(f"{area}{point}") for area in range(1, 10) for point in range(1, 10)]
        async with open_setup(*lights) as (gateway, setup):
            lamps = [attached_module(DeviceKind.LIGHT, where=light.where) for light in lights]
            await setup.attach(*lamps)
            calls, said, begun = setup.recorder.calls, len(setup.recorder.reports), setup.clock.now()
            for _ in range(20):
                await gateway.happen(*(f"*1*{state}*{light.where}##" for light in lights for state in "10"))
            await gateway.happen(*(f"*1*1*{light.where}##" for light in lights))
            for lamp in lamps:
                await setup.wait_for_state(lamp, LightState(on=True))
            rounds = 2 + (setup.clock.now() - begun) / 0.05
            assert setup.recorder.calls - calls <= rounds * math.ceil(len(lights) / BATCH)
            assert len(setup.recorder.reports) - said <= rounds * len(lights)

    async def test_a_device_that_never_answered_was_never_seen(self) -> None:
        async with open_setup(BusLight("11")) as (gateway, setup):
            gateway.silent.update({"11", "12"})
            lamps = [attached_module(DeviceKind.LIGHT, where="11"), attached_module(DeviceKind.LIGHT, where="12")]
            await setup.driver.attach(PLANT, lamps)
            for lamp in lamps:
                report = await setup.recorder.report_of(lamp, lambda it: not it.reachable)
                assert report.absence is not None
                assert report.absence.why is AbsenceReason.NEVER_SEEN
                assert "no answer to *#1*1" in report.absence.evidence
            with pytest.raises(DeviceOffline, match="never seen"):
                await setup.order(lamps[0], SetLight(on=True))
            assert gateway.told == []

    async def test_one_that_answers_no_more_is_silent_since_it_was_last_heard_and_obeys_once_it_is_back(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(poller, "POLL_EVERY", 0.05)
        async with open_setup(BusLight("11")) as (gateway, setup):
            lamp = attached_module(DeviceKind.LIGHT, where="11")
            await setup.attach(lamp)
            gateway.silent.add("11")
            report = await setup.recorder.report_of(lamp, lambda it: not it.reachable)
            assert report.absence is not None
            assert report.absence.why is AbsenceReason.SILENT
            assert report.absence.since < report.at
            gateway.silent.clear()
            assert (await setup.order(lamp, SetLight(on=True))).state == LightState(on=True)
            await setup.recorder.report_of(lamp, lambda it: it.reachable)

    async def test_a_meter_is_told_to_send_its_power_also_after_the_clock_was_set_back(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(poller, "POLL_EVERY", 0.05)
        monkeypatch.setattr(poller, "UPDATED_FOR", 0.001)
        bus_meter = BusMeter("51", watts=100)
        async with open_setup(bus_meter) as (_, setup):
            await setup.attach(attached_module(DeviceKind.ENERGYMETER, where="51"))
            await until(lambda: bus_meter.updates == 120)
            setup.clock.at -= 86_400
            bus_meter.updates = 0  # The meter has lost its power for a moment, or the two hours are over.
            await until(lambda: bus_meter.updates == 120)

    async def test_an_address_that_the_gateway_refuses_is_told_with_the_refusal(self) -> None:
        async with open_setup(BusLight("11")) as (gateway, setup):
            lamp, nowhere = attached_module(DeviceKind.LIGHT, where="11"), attached_module(DeviceKind.LIGHT, where="99")
            await setup.attach(lamp, nowhere)
            report = await setup.recorder.report_of(nowhere, lambda it: not it.reachable)
            assert report.absence is not None
            assert (report.absence.why, report.absence.evidence) == (AbsenceReason.REFUSED, "NACK to *#1*99##")
            gateway.refused.add("11")
            report = await setup.read(lamp)
            assert report.absence is not None
            assert report.absence.why is AbsenceReason.REFUSED

    async def test_what_the_gateway_did_not_acknowledge_is_still_confirmed_by_the_device(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(command_session, "REPLY_TIMEOUT", 0.1)
        async with open_setup(BusLight("11")) as (gateway, setup):
            lamp = attached_module(DeviceKind.LIGHT, where="11")
            await setup.attach(lamp)
            gateway.mute = True
            assert (await setup.order(lamp, SetLight(on=True))).state == LightState(on=True)
            assert gateway.told == ["*1*1*11##"]

    async def test_an_order_without_confirmation_is_a_time_out(self) -> None:
        async with open_setup(BusLight("11"), BusScenarios("01")) as (gateway, setup):
            lamp = attached_module(DeviceKind.LIGHT, where="11")
            start = attached_module(DeviceKind.ACTIVATION, who=0, where="01", scenario=1)
            await setup.attach(lamp, start)
            gateway.silent.add("11")
            with pytest.raises(DeviceTimeout, match="did not confirm it"):
                await setup.order(lamp, SetLight(on=True), within=0.3)
            gateway.mute = True
            with pytest.raises(DeviceTimeout, match="not known"):
                await setup.order(start, Activate(), within=0.2)
            assert gateway.told == ["*1*1*11##", "*0*1*01##"]

    async def test_a_nack_is_a_refusal_with_the_frame(self) -> None:
        async with open_setup(BusLight("11")) as (gateway, setup):
            lamp = attached_module(DeviceKind.LIGHT, where="11")
            await setup.attach(lamp)
            gateway.disobedient.add("11")
            with pytest.raises(DeviceRefused, match=r"home refused \*1\*1\*11## \(NACK\)"):
                await setup.order(lamp, SetLight(on=True))

    async def test_a_busy_bus_refuses_an_order_at_once_and_makes_no_device_absent(self) -> None:
        async with open_setup(BusLight("11")) as (gateway, setup):
            lamp = attached_module(DeviceKind.LIGHT, where="11")
            await setup.attach(lamp)
            gateway.busy.add("11")
            began = setup.clock.now()
            with pytest.raises(DeviceRefused, match=r"not executed: .* could not send \*1\*1\*11##: the bus is busy"):
                await setup.order(lamp, SetLight(on=True))
            with pytest.raises(DeviceTimeout, match="the bus is busy"):
                await setup.read(lamp)
            assert setup.clock.now() - began < command_session.REPLY_TIMEOUT
            gateway.busy.clear()
            assert (await setup.order(lamp, SetLight(on=True))).state == LightState(on=True)
            assert gateway.sessions["0"] == 1
