"""Which requests get a fault."""

from typing import Any

import pytest

from domogate.domain.ids import Id, new_id
from domogate.services.refusals import Conflict
from domogate.test_api.fault_rules import INSTEAD, MOST_RULES, FaultKind, FaultRule, FaultRules, RequestFacts

PLANT, MODULE, USER = (Id(f"{number}" * 32) for number in (1, 2, 3))
FACTS = RequestFacts("E8", PLANT, MODULE, USER, "hash")


def rule(kind: FaultKind = FaultKind.INTERNAL, left: int | None = None, **wanted: Any) -> FaultRule:
    return FaultRule(new_id(), kind, RequestFacts(**wanted), left=left)


class TestMatching:
    def test_a_rule_without_facts_matches_every_request(self) -> None:
        assert rule().matches(FACTS)
        assert rule().matches(RequestFacts())

    @pytest.mark.parametrize("fact", ["operation", "plant_id", "module_id", "user_id", "key_hash"])
    def test_every_fact_must_be_equal(self, fact: str) -> None:
        wanted: Any = {fact: getattr(FACTS, fact)}
        other: Any = {fact: "other"}
        assert rule(**wanted).matches(FACTS)
        assert not rule(**other).matches(FACTS)
        assert not rule(**wanted).matches(RequestFacts())


class TestRules:
    def test_the_first_rule_that_matches_is_taken_until_it_is_used_up(self) -> None:
        rules, first, second = FaultRules(), rule(left=1), rule(FaultKind.TOO_MANY)
        rules.add(first)
        rules.add(second)
        assert [rules.take(FACTS, INSTEAD) for _ in range(3)] == [first, second, second]
        assert (first.applied, first.left, second.applied, second.left) == (1, 0, 2, None)

    def test_only_the_asked_kinds_are_taken(self) -> None:
        rules = FaultRules()
        rules.add(rule(FaultKind.HALF))
        assert rules.take(FACTS, INSTEAD) is None
        assert rules.take(FACTS, {FaultKind.HALF}) is not None

    def test_a_user_is_needed_only_if_a_rule_names_one(self) -> None:
        rules = FaultRules()
        rules.add(rule(operation="E8"))
        assert not rules.needs_user()
        rules.add(rule(user_id=USER))
        assert rules.needs_user()

    def test_their_number_is_bounded(self) -> None:
        rules = FaultRules()
        for _ in range(MOST_RULES):
            rules.add(rule())
        with pytest.raises(Conflict):
            rules.add(rule())
