"""Every fault that can be injected, on every operation that it affects, gives the status of the ladder.

The tables are written by hand from the ladder in docs/errors.md. They do not use the code of the ladder.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from domogate.domain.people import Standing
from support.extension_operations import ALL_OPERATIONS, WITH_EXTENSIONS, X1, X2, X4
from support.gateway import Gateway, eventually
from support.gateway_faults import FaultRequest, GatewayFaults
from support.http import expect_refusal, message_of
from support.spec_operations import E1, E2, E5, E7, E8, E12, E16, E18, Operation
from support.store_access import standing

pytestmark = pytest.mark.slow

# Operations with a plant in their path. Faults do not affect the others.
ABOUT_A_PLANT = [
    *("E1", "E2", "E3", "E4", "E5", "E7", "E8", "E9", "E11", "E12", "E13", "E15", "E16", "E18"),
    *("X1", "X2", "X4", "X9"),
]
UNTOUCHED = ["E6", "E10", "E14", "E17", "E19", "E20", "X3", "X5"]

# The status of each operation while its whole plant has the fault; the others answer 200.
OF_THE_PLANT: dict[str, dict[str, int]] = {
    # A device is offline: 404, 500. E2, E16 and E18 show the last known state; a scene starts.
    "offline": {
        "E1": 404,
        "E4": 404,
        "E8": 404,
        "E11": 404,
        "E12": 404,
        "E13": 404,
        "E15": 404,
        "X1": 404,
        "X2": 404,
        "X9": 404,
    },
    # A device does not answer in time: 408, 500, 404. Operations without a device are not affected.
    "slow": {
        "E1": 500,
        "E2": 500,
        "E4": 500,
        "E11": 408,
        "E12": 408,
        "E13": 408,
        "E15": 408,
        "X1": 408,
        "X9": 408,
        "E8": 404,
        "X2": 404,
    },
    # A device refuses commands: 500. It can be read.
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
        "X9": 408,
        "X4": 408,
        "E5": 404,
        "E7": 404,
        "E8": 404,
        "E16": 404,
        "X2": 404,
    },
    "469": {"E9": 469, "E12": 469, "E13": 469, "X1": 469, "X4": 469, "X9": 469},
    "470": {"E9": 470, "E12": 470, "E13": 470, "X1": 470, "X4": 470, "X9": 470},
    "500": dict.fromkeys(ABOUT_A_PLANT, 500),
}

# A fault of one module does not affect operations on the whole plant.
TELL_OF_THE_PLANT = ["E3", "E7", "E9", "E16", "E18", "X4"]
OF_THE_MODULE = {
    fault: {name: status for name, status in told.items() if name not in TELL_OF_THE_PLANT}
    for fault, told in OF_THE_PLANT.items()
}


def plants_asked(gateway: Gateway) -> set[str]:
    return {gateway.case(WITH_EXTENSIONS[name])[1]["plant"] for name in ABOUT_A_PLANT}


def modules_asked(gateway: Gateway, operation: Operation) -> list[tuple[str, str]]:
    """The module of the operation and its plant; for E1 one plug of the ambient."""
    _, target = gateway.case(operation)
    if "module" in target:
        return [(target["plant"], target["module"])]
    if "ambient" in target:
        rooms = gateway.estate.plant(target["plant"]).plug_ambients
        room = next(room for room in rooms if room["id"] == target["ambient"])
        return [(target["plant"], next(module["id"] for module in room["modules"] if module["kind"] == "plug"))]
    return []


def statuses(gateway: Gateway, names: list[str]) -> dict[str, int]:
    """The status of each operation. All are sent at once, so that there is one wait. Errors have the shape of their family."""

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
        self, gateway: Gateway, faults: GatewayFaults, fault: str
    ) -> None:
        assert all_well(gateway)
        with faults.injected(*(FaultRequest(plant, fault) for plant in plants_asked(gateway))):
            assert statuses(gateway, ABOUT_A_PLANT) == expected(OF_THE_PLANT[fault], ABOUT_A_PLANT)
            assert statuses(gateway, UNTOUCHED) == dict.fromkeys(UNTOUCHED, 200)
        eventually(lambda: all_well(gateway), f"all is well after {fault} was cleared")

    @pytest.mark.parametrize(
        ("fault", "value"), [("battery", "very_low"), ("failure", "BLOCK.DLD"), ("failure", "REMOTE.STATUS.QUARTZ_FAULT")]
    )
    def test_that_only_shows_in_a_state_is_no_error_anywhere(
        self, gateway: Gateway, faults: GatewayFaults, fault: str, value: str
    ) -> None:
        plant = gateway.case(E2 if fault == "battery" else E18)[1]["plant"]
        with faults.injected(FaultRequest(plant, fault, value=value)):
            assert set(statuses(gateway, [*ABOUT_A_PLANT, *UNTOUCHED]).values()) == {200}

    def test_of_another_plant_touches_nothing(self, gateway: Gateway, faults: GatewayFaults) -> None:
        who, target = gateway.case(E8)
        other = next(plant.id for plant in gateway.estate.plants if plant.active and plant.id != target["plant"])
        with faults.injected(FaultRequest(other, "500"), FaultRequest(other, "offline")):
            assert gateway.send(E8, target, who=who).status_code == 200


class TestAFaultOfAModule:
    @pytest.mark.parametrize("fault", OF_THE_MODULE)
    def test_touches_every_operation_that_names_the_module_as_the_ladder_says(
        self, gateway: Gateway, faults: GatewayFaults, fault: str
    ) -> None:
        modules = {module for name in ABOUT_A_PLANT for module in modules_asked(gateway, WITH_EXTENSIONS[name])}
        with faults.injected(*(FaultRequest(plant, fault, module) for plant, module in modules)):
            assert statuses(gateway, ABOUT_A_PLANT) == expected(OF_THE_MODULE[fault], ABOUT_A_PLANT)
        eventually(lambda: all_well(gateway), f"all is well after {fault} was cleared")

    @pytest.mark.parametrize("fault", ["offline", "slow", "408", "500"])
    def test_leaves_its_neighbour_alone(self, gateway: Gateway, faults: GatewayFaults, fault: str) -> None:
        (who, one), (_, other) = [case for case in gateway.cases(E8) if case[0] == gateway.case(E8)[0]][:2]
        with faults.injected(FaultRequest(one["plant"], fault, one["module"])):
            assert gateway.send(E8, other, who=who).status_code == 200
            assert gateway.send(E8, one, who=who).status_code in (404, 500)

    def test_that_is_a_scene_still_starts_unless_the_fault_is_the_gateways(
        self, gateway: Gateway, faults: GatewayFaults
    ) -> None:
        who, target = gateway.case(E5)
        for fault, status in {"offline": 200, "slow": 200, "refusing": 200, "408": 404, "469": 200, "500": 500}.items():
            with faults.injected(FaultRequest(target["plant"], fault, target["module"])):
                assert gateway.send(E5, target, who=who).status_code == status, fault


class TestItsPlaceInTheOrderOfChecks:
    def test_a_stranger_learns_nothing_of_it(self, gateway: Gateway, faults: GatewayFaults) -> None:
        with faults.injected(*(FaultRequest(plant, "500") for plant in plants_asked(gateway))):
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

    def test_it_comes_after_the_module_and_before_the_values(self, gateway: Gateway, faults: GatewayFaults) -> None:
        who, target = gateway.case(X2)
        nowhere = {**target, "module": "00000000-0000-4000-8000-000000000000"}
        with faults.injected(FaultRequest(target["plant"], "500")):
            expect_refusal(X2, gateway.send(X2, nowhere, who=who), 404)
            expect_refusal(X2, gateway.send(X2, target, who=who, body=b"{"), 400)
            expect_refusal(X2, gateway.send(X2, target, who=who, body=b'{"level": 101}'), 500)

    def test_what_the_user_owes_comes_first(self, gateway: Gateway, faults: GatewayFaults) -> None:
        who, target = gateway.case(E12)
        with faults.injected(FaultRequest(target["plant"], "469")), standing(gateway, who, Standing.TERMS_EXPIRED):
            expect_refusal(E12, gateway.send(E12, target, who=who), 470)

    def test_of_several_the_first_is_told(self, gateway: Gateway, faults: GatewayFaults) -> None:
        who, target = gateway.case(E12)
        plant = target["plant"]
        with faults.injected(
            FaultRequest(plant, "408"),
            FaultRequest(plant, "500", target["module"]),
            FaultRequest(plant, "470"),
            FaultRequest(plant, "469"),
        ):
            expect_refusal(E12, gateway.send(E12, target, who=who), 469)
            expect_refusal(E8, gateway.send(E8, gateway.case(E8)[1], who=gateway.case(E8)[0]), 404)
        with faults.injected(FaultRequest(plant, "408"), FaultRequest(plant, "500", target["module"])):
            expect_refusal(E12, gateway.send(E12, target, who=who), 500)

    def test_an_etag_does_not_hide_it_and_the_message_says_where_it_comes_from(
        self, gateway: Gateway, faults: GatewayFaults
    ) -> None:
        who, target = gateway.case(E7)
        etag = gateway.send(E7, target, who=who).headers["etag"]
        with faults.injected(FaultRequest(target["plant"], "500")):
            answer = gateway.send(E7, target, who=who, headers={"If-None-Match": etag})
            assert "injected" in message_of(E7, expect_refusal(E7, answer, 500))
        assert gateway.send(E7, target, who=who, headers={"If-None-Match": etag}).status_code == 304
