"""`domogate module …`, `order …` and `fault …`."""

import json
import math
import time
from datetime import datetime

import pytest

from domogate.app import Tools
from domogate.domain.commands import (
    Command,
    MoveShutter,
    OpenLock,
    Order,
    OrderEnd,
    OrderState,
    SetLight,
    SetThermostat,
    SwitchPlug,
)
from domogate.domain.injections import InjectedFault
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.safety import EmergencyTest, EmergencyTestKind, Failure, FailureType
from domogate.domain.states import Color, EmergencyState, PlugState, Reading, Report, ThermostatMode, Unit
from support.command_line import CommandLine
from support.device_estate import (
    CONTROLLER,
    LANTERN,
    METER,
    OTHER_PLANT,
    OTHER_PLUG,
    PLANT,
    PLUG,
    REMOTE,
    SHUTTER,
    report,
    run_with_tools,
)


class TestModules:
    def test_they_are_listed_with_their_states_and_why_one_is_away(self, home: CommandLine) -> None:
        away = Absence(AbsenceReason.SILENT, 1_800_000_000.0, "last heard on z2m/kettle")
        power = Reading(12.5, Unit.WATT, 1_799_999_990.0)
        report(home, Report(PLANT, PLUG, 1_800_000_000.0, PlugState(on=True, power=power), reachable=False, absence=away))
        printed = home.good("module", "list", "Home")
        kettle = next(line for line in printed.splitlines() if "Kettle" in line)
        for word in ("Kitchen", "plug", "simulator", "no: silent since 2027-01-15T08:00:00", "on: yes, power: 12.5 watt", PLUG):
            assert word in kettle
        assert next(line for line in printed.splitlines() if "Remote" in line).split()[:3] == ["Remote", "-", "remote"]
        assert "position: 30" in printed
        assert "failures: BLOCK.OK" in printed
        told = {one["id"]: one for one in home.read("module", "list", PLANT)}
        assert told.keys() == {PLUG, REMOTE, SHUTTER, METER, CONTROLLER, LANTERN}
        since = "2027-01-15T08:00:00Z"
        told_away = {"why": "silent", "since": since, "evidence": away.evidence, "code": "", "values": {}}
        assert told[PLUG]["absence"] == told_away
        assert (told[PLUG]["ambient"], told[PLUG]["reported_at"]) == ("Kitchen", "2027-01-15T08:00:00Z")
        assert (told[METER]["state"], told[METER]["reported_at"]) == (None, None)

    def test_they_are_chosen_by_kind_and_absence(self, home: CommandLine) -> None:
        report(home, Report(PLANT, SHUTTER, 1.0, reachable=False))
        assert [one["id"] for one in home.read("module", "list", "Home", "--offline")] == [SHUTTER]
        assert [one["id"] for one in home.read("module", "list", "Home", "--kind", "remote")] == [REMOTE]
        assert home.run("module", "list", "Home", "--kind", "toaster").exit_code == 2
        empty = home.run("module", "list", "Home", "--kind", "lock")
        assert (empty.exit_code, "no such modules" in empty.stderr) == (0, True)

    @pytest.mark.parametrize("named", ["Kettle", PLUG, PLUG.upper(), PLUG.replace("-", "")])
    def test_one_is_shown_with_its_evidence(self, home: CommandLine, named: str) -> None:
        report(home, Report(PLANT, PLUG, 5.0, reachable=False, absence=Absence(AbsenceReason.REFUSED, 4.0, "no such address")))
        printed = home.good("module", "show", named)
        assert "Kettle, plug in Home" in printed
        assert "evidence: no such address" in printed
        assert home.read("module", "show", named)["absence"]["why"] == "refused"

    def test_a_fault_that_is_injected_shows(self, home: CommandLine) -> None:
        home.good("fault", "inject", "Remote", "battery", "--value", "very_low")
        home.good("fault", "inject", "Kettle", "offline")
        assert home.read("module", "show", "Remote")["state"]["battery"] == "very_low"
        assert home.read("module", "show", "Kettle")["absence"]["why"] == "injected"

    def test_modules_with_the_same_name_are_told_apart_by_their_rooms(self, domogate: CommandLine) -> None:
        ids = [f"ca5a000{n}-0000-4000-8000-000000000000" for n in range(8)]
        lamps = [f"{{id: {one}, name: Lamp, kind: light, driver: simulator, state: {{on: true}}}}" for one in ids[:3]]
        rooms = [f"{{id: {ids[3 + n]}, name: Room 10{n}, modules: [{lamps[n]}]}}" for n in range(2)]
        domogate.good(
            "estate",
            "import",
            "-",
            input=f"""
users: [{{email: anna@example.com}}]
plants:
  - {{id: {ids[5]}, name: Hotel, type: hotel, owner: anna@example.com, ambients: [{", ".join(rooms)}], modules: [{lamps[2]}]}}
""",
        )
        said = domogate.refused("module", "show", "Lamp")
        assert "'Lamp' is not unique; use the id of one of these:" in said
        assert f"  {ids[0]}  Lamp in Room 100, Hotel\n  {ids[1]}  Lamp in Room 101, Hotel\n  {ids[2]}  Lamp in Hotel\n" in said
        assert "Lamp, light in Hotel" in domogate.good("module", "show", ids[1])

    def test_what_is_not_there_or_not_clear_is_said(self, home: CommandLine) -> None:
        assert "plant list" in home.refused("module", "list", "Castle")
        assert "module list" in home.refused("module", "show", "Toaster")
        said = home.refused("module", "show", "Shutter")
        assert SHUTTER in said
        assert OTHER_PLUG in said


