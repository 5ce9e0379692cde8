"""Emergency controllers and units by MQTT: failures, charge and test results, read as the options say."""

import json
from typing import Any

import pytest

from domogate.domain.commands import SwitchPlug
from domogate.domain.devices import DeviceKind as Kind
from domogate.domain.estate import FirstState
from domogate.domain.faults import CommandNotSupported
from domogate.domain.safety import EmergencyTest, EmergencyTestKind, Failure, FailureType
from domogate.domain.states import EmergencyState
from domogate.drivers.mqtt import MqttBroker
from domogate.drivers.mqtt.kinds import make_state
from domogate.drivers.mqtt.options import find_option_problems
from domogate.drivers.mqtt.properties import Codec, Properties
from domogate.ports import AttachedModule
from support.driver_bench import is_absent
from support.mosquitto import DeviceClient, Mosquitto
from support.mqtt_dialects import make_codec
from support.mqtt_setup import attached_module, running_driver

UNIT, CONTROLLER = Kind.EMERGENCY_UNIT, Kind.EMERGENCY_CONTROLLER
LAMP, BATTERY = FailureType.BLOCK_FAULTY_EMERGENCY_LIGHT, FailureType.BLOCK_FAULTY_BATTERY
RESULTS = {"ok": "passed", "lamp": str(LAMP), "battery": str(BATTERY)}
FUNCTION = {"topic": "u/function", "result": "result", "map": RESULTS, "ended": "at", "lit": "seconds"}


def unit(**options: Any) -> Codec:
    return make_codec(UNIT, dialect="emergency", **options)


def state_after(codec: Codec, *messages: tuple[str, bytes], kind: Kind = UNIT) -> EmergencyState | None:
    properties = Properties()
    for topic, payload in messages:
        new = codec.decode(topic, payload)
        failures = {**properties.get("failures", {}), **new.get("failures", {})}
        properties.update(new)
        if failures:
            properties["failures"] = failures
    state = make_state(kind, properties, {})
    assert state is None or isinstance(state, EmergencyState)
    return state


def types(state: EmergencyState | None) -> list[str]:
    assert state is not None
    return [str(failure.type) for failure in state.failures]


class TestFailures:
    @pytest.mark.parametrize("kind", [UNIT, CONTROLLER])
    def test_each_of_the_21_types_can_be_reported(self, kind: Kind) -> None:
        prefix = "BLOCK." if kind is UNIT else "REMOTE."
        codec = make_codec(kind, dialect="emergency", failures={"topic": "u"})
        for failure in (one for one in FailureType if one.startswith(prefix)):
            assert types(state_after(codec, ("u", failure.encode()), kind=kind)) == [failure]

    def test_words_and_lists_of_words_are_mapped(self) -> None:
        words = {"fine": "BLOCK.OK", "lamp": str(LAMP), "7": str(BATTERY)}
        codec = unit(failures={"topic": "u", "path": "errors", "map": words})
        assert types(state_after(codec, ("u", b'{"errors": "fine"}'))) == ["BLOCK.OK"]
        assert types(state_after(codec, ("u", b'{"errors": []}'))) == ["BLOCK.OK"]
        assert types(state_after(codec, ("u", b'{"errors": ["lamp", 7]}'))) == [BATTERY, LAMP]
        assert state_after(codec, ("u", b'{"other": 1}')) is None

    def test_a_word_that_the_map_does_not_have_is_never_healthy(self) -> None:
        codec = unit(failures={"topic": "u", "map": {"fine": "BLOCK.OK"}})
        assert types(state_after(codec, ("u", b"smoke"))) == ["BLOCK.OTHER_FAULTY"]

    @pytest.mark.parametrize(
        ("payload", "expected"), [(b"0", ["BLOCK.OK"]), (b"12", [BATTERY, LAMP]), (b"0x08", [LAMP]), (b"16", ["BLOCK.OK"])]
    )
    def test_the_bits_of_a_number(self, payload: bytes, expected: list[str]) -> None:
        codec = unit(failures={"topic": "u", "bits": {"2": str(BATTERY), "3": str(LAMP)}})
        assert types(state_after(codec, ("u", payload))) == expected

    def test_a_topic_for_each_failure(self) -> None:
        codec = unit(
            failing={
                str(LAMP): {"topic": "u/lamp", "map": {"broken": True, "good": False}},
                str(BATTERY): {"topic": "u/battery"},
            }
        )
        assert types(state_after(codec, ("u/lamp", b"good"))) == ["BLOCK.OK"]
        assert types(state_after(codec, ("u/lamp", b"broken"), ("u/battery", b"on"))) == [BATTERY, LAMP]
        assert types(state_after(codec, ("u/lamp", b"broken"), ("u/battery", b"on"), ("u/lamp", b"good"))) == [BATTERY]


