"""Every fault that can be injected, on every operation it touches, gives the status that the ladder says.

The tables are written by hand, from the ladder as it is told in docs/errors.md; nothing here asks the code for it.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from domogate.domain.people import Standing
from support.backstage import standing
from support.extension_operations import ALL_OPERATIONS, WITH_EXTENSIONS, X1, X2, X4
from support.gateway import QUICK, Gateway, eventually, running, start
from support.http import expect_ok, expect_refusal, message_of
from support.injecting import Bench, Wish
from support.spec_operations import E1, E2, E5, E7, E8, E11, E12, E13, E15, E16, E18, Operation, Target

pytestmark = pytest.mark.slow

# Operations that name a plant. All others name none, and are never touched.
ABOUT_A_PLANT = ["E1", "E2", "E3", "E4", "E5", "E7", "E8", "E9", "E11", "E12", "E13", "E15", "E16", "E18", "X1", "X2", "X4"]
UNTOUCHED = ["E6", "E10", "E14", "E17", "E19", "E20", "X3", "X5"]

# What each operation answers while its whole plant suffers the fault; 200 where nothing is said.
OF_THE_PLANT: dict[str, dict[str, int]] = {
    # A device is offline: 404, 500. E2, E16 and E18 show what is last known; a scene starts all the same.
    "offline": {"E1": 404, "E4": 404, "E8": 404, "E11": 404, "E12": 404, "E13": 404, "E15": 404, "X1": 404, "X2": 404},
    # A device does not answer in time: 408, 500, 404. What is asked of no device goes on.
    "slow": {
        "E1": 500,
        "E2": 500,
        "E4": 500,
        "E11": 408,
        "E12": 408,
        "E13": 408,
        "E15": 408,
        "X1": 408,
        "E8": 404,
        "X2": 404,
    },
    # A device refuses: 500. It can be read.
    "refusing": {"E1": 500, "X1": 500, "X2": 500},
    "408": {
        "E1": 500,
        "E2": 500,
        "E3": 500,
        "E4": 500,
        "E18": 500,
        "E9": 408,
        "E11": 408,
        "E12": 408,
        "E13": 408,
        "E15": 408,
        "X1": 408,
        "X4": 408,
        "E5": 404,
        "E7": 404,
        "E8": 404,
        "E16": 404,
        "X2": 404,
    },
    "469": {"E9": 469, "E12": 469, "E13": 469, "X1": 469, "X4": 469},
    "470": {"E9": 470, "E12": 470, "E13": 470, "X1": 470, "X4": 470},
    "500": dict.fromkeys(ABOUT_A_PLANT, 500),
}

# Those that tell of the whole plant are not touched by a fault of one module of it.
TELL_OF_THE_PLANT = ["E3", "E7", "E9", "E16", "E18", "X4"]
OF_THE_MODULE = {
    fault: {name: status for name, status in told.items() if name not in TELL_OF_THE_PLANT}
    for fault, told in OF_THE_PLANT.items()
}

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


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Asks devices anew for every read, and gives up on them soon."""
    with running(start("demo", tmp_path_factory.mktemp("faults"), QUICK)) as started:
        yield started


@pytest.fixture(scope="module")
def bench(gateway: Gateway) -> Iterator[Bench]:
    bench = Bench(gateway)
    yield bench
    bench.close()


def plants_asked(gateway: Gateway) -> set[str]:
    return {gateway.case(WITH_EXTENSIONS[name])[1]["plant"] for name in ABOUT_A_PLANT}


def modules_asked(gateway: Gateway, operation: Operation) -> list[tuple[str, str]]:
    """The module that the operation is asked about, with its plant; for E1 one plug of its ambient."""
    _, target = gateway.case(operation)
    if "module" in target:
        return [(target["plant"], target["module"])]
    if "ambient" in target:
        rooms = gateway.estate.plant(target["plant"]).plug_ambients
        room = next(room for room in rooms if room["id"] == target["ambient"])
        return [(target["plant"], next(module["id"] for module in room["modules"] if module["kind"] == "plug"))]
    return []


def statuses(gateway: Gateway, names: list[str]) -> dict[str, int]:
    """What each answers now, all asked at once, so that one wait is enough; an error has its family's shape."""

    def ask(name: str) -> int:
        operation = WITH_EXTENSIONS[name]
        who, target = gateway.case(operation)
        answer = gateway.send(operation, target, who=who)
        if answer.status_code >= 400:
            expect_refusal(operation, answer, answer.status_code)
        return answer.status_code

    with ThreadPoolExecutor(len(names)) as callers:
        return dict(zip(names, callers.map(ask, names), strict=True))