class TestOrders:
    @pytest.fixture
    def ordered(self, home: CommandLine) -> CommandLine:
        async def order(tools: Tools) -> None:
            now = math.floor(tools.clock.now()) + 0.1234567  # six decimals cannot write this value exactly
            first = Order("blinds-1", PLANT, SHUTTER, MoveShutter(position=40), now + 5)
            second = Order("kettle-1", PLANT, PLUG, SwitchPlug(on=True), now + 5)
            await tools.store.add_orders((first,), now - 10, sent=True)
            await tools.store.end_order(first.plant_id, OrderEnd(first.id, OrderState.FAILED, now - 9, "it is stuck"))
            await tools.store.add_orders((second,), now, sent=False)

        run_with_tools(home, order)
        return home

    def test_the_newest_comes_first_with_what_became_of_it(self, ordered: CommandLine) -> None:
        lines = ordered.good("order", "list").splitlines()
        assert [line.split()[-1] for line in lines[1:]] == ["kettle-1", "blinds-1"]
        for word in ("failed", "Shutter in Home", "move shutter (position: 40)", "it is stuck"):
            assert word in lines[2]
        told = ordered.read("order", "list")
        assert [(one["id"], one["state"]) for one in told] == [("kettle-1", "queued"), ("blinds-1", "failed")]
        assert told[1]["command"] == {"do": "move shutter", "position": 40}
        assert told[0]["sent_at"] is None

    def test_a_command_is_shown_in_words(self, home: CommandLine) -> None:
        async def order(tools: Tools) -> None:
            now = tools.clock.now()
            light = SetLight(on=True, color=Color(hue=120.0, saturation=50.0, value=80.5))
            later = SetThermostat(mode=ThermostatMode.MANUAL, set_point=21.5, activation_time=1_900_000_000.0)
            commands: list[Command] = [light, later, OpenLock()]
            orders = [Order(f"o{index}", PLANT, PLUG, each, now + 5) for index, each in enumerate(commands)]
            await tools.store.add_orders(tuple(orders), now, sent=False)

        run_with_tools(home, order)
        shown = home.good("order", "list")
        assert "set light (on: yes, color: 120 50 80.5)" in shown
        assert "set thermostat (mode: manual, set point: 21.5, activation time: 2030-03-17T17:46:40+00:00)" in shown
        assert "open lock  " in shown

    def test_they_are_chosen(self, ordered: CommandLine) -> None:
        between = datetime.fromisoformat(ordered.read("order", "show", "kettle-1")["queued_at"]).timestamp() - 5
        for words, wanted in (
            (("--state", "failed"), ["blinds-1"]),
            (("--module", "Kettle"), ["kettle-1"]),
            (("--plant", "Shed"), []),
            (("--limit", "1"), ["kettle-1"]),
            (("--before", f"{between:.3f}"), ["blinds-1"]),
        ):
            assert [one["id"] for one in ordered.read("order", "list", *words)] == wanted

    def test_the_next_page_begins_at_the_printed_time(self, ordered: CommandLine) -> None:
        said = ordered.run("order", "list", "--limit", "1").stderr
        before = said.partition("--before ")[2].split()[0]
        assert [one["id"] for one in ordered.read("order", "list", "--before", before)] == ["blinds-1"]

    def test_one_is_shown(self, ordered: CommandLine) -> None:
        printed = ordered.good("order", "show", "blinds-1")
        assert "move shutter (position: 40), for Shutter in Home: failed" in printed
        assert "problem: it is stuck" in printed
        assert ordered.read("order", "show", "kettle-1")["state"] == "queued"

    def test_what_is_wrong_is_said(self, ordered: CommandLine) -> None:
        assert "order list" in ordered.refused("order", "show", "nothing")
        assert "2026-11-15T08:30:00Z" in ordered.refused("order", "list", "--before", "yesterday")
        assert ordered.run("order", "list", "--state", "lost").exit_code == 2