class TestTests:
    def test_a_result_is_a_record(self) -> None:
        codec = unit(failures={"topic": "u"}, functionTest=FUNCTION)
        told = {"result": "lamp", "at": "2026-11-15T08:00:30Z", "seconds": 30}
        read = codec.decode("u/function", json.dumps(told).encode())
        ended = 1_794_729_630.0
        assert read == {"function_test": EmergencyTest(EmergencyTestKind.FUNCTION, ended - 30, ended, 30.0, LAMP)}

    @pytest.mark.parametrize("at", [1_794_729_630, 1_794_729_630_000, "1794729630", "2026-11-15T09:00:30+01:00"])
    def test_times_in_every_spelling(self, at: object) -> None:
        codec = unit(failures={"topic": "u"}, durationTest={**FUNCTION, "litScale": 60})
        read = codec.decode("u/function", json.dumps({"result": "ok", "at": at, "seconds": 60}).encode())
        ended = 1_794_729_630.0
        assert read == {"duration_test": EmergencyTest(EmergencyTestKind.DURATION, ended - 3600, ended, 3600.0)}

    @pytest.mark.parametrize(
        "told",
        [
            {"result": "odd", "at": 1_794_729_630, "seconds": 30},
            {"result": "ok", "seconds": 30},
            {"result": "ok", "at": "yesterday", "seconds": 30},
            {"result": "ok", "at": 1_794_729_630},
            {"result": "ok", "at": 1_794_729_630, "seconds": -1},
            {"result": "ok", "at": 1_794_729_630, "seconds": 1e9},
            {"result": ["ok"], "at": True, "seconds": "30"},
        ],
    )
    def test_an_incomplete_result_is_no_test(self, told: dict[str, Any]) -> None:
        assert unit(failures={"topic": "u"}, functionTest=FUNCTION).decode("u/function", json.dumps(told).encode()) == {}

    def test_the_running_test_and_the_charge(self) -> None:
        codec = unit(
            failures={"topic": "u"}, testing={"topic": "t", "map": {"F": "function", "-": "none"}}, charge={"topic": "c"}
        )
        assert codec.decode("t", b"F") == {"testing": EmergencyTestKind.FUNCTION}
        assert codec.decode("t", b"-") == {"testing": None}
        assert codec.decode("c", b"87.6") == {"charge": 88}
        assert codec.decode("c", b"101") == {}


