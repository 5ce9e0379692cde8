"""Headers of every answer: request id, deprecation, validators, CORS, authentication challenges."""

from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx
import pytest

from support.gateway import Gateway
from support.http import KEY_HEADER, expect_ok, expect_refusal, raw_call
from support.spec_operations import E3, E6, E7, E8, E10, OPERATIONS, PREFIXES, WITH_ETAG, Operation

SINCE = f"@{int(datetime(2026, 11, 15, tzinfo=UTC).timestamp())}"
every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=str)
with_etag = pytest.mark.parametrize("operation", WITH_ETAG, ids=str)


@pytest.mark.slow
class TestRequestId:
    @every_operation
    def test_every_answer_has_its_own(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        answers = [demo.send(operation, target, who=who) for _ in range(2)]
        answers += [demo.send(operation, target, who=who, key=None), demo.send(operation, target, token=None)]
        identities = [answer.headers["x-request-id"] for answer in answers]
        assert all(identities)
        assert len(set(identities)) == len(identities)

    @pytest.mark.parametrize("path", ["/", "/auth/jwks", "/healthz", "/readyz", *(f"{p}/nowhere" for p in PREFIXES)])
    def test_answers_outside_the_operations_have_one_too(self, web: httpx.Client, path: str) -> None:
        assert web.get(path).headers["x-request-id"]

    @pytest.mark.parametrize("sent", ['x"y', "a b", "ü", "x" * 5000, "<script>"])
    def test_a_strange_one_from_the_caller_is_not_repeated(self, demo: Gateway, sent: str) -> None:
        answer = demo.send(E6, headers={"X-Request-Id": sent.encode()})
        assert answer.status_code == 200
        assert answer.headers["x-request-id"] != sent


class TestDeprecation:
    @every_operation
    def test_it_is_on_deprecated_operations_and_on_no_others(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        good, bad = demo.send(operation, target, who=who), demo.send(operation, target, token=None)
        assert good.status_code == 200, good.text
        expected = SINCE if operation.deprecated else None
        assert good.headers.get("deprecation") == expected
        assert bad.headers.get("deprecation") == expected
        assert "sunset" not in good.headers, "no removal date is set"


class TestValidators:
    @with_etag
    def test_topologies_and_lists_have_an_etag_and_answer_304_to_it(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        etag = demo.send(operation, target, who=who).headers["etag"]
        for condition in (etag, f'"other", {etag}', f"W/{etag.removeprefix('W/')}", "*"):
            answer = demo.send(operation, target, who=who, headers={"If-None-Match": condition})
            assert answer.status_code == 304, f"{operation} to If-None-Match: {condition}"
            assert answer.content == b""
            assert answer.headers["etag"] == etag

    @pytest.mark.parametrize("is_first", [True, False])
    def test_a_repeated_if_none_match_is_one_list(self, demo: Gateway, *, is_first: bool) -> None:
        who, target = demo.case(E6)
        etag = demo.send(E6, target, who=who).headers["etag"]
        tags = [etag, '"other"'] if is_first else ['"other"', etag]
        extra = [("If-None-Match", tag) for tag in tags]
        assert raw_call(demo.api, E6, E6.url(target), token=demo.people[who].id_token, extra=extra).status_code == 304

    @with_etag
    def test_another_etag_gets_the_whole_body(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        answer = demo.send(operation, target, who=who, headers={"If-None-Match": '"nothing-like-it"'})
        expect_ok(operation, answer)

    @with_etag
    def test_an_etag_is_no_key_to_the_door(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        condition = {"If-None-Match": demo.send(operation, target, who=who).headers["etag"]}
        assert demo.send(operation, target, token=None, headers=condition).status_code == 401
        assert demo.send(operation, target, who=who, key="no-such-key", headers=condition).status_code == 401
        if operation.about_a_plant:
            stranger = demo.a_stranger_to(demo.estate.plant(target["plant"]))
            assert demo.send(operation, target, who=stranger, headers=condition).status_code in (401, 403)

    def test_another_users_list_has_another_etag(self, demo: Gateway) -> None:
        owners = {who for who in demo.good_people if demo.estate.active_plants_of(who)}
        lists = {who: tuple(plant.id for plant in demo.estate.active_plants_of(who)) for who in owners}
        etags = {demo.send(E10, who=who).headers["etag"] for who in owners}
        assert len(etags) == len(set(lists.values()))

    def test_the_same_plant_has_one_etag_for_all_its_people(self, demo: Gateway) -> None:
        plant = demo.estate.find_plants(lambda plant: len(plant.people & set(demo.good_people)) > 1)[0]
        etags = {demo.send(E7, {"plant": plant.id}, who=who).headers["etag"] for who in plant.people & set(demo.good_people)}
        assert len(etags) == 1

    def test_private_answers_are_not_for_shared_caches(self, demo: Gateway) -> None:
        control = demo.send(E6).headers.get("cache-control", "")
        assert "public" not in control


class TestHead:
    @pytest.mark.parametrize("operation", [op for op in OPERATIONS if op.method == "GET"], ids=str)
    def test_head_is_answered_as_get_without_the_body(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        headers = {KEY_HEADER: demo.subscription_key, "Authorization": demo.people[who].token_for(operation)}
        answer = demo.api.http.head(operation.url(target), headers=headers)
        assert answer.status_code == 200
        assert answer.content == b""
        assert int(answer.headers["content-length"]) > 0
        assert answer.headers["content-type"].startswith("application/json")


class TestAuthorizationHeader:
    @every_operation
    def test_bearer_in_any_case_and_the_bare_token_are_accepted(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        token = demo.people[who].token_for(operation)
        for form in ("Bearer {}", "bearer {}", "BEARER {}", "{}"):
            answer = demo.send(operation, target, token=None, headers={"Authorization": form.format(token)})
            assert answer.status_code == 200, form

    def test_a_401_tells_what_is_missing(self, demo: Gateway) -> None:
        who, target = demo.case(E8)
        without_key = demo.send(E8, target, who=who, key=None)
        without_token = demo.send(E8, target, token=None)
        bad_token = demo.send(E8, target, token="a.b.c")
        assert "bearer" not in without_key.headers["www-authenticate"].lower()
        assert without_token.headers["www-authenticate"].lower().startswith("bearer")
        assert "error" not in without_token.headers["www-authenticate"]
        assert 'error="invalid_token"' in bad_token.headers["www-authenticate"]


class TestCors:
    def origin_of(self, gateway: Gateway) -> str:
        uris = [uri for known in gateway.ready["clients"] for uri in known["redirect_uris"] if uri.startswith("http")]
        parts = urlsplit(uris[0])
        return f"{parts.scheme}://{parts.netloc}"

    @every_operation
    def test_a_preflight_of_a_registered_origin_is_allowed_before_all_checks(self, demo: Gateway, operation: Operation) -> None:
        _, target = demo.case(operation)
        origin = self.origin_of(demo)
        answer = demo.api.http.options(
            operation.url(target),
            headers={
                "Origin": origin,
                "Access-Control-Request-Method": operation.method,
                "Access-Control-Request-Headers": f"{KEY_HEADER.lower()},authorization,content-type",
            },
        )
        assert answer.status_code in (200, 204)
        assert answer.headers["access-control-allow-origin"] == origin
        assert operation.method in answer.headers["access-control-allow-methods"]
        allowed = answer.headers["access-control-allow-headers"].lower()
        assert all(name in allowed for name in (KEY_HEADER.lower(), "authorization", "content-type"))
        assert "access-control-allow-credentials" not in answer.headers

    def test_an_answer_to_a_registered_origin_can_be_read_by_it_errors_too(self, demo: Gateway) -> None:
        origin = self.origin_of(demo)
        for answer in (demo.send(E6, headers={"Origin": origin}), demo.send(E6, token=None, headers={"Origin": origin})):
            assert answer.headers["access-control-allow-origin"] == origin
            assert "origin" in answer.headers["vary"].lower()

    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "https://"])
    def test_no_other_origin_is_let_in(self, demo: Gateway, origin: str) -> None:
        answer = demo.send(E6, headers={"Origin": origin})
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers
        preflight = demo.api.http.options(E6.path, headers={"Origin": origin, "Access-Control-Request-Method": "GET"})
        assert "access-control-allow-origin" not in preflight.headers

    def test_an_origin_with_another_port_is_another_origin(self, demo: Gateway) -> None:
        answer = demo.send(E6, headers={"Origin": f"{urlsplit(self.origin_of(demo))._replace(netloc='localhost:9').geturl()}"})
        assert "access-control-allow-origin" not in answer.headers


class TestAccept:
    @every_operation
    def test_only_home_control_looks_at_it(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        answer = demo.send(operation, target, who=who, headers={"Accept": "text/xml"})
        if operation.shape == "A":
            expect_refusal(operation, answer, 406)
        else:
            assert answer.status_code == 200

    @pytest.mark.parametrize(
        "accept",
        ["text/html, image/*;q=0.5", "application/json;q=0", "*/*, application/json; q=0.0", "*/*, application/*;q=0"],
    )
    def test_what_does_not_admit_json_is_not_acceptable(self, demo: Gateway, accept: str) -> None:
        who, target = demo.case(E3)
        expect_refusal(E3, demo.send(E3, target, who=who, headers={"Accept": accept}), 406)

    @pytest.mark.parametrize(
        "accept",
        [
            "application/json",
            "*/*",
            "application/*;q=0.1",
            "text/html, application/json",
            "APPLICATION/JSON",
            "*/*;q=0, application/json",
            "",
        ],
    )
    def test_whatever_admits_json_is_acceptable(self, demo: Gateway, accept: str) -> None:
        who, target = demo.case(E3)
        assert demo.send(E3, target, who=who, headers={"Accept": accept}).status_code == 200

    @pytest.mark.parametrize(
        "accept", [("application/json", "text/html"), ("*/*", "text/html"), ("text/xml", "application/json")]
    )
    def test_a_repeated_header_is_one_list(self, demo: Gateway, accept: tuple[str, str]) -> None:
        who, target = demo.case(E3)
        extra = [("Accept", value) for value in accept]
        answer = raw_call(demo.api, E3, E3.url(target), token=demo.people[who].access_token, extra=extra)
        assert answer.status_code == 200

    def test_a_repeated_header_that_does_not_admit_json_is_not_acceptable(self, demo: Gateway) -> None:
        who, target = demo.case(E3)
        extra = [("Accept", "*/*"), ("Accept", "application/json;q=0")]
        expect_refusal(E3, raw_call(demo.api, E3, E3.url(target), token=demo.people[who].access_token, extra=extra), 406)


class TestQueryString:
    @every_operation
    def test_it_is_ignored(self, demo: Gateway, operation: Operation) -> None:
        who, target = demo.case(operation)
        for query in ("?", "?x=1", "?plantId=other&api-version=2", "?%00", "?a=%ff&&&=", "?../../x"):
            assert demo.send(operation, target, who=who, path=operation.url(target) + query).status_code == 200, query