class TestFaults:
    def test_each_can_be_injected_listed_and_cleared(self, home: CommandLine) -> None:
        for fault in InjectedFault:
            value = {"battery": "low", "failure": "BLOCK.DLD"}.get(fault, "")
            target, module = {"battery": (REMOTE, REMOTE), "failure": (LANTERN, LANTERN)}.get(fault, (PLANT, None))
            home.good("fault", "inject", target, fault, "--value", value)
            (told,) = home.read("fault", "list")
            assert told == {"plant_id": PLANT, "module_id": module, "fault": fault, "value": value, "until": None}
            assert "Cleared 1 fault in Home" in home.run("fault", "clear", "Home").stderr
        assert home.read("fault", "list") == []

    def test_it_lasts_for_a_while(self, home: CommandLine) -> None:
        begin = time.time()
        (told,) = home.read("fault", "inject", "Kettle", "slow", "--for", "10m")
        assert told["module_id"] == PLUG
        until = run_with_tools(home, lambda tools: tools.store.list_injections())[0][1].until
        assert until is not None
        assert begin + 600 <= until <= time.time() + 600
        printed = home.good("fault", "list", "Home")
        assert "Kettle" in printed
        assert "slow" in printed
        assert home.read("fault", "list", "Shed") == []

    def test_a_target_is_a_plant_or_a_module_by_id_or_name(self, home: CommandLine) -> None:
        for target, module in ((PLANT, None), (PLANT.replace("-", ""), None), ("Kettle", PLUG), (SHUTTER.upper(), SHUTTER)):
            assert [one["module_id"] for one in home.read("fault", "inject", target, "408")] == [module]
        said = home.refused("fault", "inject", "Shutter", "slow")
        assert SHUTTER in said
        assert OTHER_PLUG in said
        assert "plant list" in home.refused("fault", "inject", "Castle", "slow")

    def test_some_are_cleared_and_others_stay(self, home: CommandLine) -> None:
        for words in (("Home", "slow"), ("Kettle", "slow"), ("Kettle", "500"), (OTHER_PLUG, "offline")):
            home.good("fault", "inject", *words)
        home.good("fault", "clear", "Kettle", "--fault", "slow")
        assert len(home.read("fault", "list")) == 3
        home.good("fault", "clear", "Home")
        assert [one["plant_id"] for one in home.read("fault", "list")] == [OTHER_PLANT]
        home.good("fault", "clear", "--all")
        assert home.read("fault", "list") == []

    def test_what_cannot_be_is_said_and_nothing_is_injected(self, home: CommandLine) -> None:
        assert "very_low" in home.refused("fault", "inject", "Remote", "battery", "--value", "empty")
        assert "remote" in home.refused("fault", "inject", "Kettle", "battery", "--value", "low")
        assert "takes no value" in home.refused("fault", "inject", "Home", "slow", "--value", "very")
        assert "90d" in home.refused("fault", "inject", "Home", "slow", "--for", "soon")
        assert home.run("fault", "inject", "Home", "tired").exit_code == 2
        assert "--all" in home.refused("fault", "clear", code=2)
        assert "--all" in home.refused("fault", "clear", "Home", "--all", code=2)
        assert home.read("fault", "list") == []

    def test_it_is_in_the_audit_log_as_done_on_the_command_line(self, home: CommandLine) -> None:
        home.good("fault", "inject", "Home", "469")
        (noted,) = home.read("audit", "list", "--action", "plant changed")
        assert (noted["entry"]["who"], noted["entry"]["detail"]) == ("command line", {"inject": "469"})


class TestJson:
    def test_names_are_spelled_as_everywhere_on_the_command_line(self, home: CommandLine) -> None:
        home.good("fault", "inject", "Home", "408")
        test = EmergencyTest(EmergencyTestKind.FUNCTION, 10.0, 20.0, 10.0)
        report(
            home, Report(PLANT, LANTERN, 30.0, EmergencyState(failures=(Failure(FailureType.BLOCK_OK),), function_test=test))
        )
        printed = [home.read("module", "list", "Home"), home.read("fault", "list")]
        assert "function_test" in json.dumps(printed)
        assert "function test: function" in home.good("module", "show", "Lantern")
        names = {
            name for name in json.dumps(printed).split('"') if name.isidentifier() and any(sign.isupper() for sign in name)
        }
        assert names <= {"Kettle", "Remote", "Shutter", "Meter", "Controller", "Lantern", "Kitchen"}