def expected(told: dict[str, int], names: list[str]) -> dict[str, int]:
    return {name: told.get(name, 200) for name in names}


def all_well(gateway: Gateway) -> bool:
    return set(statuses(gateway, ABOUT_A_PLANT).values()) == {200}


class TestTheTables:
    def test_every_operation_is_in_one_of_the_lists(self) -> None:
        assert sorted([*ABOUT_A_PLANT, *UNTOUCHED]) == sorted(operation.name for operation in ALL_OPERATIONS)
        assert set(ABOUT_A_PLANT) == {operation.name for operation in ALL_OPERATIONS if operation.about_a_plant}

    def test_every_status_is_one_that_the_operation_lists_or_a_500(self) -> None:
        for told in OF_THE_PLANT.values():
            for name, status in told.items():
                assert status in WITH_EXTENSIONS[name].statuses | {500}


class TestAFaultOfTheWholePlant:
    @pytest.mark.parametrize("fault", OF_THE_PLANT)
    def test_touches_every_operation_that_names_the_plant_as_the_ladder_says(
        self, gateway: Gateway, bench: Bench, fault: str
    ) -> None:
        assert all_well(gateway)
        with bench.injected(*(Wish(plant, fault) for plant in plants_asked(gateway))):
            assert statuses(gateway, ABOUT_A_PLANT) == expected(OF_THE_PLANT[fault], ABOUT_A_PLANT)
            assert statuses(gateway, UNTOUCHED) == dict.fromkeys(UNTOUCHED, 200)
        eventually(lambda: all_well(gateway), f"all is well after {fault} was cleared")

    @pytest.mark.parametrize(
        ("fault", "value"), [("battery", "very_low"), ("failure", "BLOCK.DLD"), ("failure", "REMOTE.STATUS.QUARTZ_FAULT")]
    )
    def test_that_only_shows_in_a_state_is_no_error_anywhere(
        self, gateway: Gateway, bench: Bench, fault: str, value: str
    ) -> None:
        plant = gateway.case(E2 if fault == "battery" else E18)[1]["plant"]
        with bench.injected(Wish(plant, fault, value=value)):
            assert set(statuses(gateway, [*ABOUT_A_PLANT, *UNTOUCHED]).values()) == {200}

    def test_of_another_plant_touches_nothing(self, gateway: Gateway, bench: Bench) -> None:
        who, target = gateway.case(E8)
        other = next(plant.id for plant in gateway.estate.plants if plant.active and plant.id != target["plant"])
        with bench.injected(Wish(other, "500"), Wish(other, "offline")):
            assert gateway.send(E8, target, who=who).status_code == 200


class TestAFaultOfAModule:
    @pytest.mark.parametrize("fault", OF_THE_MODULE)
    def test_touches_every_operation_that_names_the_module_as_the_ladder_says(
        self, gateway: Gateway, bench: Bench, fault: str
    ) -> None:
        modules = {module for name in ABOUT_A_PLANT for module in modules_asked(gateway, WITH_EXTENSIONS[name])}
        with bench.injected(*(Wish(plant, fault, module) for plant, module in modules)):
            assert statuses(gateway, ABOUT_A_PLANT) == expected(OF_THE_MODULE[fault], ABOUT_A_PLANT)
        eventually(lambda: all_well(gateway), f"all is well after {fault} was cleared")

    @pytest.mark.parametrize("fault", ["offline", "slow", "408", "500"])
    def test_leaves_its_neighbour_alone(self, gateway: Gateway, bench: Bench, fault: str) -> None:
        (who, one), (_, other) = [case for case in gateway.cases(E8) if case[0] == gateway.case(E8)[0]][:2]
        with bench.injected(Wish(one["plant"], fault, one["module"])):
            assert gateway.send(E8, other, who=who).status_code == 200
            assert gateway.send(E8, one, who=who).status_code in (404, 500)

    def test_that_is_a_scene_still_starts_unless_the_fault_is_the_gateways(self, gateway: Gateway, bench: Bench) -> None:
        who, target = gateway.case(E5)
        for fault, status in {"offline": 200, "slow": 200, "refusing": 200, "408": 404, "469": 200, "500": 500}.items():
            with bench.injected(Wish(target["plant"], fault, target["module"])):
                assert gateway.send(E5, target, who=who).status_code == status, fault


