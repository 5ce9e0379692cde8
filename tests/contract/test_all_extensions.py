"""Rules for all extensions: slashes, scopes, strangers, documents and the audit log."""

from dataclasses import replace

import pytest

from domogate.domain.people import Standing
from support.extension_operations import EXTENSIONS, SUBSCRIPTIONS, X1, X2, X3, X4, X5, X9, expect_done, expect_listed
from support.gateway import Gateway, eventually
from support.http import expect_ok, expect_refusal
from support.spec_operations import ALL_SCOPES, E8, E9, E12, Operation
from support.store_access import issue_token, standing


class TestAllOfThem:
    @pytest.mark.parametrize("operation", [X3, X5, SUBSCRIPTIONS[1]], ids=str)
    def test_lists_may_be_asked_for_with_a_slash_at_the_end(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        plain, slashed = (
            demo.send(replace(operation, path=path), target, who=who) for path in (operation.path, f"{operation.path}/")
        )
        assert plain.status_code in (200, 204)
        assert (slashed.status_code, slashed.content) == (plain.status_code, plain.content)

    @pytest.mark.parametrize("operation", [X1, X4, X9], ids=str)
    def test_other_operations_have_no_slash_at_the_end(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        slashed = replace(operation, path=f"{operation.path}/")
        expect_refusal(operation, demo.send(slashed, target, who=who), 404)

    @pytest.mark.parametrize("operation", EXTENSIONS, ids=str)
    def test_each_needs_its_own_scope_and_a_key(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        others = tuple(scope for scope in ALL_SCOPES if scope not in operation.scopes)
        token = issue_token(demo, who, operation.token, others)
        expect_refusal(operation, demo.send(operation, target, token=token), 401)
        expect_refusal(operation, demo.send(operation, target, who=who, key=None), 401)
        expect_refusal(operation, demo.send(operation, target, token=None), 401)

    @pytest.mark.parametrize(("operation", "status"), [(X1, 401), (X2, 403), (X4, 401)], ids=str)
    def test_a_stranger_is_refused_before_their_values_are_looked_at(
        self, demo: Gateway, operation: Operation, status: int
    ) -> None:
        _, target = demo.case(operation)
        stranger = demo.a_stranger_to(demo.estate.plant(target["plant"]))
        body = None if operation.body is None else b'{"mode": "x", "status": "x"}'
        expect_refusal(operation, demo.send(operation, target, who=stranger, body=body), status)

    def test_a_module_of_another_kind_is_404(self, demo: Gateway) -> None:
        who, light = demo.case(X2)
        expect_refusal(X1, demo.send(X1, light, who=who), 404)
        who, thermostat = demo.case(X1)
        expect_refusal(X2, demo.send(X2, thermostat, who=who), 404)

    @pytest.mark.parametrize("operation", [X3, X4, X5], ids=str)
    def test_lists_and_topologies_are_told_once(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        etag = demo.send(operation, target, who=who).headers["etag"]
        again = demo.send(operation, target, who=who, headers={"If-None-Match": etag})
        assert (again.status_code, again.content) == (304, b"")

    def test_a_user_in_bad_standing_is_refused_in_the_whole_thermostat_family(self, workshop: Gateway) -> None:
        who, target = workshop.case(X1)
        with standing(workshop, who, Standing.TERMS_EXPIRED):
            for operation in (X1, X3, X4, X9):
                expect_refusal(operation, workshop.send(operation, target, who=who), 470)
            expect_listed(X5, workshop.send(X5, who=who))

    @pytest.mark.parametrize("operation", [E8, E12], ids=str)
    def test_a_path_that_has_both_says_so(self, demo: Gateway, operation: Operation) -> None:
        _, target = demo.case(operation)
        answer = demo.api.http.request("DELETE", operation.url(target))
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")

    def test_the_documents_mark_them_and_nothing_else(self, demo: Gateway) -> None:
        marked = set()
        for url in demo.api.http.get("/openapi").json()["documents"].values():
            for methods in demo.api.http.get(url).json()["paths"].values():
                marked |= {described["x-operation"] for described in methods.values() if described.get("x-extension")}
        assert marked == {operation.name for operation in (*EXTENSIONS, *SUBSCRIPTIONS)}

    def test_commands_are_in_the_audit_log(self, workshop: Gateway) -> None:
        told = {operation: workshop.case(operation) for operation in (X1, X2)}
        for operation, (who, target) in told.items():
            expect_done(operation, workshop.send(operation, target, who=who))

        def noted() -> str:
            return workshop.domogate("audit", "list", "--limit", "100000", "--json")

        eventually(lambda: all(f"{operation} set" in log for log in [noted()] for operation in told), "both are noted")
        log = noted()
        for who, target in told.values():
            assert target["module"] in log
            assert who not in log

    def test_e9_stays_without_thermostats(self, demo: Gateway) -> None:
        for who, target in demo.cases(E9):
            modules = expect_ok(E9, demo.send(E9, target, who=who))["plant"]["modules"]
            assert all(module["device"] != "chronothermostat" for module in modules)
