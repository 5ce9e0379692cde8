"""Requests with two mistakes: the answer is about the mistake that is checked first (Decision 0016)."""

import pytest

from support.gateway import Gateway
from support.http import KEY_HEADER, expect_refusal
from support.spec_operations import (
    ABOUT_A_MODULE,
    ABOUT_A_PLANT,
    E1,
    E5,
    OPERATIONS,
    POSTS,
    Operation,
    malformed_id,
    not_found,
    not_your_plant,
)

pytestmark = pytest.mark.slow

NOWHERE = "00000000-0000-4000-8000-000000000000"
GIBBERISH = b'{"status": '
WRONG_VALUE = b'{"status": "never"}'
HOMECTL = [operation for operation in OPERATIONS if operation.shape == "A"]
SYNTAX_CHECKED = (E1, E5)


def stranger(gateway: Gateway, operation: Operation) -> tuple[str, dict[str, str]]:
    _, target = gateway.case(operation)
    return gateway.a_stranger_to(gateway.estate.plant(target["plant"])), target


class TestBeforeCredentials:
    @pytest.mark.parametrize("operation", OPERATIONS, ids=str)
    def test_a_wrong_url_is_told_without_a_key(self, demo: Gateway, operation: Operation) -> None:
        expect_refusal(operation, demo.send(operation, token=None, key=None, path=f"{operation.prefix}/nowhere"), 404)

    @pytest.mark.parametrize("operation", OPERATIONS, ids=str)
    def test_a_wrong_method_is_told_without_a_key(self, demo: Gateway, operation: Operation) -> None:
        _, target = demo.case(operation)
        expect_refusal(operation, demo.api.http.request("DELETE", operation.url(target)), 405)


class TestCredentials:
    @pytest.mark.parametrize("operation", POSTS, ids=str)
    def test_a_missing_key_is_told_before_too_large_a_body(self, demo: Gateway, operation: Operation) -> None:
        _, target = demo.case(operation)
        answer = demo.send(operation, target, token=None, key=None, body=b"x" * 70_000)
        expect_refusal(operation, answer, 401)

    @pytest.mark.parametrize("operation", ABOUT_A_PLANT, ids=str)
    def test_a_bad_token_is_told_before_a_bad_id(self, demo: Gateway, operation: Operation) -> None:
        _, target = demo.case(operation)
        path = operation.fill({**target, "plant": "nonsense"})
        expect_refusal(operation, demo.send(operation, token="a.b.c", path=path), 401)
        expect_refusal(operation, demo.send(operation, token=None, path=path), 401)
        expect_refusal(operation, demo.send(operation, key="nonsense", path=path), 401)

    @pytest.mark.parametrize("operation", POSTS, ids=str)
    def test_a_bad_token_is_told_before_a_bad_body(self, demo: Gateway, operation: Operation) -> None:
        _, target = demo.case(operation)
        expect_refusal(operation, demo.send(operation, target, token="a.b.c", body=GIBBERISH), 401)

    @pytest.mark.parametrize("operation", HOMECTL, ids=str)
    def test_a_bad_token_is_told_before_what_is_not_acceptable(self, demo: Gateway, operation: Operation) -> None:
        _, target = demo.case(operation)
        expect_refusal(operation, demo.send(operation, target, token="a.b.c", headers={"Accept": "text/xml"}), 401)

    def test_the_challenge_is_about_the_key_when_both_are_bad(self, demo: Gateway) -> None:
        for operation in OPERATIONS:
            _, target = demo.case(operation)
            answer = demo.send(operation, target, token="a.b.c", key="nonsense")
            assert KEY_HEADER.lower() in answer.headers["www-authenticate"].lower()


class TestSyntaxBeforePlants:
    @pytest.mark.parametrize("operation", ABOUT_A_MODULE, ids=str)
    def test_a_bad_module_id_is_told_before_someone_elses_plant(self, demo: Gateway, operation: Operation) -> None:
        who, target = stranger(demo, operation)
        path = operation.fill({"plant": operation.spell(target["plant"]), "module": "nonsense"})
        expect_refusal(operation, demo.send(operation, who=who, path=path), malformed_id(operation))

    def test_a_bad_ambient_id_is_told_before_someone_elses_plant(self, demo: Gateway) -> None:
        who, target = stranger(demo, E1)
        path = E1.fill({"plant": E1.spell(target["plant"]), "ambient": "nonsense"})
        expect_refusal(E1, demo.send(E1, who=who, path=path), 400)

    @pytest.mark.parametrize("operation", SYNTAX_CHECKED, ids=str)
    def test_an_unreadable_body_is_told_before_someone_elses_or_no_plant(self, demo: Gateway, operation: Operation) -> None:
        who, target = stranger(demo, operation)
        expect_refusal(operation, demo.send(operation, target, who=who, body=GIBBERISH), 400)
        expect_refusal(operation, demo.send(operation, {**target, "plant": NOWHERE}, who=who, body=GIBBERISH), 400)

    @pytest.mark.parametrize("operation", HOMECTL, ids=str)
    def test_what_is_not_acceptable_is_told_before_someone_elses_plant(self, demo: Gateway, operation: Operation) -> None:
        who, target = stranger(demo, operation)
        expect_refusal(operation, demo.send(operation, target, who=who, headers={"Accept": "text/xml"}), 406)


class TestPlantThenRightsThenModuleThenValues:
    @pytest.mark.parametrize("operation", ABOUT_A_MODULE, ids=str)
    def test_someone_elses_plant_is_told_before_a_module_that_is_not_there(self, demo: Gateway, operation: Operation) -> None:
        who, target = stranger(demo, operation)
        answer = demo.send(operation, {**target, "module": NOWHERE}, who=who)
        expect_refusal(operation, answer, not_your_plant(operation))

    @pytest.mark.parametrize("operation", ABOUT_A_MODULE, ids=str)
    def test_a_strangers_answer_is_the_same_whether_the_module_is_there_or_not(
        self, demo: Gateway, operation: Operation
    ) -> None:
        who, target = stranger(demo, operation)
        there = demo.send(operation, target, who=who)
        nowhere = demo.send(operation, {**target, "module": NOWHERE}, who=who)
        assert (there.status_code, there.content) == (nowhere.status_code, nowhere.content)

    @pytest.mark.parametrize("operation", SYNTAX_CHECKED, ids=str)
    def test_the_plant_is_told_before_a_wrong_value(self, demo: Gateway, operation: Operation) -> None:
        who, target = stranger(demo, operation)
        expect_refusal(operation, demo.send(operation, target, who=who, body=WRONG_VALUE), not_your_plant(operation))
        nowhere = {**target, "plant": NOWHERE}
        expect_refusal(operation, demo.send(operation, nowhere, who=who, body=WRONG_VALUE), not_found(operation))

    @pytest.mark.parametrize("operation", SYNTAX_CHECKED, ids=str)
    def test_a_missing_module_or_ambient_is_told_before_a_wrong_value(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        wrong = {**target, "ambient" if operation is E1 else "module": NOWHERE}
        expect_refusal(operation, demo.send(operation, wrong, who=who, body=WRONG_VALUE), 404)
