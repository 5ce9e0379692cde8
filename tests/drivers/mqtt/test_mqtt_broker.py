"""Reachability with a real mosquitto: last wills, a broker that restarts, silent modules, floods of messages."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from domogate.domain.commands import SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline
from domogate.domain.reachability import AbsenceReason
from domogate.domain.states import LightState, Reading, Report, Unit
from domogate.drivers.mqtt import MqttBroker, broker_connection, broker_session, driver
from support.clocks import NOON, ManualClock
from support.driver_bench import PATIENCE, PLANT, is_absent, is_off, is_on
from support.log_lines import capture_logs
from support.mosquitto import DeviceClient, Mosquitto, flood, mosquitto
from support.mqtt_devices import TasmotaRelays, ZigbeeBridge
from support.mqtt_setup import attached_module, running_driver, zigbee_lamp

pytestmark = pytest.mark.slow


def why(report: Report) -> AbsenceReason:
    assert report.absence is not None
    return report.absence.why


class TestLastWill:
    async def test_a_device_whose_power_is_cut_is_gone_because_its_last_will_says_so(self, broker: Mosquitto) -> None:
        device = TasmotaRelays(broker.port, "cut_off")
        plug = attached_module("cut off", DeviceKind.LIGHT, {"dialect": "tasmota", "topic": "cut_off"})
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(plug)
            await bench.recorder.report_of(plug, is_off)
            device.client.go_offline()
            report = await bench.recorder.report_of(plug, is_absent)
            assert why(report) is AbsenceReason.ANNOUNCED
            assert report.absence is not None
            assert report.absence.evidence == "tele/cut_off/LWT: Offline"
            assert isinstance(report.state, LightState), "what it was last in is still known"
            again = TasmotaRelays(broker.port, "cut_off", POWER="ON")
            report = await bench.recorder.report_of(plug, lambda report: report.reachable and is_on(report))
            again.client.close()

    async def test_a_bridge_that_ends_takes_all_its_devices_with_it(self, broker: Mosquitto) -> None:
        bridge = ZigbeeBridge(broker.port, "ending")
        bridge.add("one", state="ON")
        bridge.add("two", state="OFF")
        one, two = zigbee_lamp("ending", "one"), zigbee_lamp("ending", "two")
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(one, two)
            await bench.recorder.report_of(one, is_on)
            await bench.recorder.report_of(two, is_off)
            bridge.client.publish("ending/bridge/state", '{"state":"offline"}', retain=True)
            assert why(await bench.recorder.report_of(one, is_absent)) is AbsenceReason.ANNOUNCED
            assert why(await bench.recorder.report_of(two, is_absent)) is AbsenceReason.ANNOUNCED
            bridge.client.publish("ending/bridge/state", '{"state":"online"}', retain=True)
            await bench.recorder.report_of(one, lambda report: report.reachable)
            await bench.recorder.report_of(two, lambda report: report.reachable)
        bridge.client.close()


class TestBrokerRestart:
    async def test_modules_are_absent_while_it_is_gone_and_come_back_with_it(self, tmp_path: Path) -> None:
        with mosquitto(tmp_path) as broker:
            bridge = ZigbeeBridge(broker.port, "z")
            bridge.add("lamp", state="OFF", brightness=254)
            lamp = zigbee_lamp("z")
            async with running_driver(MqttBroker(url=broker.url)) as bench:
                await bench.attach(lamp)
                await bench.recorder.report_of(lamp, is_off)
                assert is_on(await bench.driver.execute(bench.order(lamp, SetLight(on=True))))
                broker.stop()
                report = await bench.recorder.report_of(lamp, is_absent)
                assert why(report) is AbsenceReason.CONNECTION_LOST
                assert report.absence is not None
                assert broker.url in report.absence.evidence
                assert bench.driver.list_connections()[0].problem == report.absence.evidence
                with pytest.raises(DeviceOffline, match="connection lost"):
                    await bench.driver.execute(bench.order(lamp, SetLight(on=False)))
                assert not (await bench.driver.read(PLANT, lamp.module.id, bench.clock.now() + 30)).reachable
                broker.start()
                report = await bench.recorder.report_of(lamp, lambda report: report.reachable)
                assert is_on(report), "what was acknowledged is not lost"
                await asyncio.to_thread(_until_listening, bridge)
                assert is_off(await bench.driver.execute(bench.order(lamp, SetLight(on=False))))
                assert bridge.told["lamp"] == 2, "the order that failed was not sent later"
            bridge.client.close()

    async def test_a_broker_that_is_not_there_at_all_is_said_and_found_once_it_is(self, tmp_path: Path) -> None:
        broker = Mosquitto(tmp_path)
        lamp = zigbee_lamp("z")
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(lamp)
            report = await bench.recorder.report_of(lamp, is_absent)
            assert why(report) is AbsenceReason.CONNECTION_LOST
            broker.start()
            bridge = ZigbeeBridge(broker.port, "z")
            bridge.add("lamp", state="ON")
            bridge.say("lamp")
            await bench.recorder.report_of(lamp, lambda report: report.reachable and is_on(report))
            bridge.client.close()
        broker.stop()

    async def test_an_order_whose_connection_is_lost_is_waited_for_and_not_sent_again(self, tmp_path: Path) -> None:
        with mosquitto(tmp_path) as broker:
            bridge = ZigbeeBridge(broker.port, "z")
            bridge.add("lamp", state="OFF")
            lamp = zigbee_lamp("z")
            async with running_driver(MqttBroker(url=broker.url)) as bench:
                await bench.attach(lamp)
                await bench.recorder.report_of(lamp, is_off)
                bridge.silent.add("lamp")
                ordering = asyncio.create_task(bench.driver.execute(bench.order(lamp, SetLight(on=True), within=3600)))
                await bench.recorder.until(lambda: bridge.told.get("lamp") == 1)
                broker.stop()
                await bench.recorder.report_of(lamp, is_absent)
                broker.start()
                await bench.recorder.report_of(lamp, lambda report: report.reachable)
                await asyncio.to_thread(_until_listening, bridge)
                assert not ordering.done(), "the device may have heard it and may still say so"
                assert bridge.told["lamp"] == 1
                bridge.change("lamp", state="ON")
                assert is_on(await ordering)
            bridge.client.close()


def _until_listening(bridge: ZigbeeBridge) -> None:
    """Wait until the client of the bridge has reconnected too: then it answers with a state."""
    deadline = time.monotonic() + PATIENCE
    told = len(bridge.client.received)
    probe = DeviceClient(bridge.client._client._port)
    while len(bridge.client.received) == told:
        assert time.monotonic() < deadline
        probe.publish(f"{bridge.base}/probe/get", "{}")
        time.sleep(0.05)
    probe.close()


class TestFlood:
    LAMPS = 200

    async def test_after_a_burst_every_module_shows_its_newest_state_and_orders_were_carried_out_meanwhile(
        self, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(broker_session, "READ_EVERY", 0.05)
        monkeypatch.setattr(driver, "REPORT_PAUSE", 0.1)
        bridge = ZigbeeBridge(broker.port, "calm")
        bridge.add("lamp", state="OFF")
        calm = zigbee_lamp("calm")
        lamps = [zigbee_lamp("flood", f"lamp_{number}") for number in range(self.LAMPS)]
        count = 8_000
        messages = [
            (
                f"flood/lamp_{number % self.LAMPS}",
                b'{"state":"ON","brightness":%d,"linkquality":%d}' % (number % 254 + 1, number % 200),
            )
            for number in range(count)
        ]
        newest = {f"lamp_{number % self.LAMPS}": number % 254 + 1 for number in range(count)}
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(calm, *lamps)
            await bench.recorder.report_of(calm, is_off)
            thread = threading.Thread(target=flood, args=(broker.port, messages, 8_000))
            thread.start()
            on = False
            while thread.is_alive():
                on = not on
                report = await bench.driver.execute(bench.order(calm, SetLight(on=on)))
                assert is_on(report) is on
            thread.join()

            def settled() -> bool:
                last = {report.module_id: report for report in bench.recorder.reports}
                return all(
                    (report := last.get(lamp.module.id)) is not None
                    and isinstance(report.state, LightState)
                    and report.state.level == max(1, round(newest[lamp.module.options["name"]] / 254 * 100))
                    for lamp in lamps
                )

            await bench.recorder.until(settled)
            assert len(bench.recorder.reports) < count / 2, "only the newest of each breath was read"
        bridge.client.close()

    async def test_garbage_retained_or_not_stops_nothing_and_is_told_once_in_a_while(self, broker: Mosquitto) -> None:
        device = DeviceClient(broker.port)
        garbage = [b"\xff\xfe", b"{", b"[]", b"null", b'{"state": {"a": []}, "brightness": "x"}', b"{" * 5000]
        device.publish("junk/lamp", garbage[0], retain=True)
        device.publish("junk/lamp/availability", b"perhaps", retain=True)
        lamp = zigbee_lamp("junk")
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            await bench.attach(lamp)
            warnings = bench.driver.sessions["main"].warnings
            await bench.recorder.until(lambda: warnings.counted >= 2)
            for payload in garbage:
                device.publish("junk/lamp", payload)
            device.publish("junk/lamp", '{"state":"ON"}')
            await bench.recorder.report_of(lamp, is_on)
            with capture_logs() as logs:
                warnings.log()
                warnings.log()
            assert len(logs) == 1
        device.publish("junk/lamp", b"", retain=True)
        device.publish("junk/lamp/availability", b"", retain=True)
        device.close()


class TestVersions:
    async def test_a_broker_that_knows_only_3_1_1_is_spoken_with_in_that(self, monkeypatch: pytest.MonkeyPatch) -> None:
        recorder: list[bytes] = []

        async def old_broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readexactly(2)
            connect = await reader.readexactly(head[1])
            if connect[6] == 5:
                writer.write(b"\x20\x02\x00\x01")
            else:
                writer.write(b"\x20\x02\x00\x00")
                recorder.append(connect)
                subscribe = await reader.readexactly(2)
                body = await reader.readexactly(subscribe[1])
                writer.write(b"\x90" + bytes((2 + body.count(b"h"),)) + body[:2] + b"\x00" * body.count(b"h"))
                writer.write(b"\x30\x05\x00\x01hon")
                await writer.drain()
                await reader.read()
            writer.close()

        server = await asyncio.start_server(old_broker, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        heater = attached_module("old", DeviceKind.LIGHT, {"dialect": "generic", "state": {"on": {"topic": "h"}}})
        async with server, running_driver(MqttBroker(url=f"mqtt://127.0.0.1:{port}")) as bench:
            await bench.attach(heater)
            await bench.recorder.report_of(heater, is_on)
            assert recorder[0][6] == 4

    async def test_several_brokers_and_modules_that_do_not_say_which(self, broker: Mosquitto) -> None:
        lamp, other, unknown = (
            zigbee_lamp("a", "lamp"),
            zigbee_lamp("a", "x", broker="two"),
            zigbee_lamp("a", "y", broker="three"),
        )
        async with running_driver(MqttBroker(url=broker.url, name="one"), MqttBroker(url=broker.url, name="two")) as bench:
            await bench.attach(lamp, other, unknown)
            missing = await bench.recorder.report_of(lamp, is_absent)
            assert (why(missing), missing.absence and missing.absence.evidence) == (
                AbsenceReason.MISCONFIGURED,
                "the option broker is missing; there are one, two",
            )
            assert why(await bench.recorder.report_of(unknown, is_absent)) is AbsenceReason.MISCONFIGURED
            assert not bench.recorder.of(other)

    async def test_without_any_broker_nothing_can_be_driven(self) -> None:
        lamp = zigbee_lamp("a")
        async with running_driver() as bench:
            await bench.attach(lamp)
            assert why(await bench.recorder.report_of(lamp, is_absent)) is AbsenceReason.MISCONFIGURED

    async def test_a_mistake_of_its_own_makes_the_driver_fail(self, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch) -> None:
        async def broken(self: broker_connection.BrokerConnection) -> None:
            raise RuntimeError("oops")

        monkeypatch.setattr(broker_connection.BrokerConnection, "run", broken)
        async with running_driver(MqttBroker(url=broker.url)) as bench:
            assert str(await asyncio.wait_for(bench.driver.wait_failed(), PATIENCE)) == "oops"


async def test_measured_values_that_the_recorder_refused_are_reported_again(broker: Mosquitto) -> None:
    meter = attached_module(
        "refused", DeviceKind.ENERGYMETER, {"dialect": "generic", "state": {"power": {"topic": "refused/power"}}}
    )
    device, clock = DeviceClient(broker.port), ManualClock(NOON)
    async with running_driver(MqttBroker(url=broker.url), clock=clock) as bench:
        await bench.attach(meter)
        bench.recorder.error = RuntimeError("too many reports")
        with capture_logs():
            device.publish("refused/power", "100", retain=True)
            await bench.recorder.until(lambda: bench.recorder.calls > 0)
            bench.recorder.error = None
            report = await bench.recorder.report_of(meter)
        assert report.readings == (("power", Reading(100.0, Unit.WATT, NOON)),)
        device.publish("refused/power", "", retain=True)
    device.close()
