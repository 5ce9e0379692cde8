"""Gateways that refuse, disconnect or stop answering, and plants that are attached and detached."""

import asyncio
from typing import Any

import msgspec
import pytest

from domogate.domain.commands import SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceTimeout
from domogate.domain.reachability import AbsenceReason
from domogate.domain.states import LightState
from domogate.drivers.openwebnet import OpenWebNetGateway, command_session, event_session
from domogate.drivers.openwebnet.driver import OpenWebNet
from domogate.drivers.openwebnet.session import Session, SessionLost, open_session
from support.clocks import LoopClock
from support.devices import make_attached
from support.openwebnet_bus import BusLight
from support.openwebnet_gateway import BusGateway
from support.openwebnet_setup import PLANT, attached_module, config, open_setup, running_driver, until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("steady_time", "short_pauses")]


class TestTroubleWithTheGateway:
    async def test_a_wrong_password_is_told_and_not_tried_again_and_again(self) -> None:
        async with (
            BusGateway(BusLight("11"), password="12345") as gateway,
            running_driver(config(gateway, password="54321")) as setup,
        ):
            lamp = attached_module(DeviceKind.LIGHT, where="11")
            await setup.driver.attach(PLANT, [lamp])
            report = await setup.recorder.report_of(lamp, lambda it: not it.reachable)
            assert report.absence is not None
            assert report.absence.why is AbsenceReason.REFUSED
            assert "refused the password" in report.absence.evidence
            for _ in range(3):
                with pytest.raises(DeviceOffline, match="refused the password"):
                    await setup.order(lamp, SetLight(on=True))
                assert not (await setup.read(lamp)).reachable
            await asyncio.sleep(0.1)
            assert gateway.wrong_passwords == 1
            (refused,) = setup.driver.list_connections()
            assert (refused.name, refused.state) == ("home", "lost")
            assert "refused the password" in refused.problem
            await setup.driver.detach(PLANT)
            assert setup.driver.list_connections()[0].state == "unused"

    async def test_let_in_at_last_it_says_what_is_wrong_with_each_module_and_no_more_with_the_password(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(event_session, "FIRST_DELAY_REFUSED", 0.02)
        async with BusGateway(password="12345") as gateway, running_driver(config(gateway, password="54321")) as setup:
            lamp = attached_module(DeviceKind.LIGHT, where="11")
            await setup.driver.attach(PLANT, [lamp])
            await setup.recorder.report_of(lamp, lambda it: not it.reachable)
            gateway.password = "54321"
            report = await setup.recorder.report_of(lamp, lambda it: it.absence is not None and "NACK" in it.absence.evidence)
            assert not report.reachable

    async def test_the_first_pause_after_a_refused_password_is_short_even_after_many_lost_connections(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(event_session, "FIRST_DELAY_REFUSED", 0.05)
        losses: list[str] = []

        async def open_and_count(*arguments: Any) -> Session:
            try:
                return await open_session(*arguments)
            except SessionLost as lost:
                losses.append(str(lost))
                raise

        monkeypatch.setattr(event_session, "open_session", open_and_count)
        async with BusGateway(BusLight("11"), password="12345") as gateway:
            await gateway.shut()
            async with running_driver(config(gateway, password="54321")) as setup:
                await setup.driver.attach(PLANT, [attached_module(DeviceKind.LIGHT, where="11")])
                await until(lambda: len(losses) >= 8)
                await gateway.open()
                await until(lambda: gateway.wrong_passwords == 1)
                began = asyncio.get_running_loop().time()
                await until(lambda: gateway.wrong_passwords == 2)
                assert asyncio.get_running_loop().time() - began < 1.0

    async def test_no_gateway_there_at_first_and_then_it_comes(self) -> None:
        async with BusGateway(BusLight("11")) as gateway:
            await gateway.shut()
            async with running_driver(config(gateway)) as setup:
                lamp = attached_module(DeviceKind.LIGHT, where="11")
                await setup.driver.attach(PLANT, [lamp])
                report = await setup.recorder.report_of(lamp, lambda it: not it.reachable)
                assert report.absence is not None
                assert report.absence.why is AbsenceReason.CONNECTION_LOST
                assert str(gateway.port) in report.absence.evidence
                await gateway.open()
                await setup.wait_for_state(lamp, LightState(on=False))

    async def test_a_host_that_no_resolver_accepts_is_lost_and_the_other_gateways_work(self) -> None:
        wrong = OpenWebNetGateway(name="wrong", host="bus.example")
        msgspec.structs.force_setattr(wrong, "host", "bus..example")  # The settings refuse this host.
        async with BusGateway(BusLight("11")) as gateway, running_driver(wrong, config(gateway)) as setup:
            behind_wrong = attached_module(DeviceKind.LIGHT, where="11", gateway="wrong")
            behind_home = attached_module(DeviceKind.LIGHT, where="11", gateway="home")
            await setup.attach(behind_wrong, behind_home)
            report = await setup.recorder.report_of(behind_wrong, lambda it: not it.reachable)
            assert report.absence is not None
            assert report.absence.why is AbsenceReason.CONNECTION_LOST
            assert "bus..example" in report.absence.evidence
            with pytest.raises(DeviceOffline):
                await setup.order(behind_wrong, SetLight(on=True))
            assert (await setup.order(behind_home, SetLight(on=True))).state == LightState(on=True)

    async def test_a_lost_event_session_is_opened_again_and_what_was_missed_is_asked_for(self) -> None:
        light = BusLight("11")
        async with open_setup(light) as (gateway, setup):
            lamp = attached_module(DeviceKind.LIGHT, where="11")
            await setup.attach(lamp)
            await gateway.drop_connections()
            light.on = True
            await setup.wait_for_state(lamp, LightState(on=True))
            assert gateway.sessions["1"] == 2

    async def test_a_quiet_gateway_is_tried_and_one_that_does_not_answer_is_lost(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(event_session, "SILENCE_LIMIT", 0.05)
        monkeypatch.setattr(command_session, "REPLY_TIMEOUT", 0.1)
        async with open_setup(BusLight("11")) as (gateway, setup):
            lamp = attached_module(DeviceKind.LIGHT, where="11")
            await setup.attach(lamp)
            await until(lambda: gateway.asked.count("*#13**15##") > 1)
            assert gateway.sessions["1"] == 1
            gateway.mute = True
            report = await setup.recorder.report_of(lamp, lambda it: not it.reachable)
            assert report.absence is not None
            assert "does not answer requests" in report.absence.evidence

    async def test_one_silent_gateway_delays_no_other(self) -> None:
        async with (
            BusGateway(BusLight("11")) as dead,
            BusGateway(BusLight("11")) as alive,
            running_driver(config(dead, "dead"), config(alive, "alive")) as setup,
        ):
            behind_dead = attached_module(DeviceKind.LIGHT, where="11", gateway="dead")
            behind_alive = attached_module(DeviceKind.LIGHT, where="11", gateway="alive")
            await setup.attach(behind_dead, behind_alive)
            dead.silent.add("11")
            dead.mute = True
            # The same deadline for both: otherwise the second may still be sent after the first.
            in_a_second = setup.clock.now() + 1.0
            waiting = [asyncio.create_task(setup.order_by(in_a_second, behind_dead, SetLight(on=True))) for _ in range(50)]
            assert (await setup.order(behind_alive, SetLight(on=True))).state == LightState(on=True)
            assert not any(task.done() for task in waiting)
            outcomes = await asyncio.gather(*waiting, return_exceptions=True)
            assert all(isinstance(outcome, DeviceTimeout) for outcome in outcomes)
            assert len(dead.told) == 1

    @pytest.mark.parametrize(
        ("names", "options", "words"),
        [
            (["home"], {"gateway": "elsewhere"}, "no gateway is called 'elsewhere'"),
            (["one", "two"], {}, "'gateway' is missing: name a gateway of the settings \\(one, two\\)"),
            ([], {}, "there is none"),
        ],
    )
    async def test_a_module_must_say_which_gateway_where_it_is_not_clear(
        self, names: list[str], options: dict[str, Any], words: str
    ) -> None:
        gateways = [OpenWebNetGateway(name=name, host="127.0.0.1", port=1) for name in names]
        async with running_driver(*gateways) as setup:
            lamp = attached_module(DeviceKind.LIGHT, where="11", **options)
            await setup.driver.attach(PLANT, [lamp])
            report = await setup.recorder.report_of(lamp)
            assert report.absence is not None
            assert report.absence.why is AbsenceReason.MISCONFIGURED
            with pytest.raises(DeviceOffline, match=words):
                await setup.order(lamp, SetLight(on=True))

    def test_two_gateways_of_one_name_are_refused(self) -> None:
        gateway = OpenWebNetGateway(name="home", host="127.0.0.1")
        with pytest.raises(ValueError, match="same name"):
            OpenWebNet(LoopClock(), [gateway, gateway])


class TestPlants:
    async def test_a_gateway_that_nothing_is_behind_any_more_is_left_alone(self) -> None:
        async with open_setup(BusLight("11")) as (gateway, setup):
            lamp = attached_module(DeviceKind.LIGHT, where="11")
            await setup.attach(lamp)
            assert gateway.listeners == 1
            await setup.driver.detach(PLANT)
            await until(lambda: not gateway.connections)
            setup.recorder.reports.clear()
            await setup.attach(lamp)
            assert (await setup.order(lamp, SetLight(on=True))).state == LightState(on=True)

    async def test_detached_and_attached_at_the_same_time_it_is_driven(self) -> None:
        async with open_setup(BusLight("11")) as (_, setup):
            lamp = attached_module(DeviceKind.LIGHT, where="11")
            await setup.attach(lamp)
            for _ in range(5):
                await asyncio.gather(setup.driver.detach(PLANT), setup.driver.attach(PLANT, [lamp]))
                assert (await setup.read(lamp)).reachable

    async def test_a_new_name_changes_nothing_and_a_new_address_does(self) -> None:
        async with open_setup(BusLight("11"), BusLight("12")) as (gateway, setup):
            lamp = attached_module(DeviceKind.LIGHT, where="11")
            await setup.attach(lamp)
            asked = len(gateway.asked)
            renamed = make_attached(DeviceKind.LIGHT, driver="openwebnet", options={"where": "11"}, module_id=lamp.module.id)
            await setup.driver.attach(PLANT, [renamed])
            assert len(gateway.asked) == asked
            moved = make_attached(DeviceKind.LIGHT, driver="openwebnet", options={"where": "12"}, module_id=lamp.module.id)
            await setup.driver.attach(PLANT, [moved])
            await setup.order(moved, SetLight(on=True))
            assert gateway.told == ["*1*1*12##"]

    async def test_a_mistake_of_its_own_fails_the_driver(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with open_setup(BusLight("11")) as (_, setup):

            async def fail(*_: object) -> None:
                raise RuntimeError("a mistake")

            monkeypatch.setattr(event_session.EventSession, "_run_session", fail)
            await setup.driver.attach(PLANT, [attached_module(DeviceKind.LIGHT, where="11")])
            assert str(await asyncio.wait_for(setup.driver.wait_failed(), 30)) == "a mistake"