class TestForAWhile:
    def test_every_fault_ends_by_itself(self, gateway: Gateway, bench: Bench) -> None:
        """All at once, each in a place of its own."""
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
        for span in (6, 20, 60):  # longer only if the machine was too busy to look in time
            over = bench.now() + span
            bench.inject(
                *(Wish(target["plant"], fault, target["module"], until=over) for _, target, fault, _ in places),
                Wish(remote["plant"], "battery", remote["module"], "very_low", over),
                Wish(site["plant"], "failure", unit, "BLOCK.DLD", over),
            )
            suffered, seen = answers(), shown()
            if bench.now() < over:
                break
        assert suffered == [status for *_, status in places]
        assert seen == ("very_low", ["BLOCK.DLD"])
        eventually(lambda: set(answers()) == {200} and shown() == before, "every fault is over", patience=100)
        eventually(lambda: not bench.list_kept(), "none is kept any more")

    def test_a_fault_of_the_door_is_over_on_the_second(self, gateway: Gateway, bench: Bench) -> None:
        who, target = gateway.case(E7)
        over = bench.now() + 1.5
        with bench.injected(Wish(target["plant"], "500", until=over)):
            while (asked := bench.now()) < over:
                answer = gateway.send(E7, target, who=who)
                if bench.now() < over:
                    assert answer.status_code == 500
                else:
                    assert answer.status_code in (200, 500)
            assert asked >= over
            assert gateway.send(E7, target, who=who).status_code == 200


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
    """A unit that works, of a controller that is not in alert and needs more than this one to be."""
    return next(
        str(unit["id"])
        for controller in controllers_of(gateway, site)
        if controller["alertLevel"] > 1 and not controller["alert"]
        for unit in controller["children"]
        if unit["status"] == 0
    )


class TestABattery:
    @pytest.mark.parametrize("level", BATTERIES)
    def test_of_every_level_is_what_e2_shows(self, gateway: Gateway, bench: Bench, level: str) -> None:
        _, target = gateway.case(E2)
        before = battery_of(gateway, target)
        with bench.injected(Wish(target["plant"], "battery", target["module"], level)):
            assert battery_of(gateway, target) == level
        eventually(lambda: battery_of(gateway, target) == before, "the remote's own battery is shown again")

    def test_of_the_whole_plant_is_that_of_all_its_remotes(self, gateway: Gateway, bench: Bench) -> None:
        who, target = gateway.case(E2)
        remotes = [other for mail, other in gateway.cases(E2) if (mail, other["plant"]) == (who, target["plant"])]
        with bench.injected(Wish(target["plant"], "battery", value="low")):
            assert {battery_of(gateway, remote) for remote in remotes} == {"low"}


class TestAFailure:
    @pytest.mark.parametrize("failure", BLOCK_FAILURES)
    def test_of_every_type_is_what_e18_shows_of_a_unit(self, gateway: Gateway, bench: Bench, failure: str) -> None:
        _, site = gateway.case(E18)
        unit = first_unit(gateway, site)
        with bench.injected(Wish(site["plant"], "failure", unit, failure)):
            assert failures_of(gateway, site, unit) == [failure]
        eventually(lambda: failures_of(gateway, site, unit) == ["BLOCK.OK"], "the unit is well again")

    @pytest.mark.parametrize("failure", REMOTE_FAILURES)
    def test_of_every_type_is_what_e18_shows_of_a_controller(self, gateway: Gateway, bench: Bench, failure: str) -> None:
        _, site = gateway.case(E18)
        controller = next(item["id"] for item in controllers_of(gateway, site) if item["status"] == 0)
        with bench.injected(Wish(site["plant"], "failure", controller, failure)):
            assert failures_of(gateway, site, controller) == [failure]
            status = next(item["status"] for item in controllers_of(gateway, site) if item["id"] == controller)
            assert status == (0 if failure == "REMOTE.STATUS.OK" else 1)
        eventually(lambda: failures_of(gateway, site, controller) == ["REMOTE.STATUS.OK"], "the controller is well again")

    def test_makes_its_controller_alert_once_there_are_enough_and_no_longer_when_they_are_gone(
        self, gateway: Gateway, bench: Bench
    ) -> None:
        _, site = gateway.case(E18)
        quiet = next(item for item in controllers_of(gateway, site) if item["alertLevel"] == 2 and not item["alert"])
        failing = [unit for unit in quiet["children"] if unit["status"] == 1]
        well = [unit["id"] for unit in quiet["children"] if unit["status"] == 0]
        assert len(failing) == 1

        def shown() -> dict[str, Any]:
            return next(item for item in controllers_of(gateway, site) if item["id"] == quiet["id"])

        with bench.injected(Wish(site["plant"], "failure", well[0], "BLOCK.FAULTY_BATTERY")):
            eventually(lambda: shown()["alert"] is True, "the controller is in alert")
            eventually(lambda: shown().get("lastAlertUpdate") != quiet.get("lastAlertUpdate"), "it says when that came about")
        eventually(lambda: shown()["alert"] is False, "the controller is not in alert any more")


