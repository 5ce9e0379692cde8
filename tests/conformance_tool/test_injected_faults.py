"""`domogate conformance` on a real gateway with each fault of the test kit."""

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from domogate.conformance.exchange import Credentials
from domogate.conformance.reports import REPORTS
from domogate.conformance.run import Outcome, Target, run
from domogate.conformance.subjects import Named
from domogate.test_api.fault_rules import FaultKind
from domogate.testing import Estate, Gateway
from support.gateway import run_command

pytestmark = pytest.mark.slow

ANNA = "anna@example.com"
ESTATE = Estate()
ESTATE.user(ANNA)
HOME = ESTATE.plant("Home", owner=ANNA)
KITCHEN = HOME.room("Kitchen", type="kitchen")
LAMP = KITCHEN.light("Lamp", on=True, level=80)
KETTLE = KITCHEN.plug("Kettle")
FAMILIES = ("homectl", "homeauto", "doorentry-a")
SHORT = 1.0
"""The timeout of the tool in the tests with slow answers, in seconds."""


class Case(NamedTuple):
    """A fault, the operation that has it, and the rule that the tool must report."""

    kind: str
    operation: str | None
    rule: str
    ms: int | None = None


CASES = [
    Case("401", "E8", "7.200"),
    Case("403", "E8", "7.200"),
    Case("408", "E9", "5.2"),
    Case("429", "E8", "4.E8.statuses"),
    Case("469", "E9", "7.200"),
    Case("470", "E9", "7.200"),
    Case("500", "E8", "4.E8.statuses"),
    Case("500", "E9", "7.200"),
    Case("503", "E8", "4.E8.statuses"),
    Case("half", "E8", "1"),
    Case("drop", "E8", "1"),
    Case("slow", "E8", "1", ms=10_000),
]
EVERYWHERE = [case._replace(operation=None) for case in CASES if case.kind not in ("408", "469", "470")]


@pytest.fixture(scope="module")
def started() -> Iterator[Gateway]:
    with Gateway.start(ESTATE) as gateway:
        yield gateway


@pytest.fixture
def gateway(started: Gateway) -> Gateway:
    started.reset()
    return started


def check(gateway: Gateway, fault: Callable[[], object], *, timeout: float = 30.0, write: bool = False) -> Outcome:
    """Run the tool. The fault is injected after the tokens are issued."""
    tokens = gateway.tokens(ANNA)
    own = Credentials(gateway.subscription_key, tokens.id_token)
    access = own._replace(token=tokens.access_token, token_name="ACCESS_TOKEN")
    modules = (Named("light", HOME.id, LAMP.id),)
    fault()
    target = Target(gateway.base_url, own, access, families=FAMILIES, modules=modules, timeout=timeout)
    return run(target, lambda _changes: write, sleep=lambda _seconds: None)


def found(outcome: Outcome) -> set[tuple[str, str]]:
    return {(one.operation, one.rule.id) for one in outcome.findings}


def check_reports(outcome: Outcome, text: str) -> None:
    """Every report can be made, and has the text."""
    for form, report in REPORTS.items():
        assert text in report(outcome), form


def test_without_a_fault_nothing_is_found(gateway: Gateway) -> None:
    assert found(check(gateway, lambda: None, write=True)) == set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}-{case.operation}")
def test_a_fault_of_one_operation_is_found(gateway: Gateway, case: Case) -> None:
    timeout = SHORT if case.ms else 30.0
    outcome = check(gateway, lambda: gateway.fault(case.kind, operation=case.operation, ms=case.ms), timeout=timeout)
    assert (case.operation, case.rule) in found(outcome)
    if case.ms is None:
        assert {operation for operation, _rule in found(outcome)} == {case.operation}
    assert [one["applied"] > 0 for one in gateway.faults()] == [True]
    check_reports(outcome, case.rule)


@pytest.mark.parametrize("case", EVERYWHERE, ids=lambda case: f"{case.kind}-{case.rule}")
def test_a_fault_of_all_operations_ends_with_a_report(gateway: Gateway, case: Case) -> None:
    timeout = SHORT if case.ms else 30.0
    outcome = check(gateway, lambda: gateway.fault(case.kind, ms=case.ms), timeout=timeout)
    rules = {rule for _operation, rule in found(outcome)}
    assert case.rule.replace("E8", "E7") in rules
    check_reports(outcome, case.rule.replace("E8", "E7"))
    if case.kind in ("429", "503", "half", "drop", "slow"):
        assert any("the run ended early" in one.why for one in outcome.unchecked)
        check_reports(outcome, "the run ended early")


def test_the_command_prints_a_report_if_every_connection_is_dropped(gateway: Gateway) -> None:
    tokens = gateway.tokens(ANNA)
    flags = ["--base-url", gateway.base_url, "--key", gateway.subscription_key, "--token", tokens.id_token]
    gateway.fault("drop")
    done = run_command(["conformance", *flags, "--access-token", tokens.access_token], os.environ)
    assert done.returncode == 1
    assert "no complete answer" in done.stdout
    assert "the run ended early" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_devices_that_refuse_commands_are_found(gateway: Gateway) -> None:
    outcome = check(gateway, lambda: gateway.fault("refusing", plant=HOME), write=True)
    assert ("E1", "3.E1") in found(outcome)


def test_devices_that_never_answer_commands_are_found(gateway: Gateway) -> None:
    outcome = check(gateway, lambda: gateway.fault("silent", plant=HOME), write=True)
    assert ("E1", "3.E1") in found(outcome)


def test_devices_that_are_offline_are_not_checked(gateway: Gateway) -> None:
    outcome = check(gateway, lambda: gateway.fault("offline", plant=HOME))
    assert found(outcome) == set()
    assert "E8" in {one.operation for one in outcome.unchecked if one.rule.id == "7.200"}


def test_every_fault_of_the_kit_is_tested() -> None:
    """`cut` is left out: it is a fault of event streams, which the contract does not have."""
    assert {case.kind for case in CASES} | {"refusing", "silent", "offline", "cut"} == {str(kind) for kind in FaultKind}
