"""The tool finds nothing in a right implementation, and exactly the planted fault in a wrong one."""

import pytest

from conformance_tool.planted_faults import FAULTS, Fault
from domogate.conformance.access import Others
from domogate.conformance.exchange import Client, Credentials
from domogate.conformance.run import Outcome, Target, all_rules, run
from domogate.conformance.subjects import Named
from domogate.conformance.tokens import TokenEndpoint
from support.mock_families import (
    CLIENT,
    KEY,
    NARROW,
    OTHER,
    PLANT,
    REFRESH,
    SECRET,
    THERMOSTAT,
    TOKEN,
    Ask,
    Change,
    Reply,
    mock_gateway,
)


def check(change: Change, *, write: bool = True) -> Outcome:
    with mock_gateway(change) as url:
        own, other, narrow = (Credentials(KEY, token) for token in (TOKEN, OTHER, NARROW))
        endpoint = TokenEndpoint(Client(f"{url}/auth", timeout=30), CLIENT, SECRET, REFRESH)
        modules = (Named("thermostat", PLANT, THERMOSTAT),)
        try:
            target = Target(url, own, None, Others(other, other, narrow, narrow), endpoint, modules=modules)
            return run(target, lambda _changes: write)
        finally:
            endpoint.client.close()


class TestARightImplementation:
    def test_has_no_finding_and_every_rule_is_checked(self) -> None:
        outcome = check(lambda _ask, reply: reply)
        assert not outcome.findings
        assert not outcome.unchecked
        unchecked = {rule.id for rule in all_rules()} - {rule.id for rule in outcome.checked}
        assert unchecked <= {"7.204", "2.6.module.type"}, "the mock has no empty list, and no module with a type"

    def test_is_only_read_without_permission(self) -> None:
        posted: list[str] = []

        def watch(ask: Ask, reply: Reply) -> Reply:
            if ask.method == "POST" and ask.path != "/auth/token":
                posted.append(ask.path)
            return reply

        outcome = check(watch, write=False)
        assert not posted
        assert not outcome.findings
        assert {"3.E1", "3.E5", "4.E20", "5.token.200"} == {one.rule.id for one in outcome.unchecked}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.operation}-{fault.rule}")
def test_a_planted_fault_is_found(fault: Fault) -> None:
    outcome = check(fault.change)
    assert {(one.rule.id, one.operation) for one in outcome.findings} == {(fault.rule, fault.operation)}


def test_at_least_forty_faults_are_planted() -> None:
    assert len({(fault.rule, fault.operation) for fault in FAULTS}) >= 40
