"""Accounts in bad standing (469, 470) and devices that are offline, slow or refusing."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from domogate.domain.people import Standing
from support.gateway import Gateway, eventually
from support.http import expect_ok, expect_refusal, message_of
from support.spec_operations import (
    E1,
    E2,
    E4,
    E5,
    E8,
    E9,
    E11,
    E12,
    E13,
    E14,
    E15,
    E16,
    E18,
    OPERATIONS,
    Operation,
    first_listed,
)
from support.store_access import simulated, standing

pytestmark = pytest.mark.slow

STATUSES = {Standing.PASSWORD_EXPIRED: 469, Standing.TERMS_EXPIRED: 470, Standing.BOTH_EXPIRED: 469}
LISTING = (E9, E12, E13, E14)


class TestStanding:
    @pytest.mark.parametrize(("word", "status"), list(STATUSES.items()))
    def test_only_the_operations_that_list_it_are_affected(self, workshop: Gateway, word: Standing, status: int) -> None:
        seen = set()
        for who in {workshop.case(operation)[0] for operation in OPERATIONS}:
            with standing(workshop, who, word):
                for operation in OPERATIONS:
                    person, target = workshop.case(operation)
                    if person != who:
                        continue
                    answer = workshop.send(operation, target, who=who)
                    if operation in LISTING:
                        message = message_of(operation, expect_refusal(operation, answer, status))
                        assert "expired" not in message.lower(), "a known client takes that word for a token"
                        assert answer.reason_phrase
                    else:
                        assert answer.status_code == 200, f"{operation}: {answer.text}"
                    seen.add(operation.name)
        assert len(seen) == 20

    def test_it_is_told_before_a_bad_id_and_before_someone_elses_plant(self, workshop: Gateway) -> None:
        who = next(mail for mail in workshop.people if workshop.estate.standing(mail) == "password expired")
        for operation in (E9, E12, E13):
            _, target = workshop.case(operation)
            expect_refusal(operation, workshop.send(operation, who=who, path=operation.fill({**target, "plant": "x"})), 469)
            expect_refusal(operation, workshop.send(operation, target, who=who), 469)


class TestCommands:
    """The command that people use; the other tests write to the store directly."""

    def test_simulate_makes_a_device_go_offline_and_come_back(self, workshop: Gateway) -> None:
        who, target = workshop.case(E12)
        workshop.domogate("simulate", target["module"], "offline")
        expect_refusal(E12, workshop.send(E12, target, who=who), 404)
        workshop.domogate("simulate", target["module"], "normal")
        expect_ok(E12, workshop.send(E12, target, who=who))

    def test_standing_sets_what_a_user_still_owes(self, workshop: Gateway) -> None:
        who, target = workshop.case(E12)
        workshop.domogate("user", "standing", who, "terms-expired")
        expect_refusal(E12, workshop.send(E12, target, who=who), 470)
        workshop.domogate("user", "standing", who, "good")
        expect_ok(E12, workshop.send(E12, target, who=who))


class TestDevices:
    @pytest.mark.parametrize("operation", [E4, E8, E11, E12, E13, E15], ids=str)
    def test_an_offline_device_is_404(self, workshop: Gateway, operation: Operation) -> None:
        who, target = workshop.case(operation)
        with simulated(workshop, target["module"], "offline"):
            expect_refusal(operation, workshop.send(operation, target, who=who), 404)
        assert workshop.send(operation, target, who=who).status_code == 200

    def test_a_slow_device_is_told_as_the_ladder_says(self, workshop: Gateway) -> None:
        operations = (E2, E4, E8, E11, E12, E13, E15)

        def ask(operation: Operation) -> httpx.Response:
            who, target = workshop.case(operation)
            return workshop.send(operation, target, who=who)

        # All at the same time, so that one wait is enough.
        with ThreadPoolExecutor(len(operations)) as callers:
            with ExitStack() as slow:
                for module in {workshop.case(operation)[1]["module"] for operation in operations}:
                    slow.enter_context(simulated(workshop, module, "slow"))
                for operation, answer in zip(operations, callers.map(ask, operations), strict=True):
                    expect_refusal(operation, answer, first_listed(operation, 408, 500, 404))
            assert [answer.status_code for answer in callers.map(ask, operations)] == [200] * len(operations)

    @pytest.mark.parametrize(("how", "status"), [("offline", 404), ("slow", 500), ("refusing", 500)])
    def test_e1_names_the_plugs_that_did_not_switch(self, workshop: Gateway, how: str, status: int) -> None:
        who, target = next(
            (who, target)
            for who, target in workshop.cases(E1)
            if len([m for m in self.room(workshop, target)["modules"] if m["kind"] == "plug"]) > 1
        )
        plugs = [module for module in self.room(workshop, target)["modules"] if module["kind"] == "plug"]
        plant = workshop.estate.plant(target["plant"])
        for order in (b'{"status": "off"}', b'{"status": "on"}'):
            with simulated(workshop, plugs[0]["id"], how):
                message = message_of(E1, expect_refusal(E1, workshop.send(E1, target, who=who, body=order), status))
            assert plugs[0]["name"] in message
            assert plugs[1]["name"] not in message
        assert workshop.plug_states(plant)[plugs[1]["id"]] == [True], "the others did switch"
        assert workshop.send(E1, target, who=who).status_code == 200

    def room(self, gateway: Gateway, target: dict[str, str]) -> dict[str, list[dict[str, str]]]:
        plant = gateway.estate.plant(target["plant"])
        return next(room for room in plant.plug_ambients if room["id"] == target["ambient"])

    def test_an_offline_remote_is_200_and_not_reachable(self, workshop: Gateway) -> None:
        who, target = workshop.case(E2)
        with simulated(workshop, target["module"], "offline"):
            assert expect_ok(E2, workshop.send(E2, target, who=who))["remotes"][0]["reachable"] is False
        assert expect_ok(E2, workshop.send(E2, target, who=who))["remotes"][0]["reachable"] is True

    @pytest.mark.parametrize("how", ["offline", "slow"])
    def test_e16_still_shows_what_is_last_known(self, workshop: Gateway, how: str) -> None:
        who, target = workshop.case(E4)
        plant = workshop.estate.plant(target["plant"])
        before = workshop.plug_states(plant)
        with simulated(workshop, target["module"], how):
            body = expect_ok(E16, workshop.send(E16, {"plant": plant.id}, who=who))
        assert {plug["id"]: plug["status"] for plug in body["plugs"]} == before

    def test_e18_shows_a_silent_unit_and_controller_with_status_2(self, workshop: Gateway) -> None:
        who, target = workshop.case(E18)
        first = expect_ok(E18, workshop.send(E18, target, who=who))
        controller = next(
            item for item in first if item["children"] and item["status"] != 2 and item["children"][0]["status"] != 2
        )
        unit = controller["children"][0]

        def show_controller() -> dict[str, Any]:
            shown = expect_ok(E18, workshop.send(E18, target, who=who))
            return next(item for item in shown if item["id"] == controller["id"])

        def show_unit() -> dict[str, Any]:
            return next(item for item in show_controller()["children"] if item["id"] == unit["id"])

        # E18 asks no device. It shows the last report of the driver, which arrives shortly after the change.
        with simulated(workshop, unit["id"], "offline"):
            eventually(lambda: show_unit()["status"] == 2, "the unit is shown as silent")
            assert "BLOCK.FAULTY_COMMUNICATION" in [failure["failureType"] for failure in show_unit()["failures"]]
        with simulated(workshop, controller["id"], "offline"):
            eventually(lambda: show_controller()["status"] == 2, "the controller is shown as silent")

        def is_heard_again() -> bool:
            shown = expect_ok(E18, workshop.send(E18, target, who=who))
            return all(item["status"] != 2 for item in shown if item["id"] == controller["id"])

        eventually(is_heard_again, "the controller reports again")

    def test_a_refusing_device_still_lets_its_scene_start(self, workshop: Gateway) -> None:
        who, target = workshop.case(E5)
        plant = workshop.estate.plant(target["plant"])
        scene = next(module for module in plant.modules("scene") if module["id"] == target["module"])
        with simulated(workshop, scene["steps"][0]["module"], "refusing"):
            assert workshop.send(E5, target, who=who).status_code == 200
