"""Subscription keys that are refused: always 401, always the same body (Spec 5.1)."""

import json
import time
from typing import Any

import httpx
import pytest

from support.clocks import avoid_midnight
from support.gateway import Gateway
from support.http import KEY_HEADER, case, expect_refusal, raw_call
from support.spec_operations import E6, E8, OPERATIONS, Operation
from support.store_access import issue_key, revoke_key

pytestmark = pytest.mark.slow

every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=str)


@pytest.fixture(scope="module")
def dead_keys(workshop: Gateway) -> dict[str, str]:
    """Keys that were valid before, by the reason why they no longer are."""
    revoked, expired = issue_key(workshop), issue_key(workshop, life=0.5)
    assert workshop.send(E6, key=revoked).status_code == 200
    revoke_key(workshop, revoked)
    time.sleep(0.5)
    return {"revoked": revoked, "expired": expired}


@every_operation
class TestOnEveryOperation:
    def test_no_key_an_unknown_key_and_a_dead_key_are_401_with_the_same_body(
        self, workshop: Gateway, operation: Operation, dead_keys: dict[str, str]
    ) -> None:
        who, target = workshop.case(operation)
        usual = self.usual(workshop, operation)
        for key in (None, "no-such-key", "x" * 4000, "' OR 1=1 --", dead_keys["revoked"], dead_keys["expired"]):
            with case(key):
                assert expect_refusal(operation, workshop.send(operation, target, who=who, key=key), 401) == usual

    def test_a_key_in_the_query_is_not_looked_at(self, workshop: Gateway, operation: Operation) -> None:
        who, target = workshop.case(operation)
        for name in (KEY_HEADER, "subscription-key"):
            path = f"{operation.url(target)}?{name}={workshop.subscription_key}"
            expect_refusal(operation, workshop.send(operation, who=who, path=path, key=None), 401)

    def test_two_key_headers_are_refused_even_if_both_are_good(self, workshop: Gateway, operation: Operation) -> None:
        who, target = workshop.case(operation)
        token = workshop.people[who].token_for(operation)
        for second in (workshop.subscription_key, "another", ""):
            answer = raw_call(workshop.api, operation, operation.url(target), token=token, extra=[(KEY_HEADER, second)])
            expect_refusal(operation, answer, 401)

    def test_keys_joined_by_a_comma_are_refused(self, workshop: Gateway, operation: Operation) -> None:
        who, target = workshop.case(operation)
        key = f"{workshop.subscription_key}, {workshop.subscription_key}"
        expect_refusal(operation, workshop.send(operation, target, who=who, key=key), 401)

    def test_a_bad_key_is_told_before_a_bad_token(self, workshop: Gateway, operation: Operation) -> None:
        _, target = workshop.case(operation)
        answer = workshop.send(operation, target, token="not.a.token", key="no-such-key")
        assert expect_refusal(operation, answer, 401) == self.usual(workshop, operation)

    def usual(self, gateway: Gateway, operation: Operation) -> object:
        _, target = gateway.case(operation)
        return gateway.send(operation, target, token=None, key=None).json()


class TestRevocation:
    def test_a_revoked_key_is_refused_from_the_next_request_on(self, workshop: Gateway) -> None:
        issued = json.loads(workshop.domogate("key", "issue", "soon gone", "--json"))
        assert workshop.send(E6, key=issued["key"]).status_code == 200
        workshop.domogate("key", "revoke", issued["id"])
        expect_refusal(E6, workshop.send(E6, key=issued["key"]), 401)

    def test_the_list_of_keys_never_shows_a_key(self, workshop: Gateway) -> None:
        issued = issue_key(workshop)
        assert issued not in workshop.domogate("key", "list") + workshop.domogate("key", "list", "--json")


class TestLimits:
    @pytest.mark.parametrize("limit", [{"rate": "2/minute"}, {"daily_quota": 2}], ids=str)
    @pytest.mark.parametrize("operation", [E6, OPERATIONS[0]], ids=str)
    def test_beyond_its_limit_a_key_gets_429_with_whole_seconds_to_wait(
        self, workshop: Gateway, operation: Operation, limit: dict[str, Any]
    ) -> None:
        who, target = workshop.case(operation)
        avoid_midnight()
        key = issue_key(workshop, **limit)
        answers = [workshop.send(operation, target, who=who, key=key) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        expect_refusal(operation, answers[2], 429)
        assert int(answers[2].headers["retry-after"]) >= 1
        assert self.remaining(answers[0]) > self.remaining(answers[1])

    def remaining(self, answer: httpx.Response) -> int:
        """The remaining requests, from any of its headers."""
        told = [int(value) for name, value in answer.headers.items() if "remaining" in name and value.isdigit()]
        assert told, f"no header says what remains: {dict(answer.headers)}"
        return told[0]

    def test_an_unlimited_key_has_no_such_headers(self, workshop: Gateway) -> None:
        who, target = workshop.case(E8)
        assert not [name for name in workshop.send(E8, target, who=who).headers if "remaining" in name]
