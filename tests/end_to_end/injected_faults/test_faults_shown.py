"""Injected faults that show in a state: batteries, failures and last known states. Each fault ends in time."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from support.extension_operations import X1
from support.gateway import Gateway, eventually
from support.gateway_faults import FaultRequest, GatewayFaults
from support.http import expect_ok
from support.spec_operations import E2, E7, E8, E11, E12, E13, E15, E16, E18, Operation, Target

pytestmark = pytest.mark.slow

BATTERIES = ["full", "high", "medium", "low", "very_low", "unknown"]
BLOCK_FAILURES = [
    *("BLOCK.OK", "BLOCK.FAULTY_COMMUNICATION", "BLOCK.OTHER_FAULTY", "BLOCK.ALARM_STATE", "BLOCK.DLD"),
    *("BLOCK.FAULTY_POWER_SUPPLY", "BLOCK.FAULTY_BATTERY", "BLOCK.DISCONNECTED_BATTERY", "BLOCK.FAULTY_EMERGENCY_LIGHT"),
    "BLOCK.FAULTY_ELECTRONICAL",
]
REMOTE_FAILURES = [
    *("REMOTE.STATUS.OK", "REMOTE.STATUS.SECTOR_ON_BUS", "REMOTE.STATUS.BUS_SHORT_CIRCUIT", "REMOTE.STATUS.NO_BLOCK_RESPONSE"),
    *("REMOTE.STATUS.CAPACITY_OVERFLOW", "REMOTE.STATUS.NFC_COMM_FAULT", "REMOTE.STATUS.QUARTZ_FAULT"),
    *("REMOTE.STATUS.BATTERY_FAULT", "REMOTE.STATUS.BLOCK_ENROLLMENT_FAULT", "REMOTE.STATUS.ELECTRONIC_FAULT"),
    "REMOTE.STATUS.OUT_SUPERVISION",
]


def owner_of(gateway: Gateway, target: Target) -> str:
    return gateway.a_person_of(gateway.estate.plant(target["plant"]))


def battery_of(gateway: Gateway, target: Target) -> str:
    who, _ = gateway.case(E2)
    return str(expect_ok(E2, gateway.send(E2, target, who=who))["remotes"][0]["battery"])


def controllers_of(gateway: Gateway, site: Target) -> list[dict[str, Any]]:
    who, _ = gateway.case(E18)
    controllers: list[dict[str, Any]] = expect_ok(E18, gateway.send(E18, site, who=who))
    return controllers


def failures_of(gateway: Gateway, site: Target, module_id: str) -> list[str]:
    controllers = controllers_of(gateway, site)
    shown = [*controllers, *(unit for controller in controllers for unit in controller["children"])]
    found = next(item for item in shown if item["id"] == module_id)
    return [failure["failureType"] for failure in found["failures"]]


def first_unit(gateway: Gateway, site: Target) -> str:
    """A working unit of a controller that is not in alert and needs more than one failure for it."""
    return next(
        str(unit["id"])
        for controller in controllers_of(gateway, site)
        if controller["alertLevel"] > 1 and not controller["alert"]
        for unit in controller["children"]
        if unit["status"] == 0
    )


class TestForAWhile:
    def test_every_fault_ends_by_itself(self, gateway: Gateway, faults: GatewayFaults) -> None:
        """All faults at once, each in its own plant or module."""
        thermostats = [target for _, target in gateway.cases(E12)]
        places: list[tuple[Operation, Target, str, int]] = [
            (E12, thermostats[0], "offline", 404),
            (X1, thermostats[1], "refusing", 500),
            (E13, thermostats[2], "469", 469),
            (E12, thermostats[3], "470", 470),
            (E8, gateway.case(E8)[1], "slow", 404),
            (E11, gateway.case(E11)[1], "408", 408),
            (E15, gateway.case(E15)[1], "500", 500),
        ]
        remote, site = gateway.case(E2)[1], gateway.case(E18)[1]
        unit = first_unit(gateway, site)

        def ask(place: tuple[Operation, Target, str, int]) -> int:
            operation, target, *_ = place
            return gateway.send(operation, target, who=owner_of(gateway, target)).status_code

        def answers() -> list[int]:
            with ThreadPoolExecutor(len(places)) as callers:
                return list(callers.map(ask, places))

        def shown() -> tuple[str, list[str]]:
            return battery_of(gateway, remote), failures_of(gateway, site, unit)

        assert set(answers()) == {200}
        before = shown()
        for span in (6, 20, 60):  # longer only if the machine was too busy
            over = faults.now() + span
            faults.inject(
                *(FaultRequest(target["plant"], fault, target["module"], until=over) for _, target, fault, _ in places),
                FaultRequest(remote["plant"], "battery", remote["module"], "very_low", over),
                FaultRequest(site["plant"], "failure", unit, "BLOCK.DLD", over),
            )
            suffered, seen = answers(), shown()
            if faults.now() < over:
                break
        assert suffered == [status for *_, status in places]
        assert seen == ("very_low", ["BLOCK.DLD"])
        eventually(lambda: set(answers()) == {200} and shown() == before, "every fault is over", patience=100)
        eventually(lambda: not faults.list_kept(), "none is kept any more")

    def test_a_fault_of_the_door_is_over_on_the_second(self, gateway: Gateway, faults: GatewayFaults) -> None:
        who, target = gateway.case(E7)
        over = faults.now() + 1.5
        with faults.injected(FaultRequest(target["plant"], "500", until=over)):
            while (asked := faults.now()) < over:
                answer = gateway.send(E7, target, who=who)
                if faults.now() < over:
                    assert answer.status_code == 500
                else:
                    assert answer.status_code in (200, 500)
            assert asked >= over
            assert gateway.send(E7, target, who=who).status_code == 200


class TestABattery:
    @pytest.mark.parametrize("level", BATTERIES)
    def test_of_every_level_is_what_e2_shows(self, gateway: Gateway, faults: GatewayFaults, level: str) -> None:
        _, target = gateway.case(E2)
        before = battery_of(gateway, target)
        with faults.injected(FaultRequest(target["plant"], "battery", target["module"], level)):
            assert battery_of(gateway, target) == level
        eventually(lambda: battery_of(gateway, target) == before, "the remote's own battery is shown again")

    def test_of_the_whole_plant_is_that_of_all_its_remotes(self, gateway: Gateway, faults: GatewayFaults) -> None:
        who, target = gateway.case(E2)
        remotes = [other for mail, other in gateway.cases(E2) if (mail, other["plant"]) == (who, target["plant"])]
        with faults.injected(FaultRequest(target["plant"], "battery", value="low")):
            assert {battery_of(gateway, remote) for remote in remotes} == {"low"}


class TestAFailure:
    @pytest.mark.parametrize("failure", BLOCK_FAILURES)
    def test_of_every_type_is_what_e18_shows_of_a_unit(self, gateway: Gateway, faults: GatewayFaults, failure: str) -> None:
        _, site = gateway.case(E18)
        unit = first_unit(gateway, site)
        with faults.injected(FaultRequest(site["plant"], "failure", unit, failure)):
            assert failures_of(gateway, site, unit) == [failure]
        eventually(lambda: failures_of(gateway, site, unit) == ["BLOCK.OK"], "the unit is well again")

    @pytest.mark.parametrize("failure", REMOTE_FAILURES)
    def test_of_every_type_is_what_e18_shows_of_a_controller(
        self, gateway: Gateway, faults: GatewayFaults, failure: str
    ) -> None:
        _, site = gateway.case(E18)
        controller = next(item["id"] for item in controllers_of(gateway, site) if item["status"] == 0)
        with faults.injected(FaultRequest(site["plant"], "failure", controller, failure)):
            assert failures_of(gateway, site, controller) == [failure]
            status = next(item["status"] for item in controllers_of(gateway, site) if item["id"] == controller)
            assert status == (0 if failure == "REMOTE.STATUS.OK" else 1)
        eventually(lambda: failures_of(gateway, site, controller) == ["REMOTE.STATUS.OK"], "the controller is well again")

    def test_makes_its_controller_alert_once_there_are_enough_and_no_longer_when_they_are_gone(
        self, gateway: Gateway, faults: GatewayFaults
    ) -> None:
        _, site = gateway.case(E18)
        quiet = next(item for item in controllers_of(gateway, site) if item["alertLevel"] == 2 and not item["alert"])
        failing = [unit for unit in quiet["children"] if unit["status"] == 1]
        well = [unit["id"] for unit in quiet["children"] if unit["status"] == 0]
        assert len(failing) == 1

        def shown() -> dict[str, Any]:
            return next(item for item in controllers_of(gateway, site) if item["id"] == quiet["id"])

        with faults.injected(FaultRequest(site["plant"], "failure", well[0], "BLOCK.FAULTY_BATTERY")):
            eventually(lambda: shown()["alert"] is True, "the controller is in alert")
            eventually(lambda: shown().get("lastAlertUpdate") != quiet.get("lastAlertUpdate"), "it says when that came about")
        eventually(lambda: shown()["alert"] is False, "the controller is not in alert any more")


class TestWhatIsLastKnown:
    def test_an_offline_remote_says_so_itself(self, gateway: Gateway, faults: GatewayFaults) -> None:
        who, target = gateway.case(E2)
        with faults.injected(FaultRequest(target["plant"], "offline", target["module"])):
            assert expect_ok(E2, gateway.send(E2, target, who=who))["remotes"][0]["reachable"] is False
        assert expect_ok(E2, gateway.send(E2, target, who=who))["remotes"][0]["reachable"] is True

    def test_an_offline_plant_still_shows_its_plugs_and_units(self, gateway: Gateway, faults: GatewayFaults) -> None:
        (plug_owner, plugs), (_, site) = gateway.case(E16), gateway.case(E18)
        before = expect_ok(E16, gateway.send(E16, plugs, who=plug_owner))
        with faults.injected(*(FaultRequest(plant, "offline") for plant in {plugs["plant"], site["plant"]})):
            assert expect_ok(E16, gateway.send(E16, plugs, who=plug_owner)) == before
            eventually(
                lambda: {item["status"] for item in controllers_of(gateway, site)} == {2}, "every controller is out of reach"
            )