class TestWhatIsLastKnown:
    def test_an_offline_remote_says_so_itself(self, gateway: Gateway, bench: Bench) -> None:
        who, target = gateway.case(E2)
        with bench.injected(Wish(target["plant"], "offline", target["module"])):
            assert expect_ok(E2, gateway.send(E2, target, who=who))["remotes"][0]["reachable"] is False
        assert expect_ok(E2, gateway.send(E2, target, who=who))["remotes"][0]["reachable"] is True

    def test_an_offline_plant_still_shows_its_plugs_and_units(self, gateway: Gateway, bench: Bench) -> None:
        (plug_owner, plugs), (_, site) = gateway.case(E16), gateway.case(E18)
        before = expect_ok(E16, gateway.send(E16, plugs, who=plug_owner))
        with bench.injected(*(Wish(plant, "offline") for plant in {plugs["plant"], site["plant"]})):
            assert expect_ok(E16, gateway.send(E16, plugs, who=plug_owner)) == before
            eventually(
                lambda: {item["status"] for item in controllers_of(gateway, site)} == {2}, "every controller is out of reach"
            )


class TestItsPlaceInTheOrderOfChecks:
    def test_a_stranger_learns_nothing_of_it(self, gateway: Gateway, bench: Bench) -> None:
        with bench.injected(*(Wish(plant, "500") for plant in plants_asked(gateway))):
            for operation, status in (
                (E1, 403),
                (E8, 403),
                (E12, 401),
                (E16, 401),
                (E18, 401),
                (X1, 401),
                (X2, 403),
                (X4, 401),
            ):
                _, target = gateway.case(operation)
                stranger = gateway.a_stranger_to(gateway.estate.plant(target["plant"]))
                expect_refusal(operation, gateway.send(operation, target, who=stranger), status)

    def test_it_comes_after_the_module_and_before_the_values(self, gateway: Gateway, bench: Bench) -> None:
        who, target = gateway.case(X2)
        nowhere = {**target, "module": "00000000-0000-4000-8000-000000000000"}
        with bench.injected(Wish(target["plant"], "500")):
            expect_refusal(X2, gateway.send(X2, nowhere, who=who), 404)
            expect_refusal(X2, gateway.send(X2, target, who=who, body=b"{"), 400)
            expect_refusal(X2, gateway.send(X2, target, who=who, body=b'{"level": 101}'), 500)

    def test_what_the_user_owes_comes_first(self, gateway: Gateway, bench: Bench) -> None:
        who, target = gateway.case(E12)
        with bench.injected(Wish(target["plant"], "469")), standing(gateway, who, Standing.TERMS_EXPIRED):
            expect_refusal(E12, gateway.send(E12, target, who=who), 470)

    def test_of_several_the_first_is_told(self, gateway: Gateway, bench: Bench) -> None:
        who, target = gateway.case(E12)
        plant = target["plant"]
        with bench.injected(Wish(plant, "408"), Wish(plant, "500", target["module"]), Wish(plant, "470"), Wish(plant, "469")):
            expect_refusal(E12, gateway.send(E12, target, who=who), 469)
            expect_refusal(E8, gateway.send(E8, gateway.case(E8)[1], who=gateway.case(E8)[0]), 404)
        with bench.injected(Wish(plant, "408"), Wish(plant, "500", target["module"])):
            expect_refusal(E12, gateway.send(E12, target, who=who), 500)

    def test_an_etag_does_not_hide_it_and_the_message_says_where_it_comes_from(self, gateway: Gateway, bench: Bench) -> None:
        who, target = gateway.case(E7)
        etag = gateway.send(E7, target, who=who).headers["etag"]
        with bench.injected(Wish(target["plant"], "500")):
            answer = gateway.send(E7, target, who=who, headers={"If-None-Match": etag})
            assert "injected" in message_of(E7, expect_refusal(E7, answer, 500))
        assert gateway.send(E7, target, who=who, headers={"If-None-Match": etag}).status_code == 304
