"""The tool finds nothing in a right implementation, and exactly the planted faults in a wrong one."""

from collections.abc import Callable

import pytest

from conformance_tool import mock_runs
from conformance_tool.answer_faults import ANSWERS
from conformance_tool.mock_runs import check, named
from conformance_tool.planted_faults import REFUSALS, Fault
from conformance_tool.rounds import Round, body_rounds
from domogate.conformance.operations import OPERATIONS
from domogate.conformance.run import all_rules
from domogate.conformance.subjects import Named
from support import mock_families
from support.examples import is_long
from support.mock_bodies import PLANT, SECOND, THERMOSTAT, bare
from support.mock_families import Ask, Reply

BEHAVIOUR = REFUSALS | ANSWERS
ALL_ROUNDS = body_rounds()
ROUNDS = ALL_ROUNDS if is_long() else ALL_ROUNDS[::3]


def nothing(_ask: Ask, reply: Reply) -> Reply:
    return reply


def more_fields(_ask: Ask, reply: Reply) -> Reply:
    """Add a field to each object of the answer."""

    def extend(part: object) -> object:
        if isinstance(part, dict):
            return {**{name: extend(value) for name, value in part.items()}, "anotherField": {"x": 1}}
        return [extend(item) for item in part] if isinstance(part, list) else part

    return reply._replace(body=extend(reply.body))


class TestARightImplementation:
    def test_has_no_finding_and_every_rule_is_checked(self) -> None:
        outcome = check(nothing, Named("thermostat", PLANT, THERMOSTAT))
        assert not outcome.findings
        assert not outcome.unchecked
        assert {rule.id for rule in all_rules()} == {rule.id for rule in outcome.checked}

    def test_may_have_more_fields_than_the_contract(self) -> None:
        assert not check(more_fields, *named(PLANT)).findings

    @pytest.mark.parametrize("token", ["opaque", "opaque.", "opaque.abcde", "opaque.A", "opaque.~~~"])
    def test_may_have_tokens_that_are_not_jwts(self, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
        monkeypatch.setattr(mock_runs, "TOKEN", token)
        monkeypatch.setattr(mock_families, "TOKEN", token)
        monkeypatch.setattr(mock_families, "TOKENS", (token, *mock_families.TOKENS[1:]))
        outcome = check(nothing, *named(PLANT))
        assert not outcome.findings
        assert not outcome.unchecked

    @pytest.mark.parametrize("spell", [str, bare])
    def test_may_be_given_ids_with_or_without_dashes(self, spell: Callable[[str], str]) -> None:
        asked: set[str] = set()

        def watch(ask: Ask, reply: Reply) -> Reply:
            if ask.operation is not None and reply.status == 200:
                asked.add(ask.operation.name)
            return reply

        modules = (one._replace(plant=spell(one.plant), module=spell(one.module)) for one in named(SECOND))
        outcome = check(watch, *modules)
        assert not outcome.findings
        assert {one.name for one in OPERATIONS} == asked

    def test_is_only_read_without_permission(self) -> None:
        posted: list[str] = []

        def watch(ask: Ask, reply: Reply) -> Reply:
            if ask.method == "POST" and ask.path != "/auth/token":
                posted.append(ask.path)
            return reply

        outcome = check(watch, Named("thermostat", PLANT, THERMOSTAT), write=False)
        assert not posted
        assert not outcome.findings
        assert {"3.E1", "3.E5", "4.E20", "5.token.200"} == {one.rule.id for one in outcome.unchecked}


@pytest.mark.parametrize("number", range(len(ROUNDS)))
def test_every_fault_of_a_body_is_found(number: int) -> None:
    """Each finding names the operation, the rule and the place of a planted fault; there is no other finding."""
    planted: Round = ROUNDS[number]
    outcome = check(planted.change, *named(PLANT))
    assert {(one.operation, one.rule.id, one.detail.split(": ")[0]) for one in outcome.findings} == planted.expected()


@pytest.mark.parametrize("group", BEHAVIOUR)
def test_every_fault_of_behaviour_is_found(group: str) -> None:
    faults = BEHAVIOUR[group]

    def change(ask: Ask, reply: Reply) -> Reply:
        return next((wrong for fault in faults if (wrong := fault.change(ask, reply)) is not None), reply)

    outcome = check(change, *named(PLANT, SECOND))
    found = [(one.rule.id, one.operation, one.detail) for one in outcome.findings]

    def is_about(fault: Fault, one: tuple[str, str, str]) -> bool:
        return one[:2] == (fault.rule, fault.operation) and fault.says in one[2]

    missed = [fault[:3] for fault in faults if not any(is_about(fault, one) for one in found)]
    surprising = [one for one in found if not any(is_about(fault, one) for fault in faults)]
    assert (missed, surprising) == ([], [])


class TestThePlantedFaults:
    def test_break_every_rule(self) -> None:
        """A new rule needs a fault that breaks it."""
        of_bodies = {fault.rule for one in ROUNDS for planted in one.planted for fault in planted.faults}
        of_behaviour = {fault.rule for group in BEHAVIOUR.values() for fault in group}
        assert {rule.id for rule in all_rules()} == of_bodies | of_behaviour