class TestOptions:
    @pytest.mark.parametrize(
        ("kind", "options", "path"),
        [
            (UNIT, {}, ("failures",)),
            (Kind.LIGHT, {"failures": {"topic": "u"}}, ()),
            (UNIT, {"failures": {"topic": "u/#"}}, ("failures", "topic")),
            (UNIT, {"failures": {"topic": "u", "map": {"x": "REMOTE.STATUS.OK"}}}, ("failures", "map", "x")),
            (CONTROLLER, {"failures": {"topic": "u", "bits": {"0": "BLOCK.DLD"}}}, ("failures", "bits", "0")),
            (UNIT, {"failures": {"topic": "u", "bits": {"40": "BLOCK.DLD"}}}, ("failures", "bits", "40")),
            (UNIT, {"failing": {"BLOCK.OK": {"topic": "u"}}}, ("failing", "BLOCK.OK")),
            (
                UNIT,
                {"failures": {"topic": "u"}, "functionTest": {**FUNCTION, "map": {"x": "BLOCK.DLD"}}},
                ("functionTest", "map"),
            ),
            (UNIT, {"failures": {"topic": "u"}, "functionTest": {**FUNCTION, "ended": ""}}, ("functionTest", "ended")),
            (UNIT, {"failures": {"topic": "u"}, "functionTest": {**FUNCTION, "lit": ""}}, ("functionTest", "lit")),
            (CONTROLLER, {"failures": {"topic": "u"}, "functionTest": FUNCTION}, ("functionTest", "map", "lamp")),
        ],
    )
    def test_a_mistake_is_found_with_its_path(self, kind: Kind, options: dict[str, Any], path: tuple[str, ...]) -> None:
        problems = dict(find_option_problems(kind, {"dialect": "emergency", **options}))
        assert path in problems, problems


def site(base: str) -> tuple[AttachedModule, AttachedModule]:
    controller = {"dialect": "emergency", "failures": {"topic": f"{base}/controller", "path": "state"}}
    options = {
        "dialect": "emergency",
        "failures": {"topic": f"{base}/1", "path": "failures"},
        "charge": {"topic": f"{base}/1", "path": "charge"},
        "functionTest": {**FUNCTION, "topic": f"{base}/1/test"},
        "availability": {"topic": f"{base}/1/alive"},
    }
    return attached_module(f"{base} controller", CONTROLLER, controller), attached_module(f"{base} unit", UNIT, options)


@pytest.mark.slow
class TestOnARealBroker:
    async def test_a_unit_reports_failures_tests_and_silence(self, broker: Mosquitto) -> None:
        controller, lamp = site("clinic")
        client = DeviceClient(broker.port)
        try:
            async with running_driver(MqttBroker(url=broker.url)) as bench:
                await bench.attach(controller, lamp)
                client.publish("clinic/controller", '{"state": "REMOTE.STATUS.OK"}', retain=True)
                client.publish("clinic/1", json.dumps({"failures": [BATTERY], "charge": 40}), retain=True)
                report = await bench.recorder.report_of(lamp, lambda one: isinstance(one.state, EmergencyState))
                assert report.state == EmergencyState(failures=(Failure(BATTERY),), charge=40)
                report = await bench.recorder.report_of(controller)
                assert report.state == EmergencyState(failures=(Failure(FailureType.REMOTE_OK),))
                client.publish("clinic/1/test", '{"result": "ok", "at": 1794729630, "seconds": 30}')
                tested = await bench.recorder.report_of(lamp, lambda one: getattr(one.state, "function_test", None) is not None)
                assert isinstance(tested.state, EmergencyState)
                assert tested.state.failures == (Failure(BATTERY),)
                client.publish("clinic/1/alive", "offline")
                assert (await bench.recorder.report_of(lamp, is_absent)).absence is not None
                client.publish("clinic/1/alive", "online")
                with pytest.raises(CommandNotSupported):
                    await bench.driver.execute(bench.order(lamp, SwitchPlug(on=True)))
            # After a restart the result of the test is known, although nobody publishes it again.
            again = AttachedModule(lamp.module, FirstState(lamp.module.id, tested.state), reported_at=tested.at)
            async with running_driver(MqttBroker(url=broker.url)) as bench:
                await bench.attach(again)
                client.publish("clinic/1", json.dumps({"failures": [], "charge": 100}), retain=True)
                report = await bench.recorder.report_of(again, lambda one: getattr(one.state, "charge", None) == 100)
                assert isinstance(report.state, EmergencyState)
                assert report.state.failures == (Failure(FailureType.BLOCK_OK),)
                assert report.state.function_test == tested.state.function_test
        finally:
            client.close()
