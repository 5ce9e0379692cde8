"""/tickets over HTTP: strict and bounded, with problem details for every refusal."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.faults import Internal
from domogate.services.tickets import NotRedeemed, Reason
from domogate.tickets.problems import KINDS, TYPE_PREFIX, TicketProblem
from support.examples import examples
from support.markdown import section, tables
from support.ticket_setup import TicketSetup, problem_type

DOCUMENT = Path(__file__).parents[2] / "docs" / "tickets.md"

NOT_ONE_TICKET = (
    b"",
    b"null",
    b"[]",
    b'"ticket"',
    b"{}",
    b"{",
    b'{"ticket": null}',
    b'{"ticket": 7}',
    b'{"ticket": ["a"]}',
    b'{"Ticket": "a"}',
    b'{"ticket": "a", "key": "b"}',
    b'{"ticket": "a", "ticket": "b"}',
    b'{"ticket": NaN}',
    b'{"ticket": "\xff"}',
    b'\xef\xbb\xbf{"ticket": "a"}',
    '{"ticket": "a"}'.encode("utf-16"),
    b"[" * 5_000,
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["ticket", "Ticket", ""]), inner),
    max_leaves=6,
)


async def post(setup: TicketSetup, content: bytes, media_type: str = "application/json") -> httpx.Response:
    return await setup.http.post("/tickets/redeem", content=content, headers={"content-type": media_type})


class TestTheBody:
    async def test_that_is_not_one_ticket_is_400(self, setup: TicketSetup) -> None:
        for content in NOT_ONE_TICKET:
            assert problem_type(await post(setup, content), 400) == "about:blank", content[:40]

    async def test_is_json_whether_or_not_the_content_type_says_so(self, setup: TicketSetup) -> None:
        body = b'{"ticket": "a"}'
        assert (await setup.http.post("/tickets/redeem", content=body)).status_code == 401
        assert (await post(setup, body, "Application/JSON; charset=UTF-8")).status_code == 401
        for media_type in ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"):
            assert problem_type(await post(setup, body, media_type), 415) == "about:blank"

    async def test_has_a_size_limit(self, setup: TicketSetup) -> None:
        assert problem_type(await post(setup, json.dumps({"ticket": "a" * 20_000}).encode()), 413) == "about:blank"
        assert problem_type(await post(setup, json.dumps({"ticket": "a" * 19_000}).encode()), 401) == "invalid"

    async def test_any_other_json_is_refused_without_a_failure(self, setup: TicketSetup) -> None:
        bodies: list[Any] = []

        @settings(max_examples=examples(80))
        @given(anything)
        def draw(body: Any) -> None:
            bodies.append(body)

        draw()
        for body in bodies:
            assert (await post(setup, json.dumps(body).encode())).status_code in (400, 401)


class TestTheUrl:
    async def test_has_one_method_each(self, setup: TicketSetup) -> None:
        for path, allowed in (("/tickets/redeem", "POST"), ("/tickets/picture", "GET")):
            for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"} - {allowed}:
                answer = await setup.http.request(method, path)
                assert problem_type(answer, 405) == "about:blank"
                assert answer.headers["allow"] == allowed

    async def test_has_one_spelling(self, setup: TicketSetup) -> None:
        for path in ("", "/", "/redeem/", "/Redeem", "/redeem%2F", "/re%64eem", "/picture/1"):
            assert problem_type(await setup.http.post(f"/tickets{path}"), 404) == "about:blank"

    async def test_a_ticket_or_token_in_it_is_not_read(self, setup: TicketSetup) -> None:
        ticket, token = await setup.mint(), await setup.switch_on()
        assert (await setup.http.post(f"/tickets/redeem?ticket={ticket}")).status_code == 400
        assert (await setup.http.get(f"/tickets/picture?token={token}&access_token={token}")).status_code == 401


class TestTheTokenOfAPicture:
    async def test_is_a_bearer_token_and_there_once(self, setup: TicketSetup) -> None:
        token = await setup.switch_on()
        for sent in ([], ["Bearer"], ["Bearer "], [token], [f"Basic {token}"], [f"Bearer {token}"] * 2):
            headers = [("authorization", value) for value in sent]
            answer = await setup.http.get("/tickets/picture", headers=headers)
            assert problem_type(answer, 401) == "about:blank"
            assert answer.headers["www-authenticate"] == 'Bearer realm="domogate"'
        answer = await setup.http.get("/tickets/picture", headers={"authorization": f"bearer  {token} "})
        assert answer.status_code == 200

    async def test_of_another_issuer_is_invalid(self, setup: TicketSetup) -> None:
        answer = await setup.look("nonsense")
        assert problem_type(answer, 401) == "invalid"
        assert answer.headers["www-authenticate"] == 'Bearer realm="domogate", error="invalid"'


class TestFailing:
    @pytest.mark.parametrize("error", [RuntimeError("inner secret"), Internal("the order could not be kept, and was not sent")])
    async def test_is_500_without_details(self, setup: TicketSetup, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
        async def fail(*_: Any) -> None:
            raise error

        monkeypatch.setattr(setup.redemption, "redeem", fail)
        answer = await setup.redeem("a")
        assert problem_type(answer, 500) == "about:blank"
        assert "inner secret" not in answer.text


class TestReasons:
    def test_each_has_a_status_and_a_title_of_its_own(self) -> None:
        assert KINDS.keys() == set(Reason)
        assert len({kind.title for kind in KINDS.values()}) == len(KINDS)

    def test_each_is_documented_as_it_is(self) -> None:
        rows = tables(section(DOCUMENT.read_text(), "Errors"))[0]
        written = {row["type"].strip("`"): row["status"] for row in rows if row["type"].startswith("`")}
        assert written == {f"{TYPE_PREFIX}{reason}": str(kind.status) for reason, kind in KINDS.items()}

    def test_a_401_has_a_challenge_and_a_429_a_retry_time(self) -> None:
        for reason in Reason:
            headers = TicketProblem(NotRedeemed(reason, "words"), "Ticket").headers
            assert ("www-authenticate" in headers) is (KINDS[reason].status == 401)
        assert TicketProblem(NotRedeemed(Reason.SLOW_DOWN, "words", retry_after=3), "Ticket").headers["retry-after"] == "3"
