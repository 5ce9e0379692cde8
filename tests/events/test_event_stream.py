"""GET /events over real HTTP, in the test's own event loop: answers, events, refusals, and clients that do not read."""

import asyncio
import contextlib
import dataclasses
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from domogate.domain.ids import new_id
from domogate.domain.notices import NoticeKind
from domogate.domain.people import Scope, Standing
from domogate.edge.guards import Limits
from domogate.events.surface import EventQuery
from domogate.http_api.problems import Problem
from domogate.http_api.requests import read_query
from domogate.identity.subscriptions import new_key, new_subscription
from domogate.services.audit import AuditAction
from domogate.services.events.endings import MEANING_OF, EndCode
from support.served_streams import ServedStreams, open_served
from support.stream_setup import until

pytestmark = pytest.mark.slow


@pytest.fixture
async def served() -> AsyncIterator[ServedStreams]:
    async with open_served() as opened:
        yield opened


class TestListening:
    async def test_the_answer_is_a_stream_that_is_not_stored_or_buffered(self, served: ServedStreams) -> None:
        async with served.http.stream("GET", "/events", headers=served.headers()) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["x-accel-buffering"] == "no"

    @pytest.mark.story
    async def test_changes_are_sent(self, served: ServedStreams) -> None:
        async with served.listening() as events:
            ready = await anext(events)
            assert (ready.event, ready.json()) == ("ready", {"cursor": int(ready.id)})
            await served.switch()
            state = await anext(events)
            assert state.event == "state"
            assert int(state.id) > int(ready.id)
            assert state.json()["data"]["moduleId"] == served.lamp.id

    @pytest.mark.story
    async def test_resumes_by_the_id_of_the_last_event(self, served: ServedStreams) -> None:
        async with served.listening() as events:
            start = (await anext(events)).id
        await served.switch(3)
        async with served.listening(**{"last-event-id": start}) as events:
            received = [await anext(events) for _ in range(4)]
        assert [event.event for event in received] == ["state", "state", "state", "ready"]

    async def test_resumes_by_a_parameter_and_the_header_is_newer(self, served: ServedStreams) -> None:
        async with served.listening() as events:
            start = (await anext(events)).id
        await served.switch(3)
        async with served.listening(f"?lastEventId={start}") as events:
            received = [await anext(events) for _ in range(4)]
        assert [event.event for event in received] == ["state", "state", "state", "ready"]
        async with served.listening(f"?lastEventId={start}", **{"last-event-id": received[1].id}) as events:
            assert [(await anext(events)).event for _ in range(2)] == ["state", "ready"]
        async with served.listening("?lastEventId=") as events:
            assert (await anext(events)).event == "ready"
        async with served.listening("?lastEventId=ü") as events:
            assert (await anext(events)).json()["code"] == "unknown"

    async def test_begins_with_the_present_when_asked_to(self, served: ServedStreams) -> None:
        async with served.listening("?present=true&kind=state") as events:
            assert [(await anext(events)).event for _ in range(2)] == ["present", "ready"]

    async def test_filters_by_repeated_parameters(self, served: ServedStreams) -> None:
        async with served.listening(f"?plant={served.plant.id.upper()}&kind=people&kind=state") as events:
            await anext(events)
            await served.switch()
            assert (await anext(events)).event == "state"

    async def test_the_last_event_gives_the_reason_and_the_connection_can_be_used_again(self, served: ServedStreams) -> None:
        async with served.listening() as events:
            await anext(events)
            await served.setup.store.revoke_grant(served.credentials.grant.id, served.setup.clock.now())
            [end] = [event async for event in events]
        assert end.event == "end"
        assert end.json()["code"] == "token"
        assert (await served.get()).status_code == 401

    async def test_the_stream_is_closed_when_the_client_disconnects(self, served: ServedStreams) -> None:
        async with served.listening() as events:
            await anext(events)
            assert served.setup.hub.open_streams == 1
        await until(lambda: served.setup.hub.open_streams == 0, "the stream to be closed")

    async def test_a_stream_counts_once_against_the_rate(self, served: ServedStreams) -> None:
        key = new_key()
        await served.setup.store.add_subscription(new_subscription("app", key, served.setup.clock.now(), rate="2/hour"))
        credentials = dataclasses.replace(served.credentials, key=key)
        async with served.http.stream("GET", "/events", headers=served.headers(credentials)) as answer:
            assert answer.headers["x-ratelimit-remaining"] == "1"
            await served.switch(5)
        refused = await served.get("?kind=none", credentials)
        assert (refused.status_code, refused.headers["x-ratelimit-remaining"]) == (400, "0")
        spent = await served.get("", credentials)
        assert spent.status_code == 429
        assert int(spent.headers["retry-after"]) > 0

    async def test_head_is_answered_at_once(self, served: ServedStreams) -> None:
        answer = await served.http.head("/events", headers=served.headers())
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-type"].startswith("text/event-stream")
        await until(lambda: served.setup.hub.open_streams == 0, "the stream to be closed")


class TestTheMetrics:
    async def test_count_a_stream_as_a_request_that_has_no_duration(self, served: ServedStreams) -> None:
        def sample(name: str, **labels: str) -> float | None:
            return served.metrics.registry.get_sample_value(name, {"api": "events", "operation": "events", **labels})

        async with served.listening() as events:
            await anext(events)
        await until(lambda: sample("domogate_requests_total", status="200") == 1, "the stream to be counted")
        assert sample("domogate_request_seconds_count") is None
        await served.get("?kind=none")
        assert sample("domogate_request_seconds_count") == 1, "a refusal is measured like any other answer"


class TestADrain:
    async def test_ends_streams_promptly(self, served: ServedStreams) -> None:
        async with served.listening() as events:
            await anext(events)
            served.stop.set()
            [end] = [event async for event in events]
        assert end.json()["code"] == "draining"


class TestAListenerThatDoesNotRead:
    async def test_is_cut_off(self) -> None:
        """The queue of a slow stream is tested with the hub; here the server closes the connection."""
        quick = Limits(max_header=4_096, header_deadline=60, body_deadline=3, keep_alive=60)
        async with open_served(quick, queue_events=20) as served:
            _, writer = await served.raw()
            await until(lambda: served.setup.hub.open_streams == 1, "the stream")
            switching = asyncio.gather(*(served.switch(1_000_000) for _ in range(10)))
            await until(lambda: served.setup.hub.open_streams == 0, "the connection to be cut")
            switching.cancel()
            writer.close()


class TestRefusals:
    async def refused(self, answer: httpx.Response, status: int) -> dict[str, Any]:
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["cache-control"] == "no-store"
        problem: dict[str, Any] = answer.json()
        assert problem["status"] == status
        assert problem["detail"].endswith(".")
        return problem

    async def test_of_the_key_come_before_those_of_the_token(self, served: ServedStreams) -> None:
        answer = await served.http.get("/events")
        await self.refused(answer, 401)
        assert answer.headers["www-authenticate"].startswith("SubscriptionKey")

    async def test_of_a_token_have_a_challenge(self, served: ServedStreams) -> None:
        answer = await served.get(authorization="Bearer nonsense")
        await self.refused(answer, 401)
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]

    async def test_of_missing_scopes_name_them(self, served: ServedStreams) -> None:
        credentials = await served.setup.grant_access(served.anna, [Scope.LIGHT_READ])
        answer = await served.get("?kind=safety", credentials)
        await self.refused(answer, 401)
        assert answer.headers["www-authenticate"].endswith('error="insufficient_scope", scope="home.use safety.read"')
        assert [noted["action"] for noted in served.audit.noted] == [AuditAction.REFUSAL]

    async def test_of_parameters_that_cannot_be_read(self, served: ServedStreams) -> None:
        for query in (
            "?kind=States",
            "?kind=",
            "?plant=1",
            "?plant=",
            "?present=yes",
            "?present=true&present=true",
            "?plnt=1",
            "?plant=%ff",
        ):
            await self.refused(await served.get(query), 400)

    async def test_of_two_last_event_ids(self, served: ServedStreams) -> None:
        headers = [*served.headers().items(), ("last-event-id", "1"), ("last-event-id", "2")]
        await self.refused(await served.http.get("/events", headers=headers), 400)

    async def test_of_plants_that_are_not_theirs_or_not_there(self, served: ServedStreams) -> None:
        stranger = await served.setup.grant_access(await served.setup.add_user("Carla"))
        await self.refused(await served.get(f"?plant={served.plant.id}", stranger), 403)
        await self.refused(await served.get(f"?plant={new_id()}", stranger), 404)
        assert [noted["action"] for noted in served.audit.noted] == [AuditAction.REFUSAL]

    @pytest.mark.parametrize(("standing", "status"), [(Standing.BOTH_EXPIRED, 469), (Standing.TERMS_EXPIRED, 470)])
    async def test_of_users_who_must_renew_or_accept_something_first(
        self, served: ServedStreams, standing: Standing, status: int
    ) -> None:
        user = await served.setup.add_user("Bruno", standing=standing)
        await self.refused(await served.get("", await served.setup.grant_access(user)), status)

    async def test_of_methods_that_it_does_not_have(self, served: ServedStreams) -> None:
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "LISTEN"):
            answer = await served.http.request(method, "/events", headers=served.headers())
            await self.refused(answer, 405)
            assert answer.headers["allow"] == "GET, HEAD"

    async def test_of_urls_that_are_not_there(self, served: ServedStreams) -> None:
        for path in ("/events/", "/events/x", "/events//", "/events%2f"):
            await self.refused(await served.http.get(path, headers=served.headers()), 404)

    async def test_of_one_stream_too_many_say_when_to_retry(self) -> None:
        async with open_served(most=1) as served, served.listening() as events:
            await anext(events)
            answer = await served.get()
            await self.refused(answer, 503)
            assert int(answer.headers["retry-after"]) > 0

    async def test_of_one_stream_too_many_of_a_user_are_429_while_others_get_theirs(self) -> None:
        async with open_served(most_per_user=1) as served, served.listening() as events:
            await anext(events)
            answer = await served.get()
            assert "user" in (await self.refused(answer, 429))["detail"]
            assert int(answer.headers["retry-after"]) > 0
            bruno = await served.setup.add_user("Bruno")
            credentials = await served.setup.grant_access(bruno)
            async with served.http.stream("GET", "/events", headers=served.headers(credentials)) as other:
                assert other.status_code == 200


class TestTheDocument:
    async def test_is_valid_openapi_and_needs_no_credentials(self, served: ServedStreams) -> None:
        answer = await served.http.get("/events/openapi.json")
        assert answer.status_code == 200
        OpenAPIV31SpecValidator(answer.json()).validate()
        kinds = answer.json()["paths"]["/events"]["get"]["parameters"][1]["schema"]["items"]["enum"]
        assert sorted(kinds) == sorted(NoticeKind)

    async def test_explains_every_code_with_which_a_stream_ends(self, served: ServedStreams) -> None:
        document = (await served.http.get("/events/openapi.json")).json()
        described = document["paths"]["/events"]["get"]["responses"]["200"]["description"]
        assert MEANING_OF.keys() == set(EndCode)
        assert re.findall(r"^\| `(\w+)` \| [A-Z]", described, re.M) == list(EndCode)

    async def test_describes_the_data_that_is_sent(self, served: ServedStreams) -> None:
        document = (await served.http.get("/events/openapi.json")).json()
        schema = {"$ref": "#/components/schemas/CloudEvent", "components": document["components"]}
        validator = Draft202012Validator(schema)
        async with served.listening("?present=true") as events:
            received = [(await anext(events)).data, (await anext(events)).data]
            await served.switch()
            received.append((await anext(events)).data)
        assert validator.is_valid(json.loads(received[0]))
        assert validator.is_valid(json.loads(received[2]))
        assert not validator.is_valid({**json.loads(received[2]), "type": "other"})


class TestTheQuery:
    @given(st.binary(max_size=60))
    def test_is_read_or_refused_whatever_it_is(self, query: bytes) -> None:
        with contextlib.suppress(Problem):
            read_query(query, EventQuery).to_filter()

    @given(st.sets(st.uuids(), max_size=3), st.sets(st.sampled_from(NoticeKind)), st.booleans())
    def test_is_read_as_it_was_written(self, plants: set[Any], kinds: set[NoticeKind], present: bool) -> None:
        parts = [f"plant={plant}" for plant in plants] + [f"kind={kind}" for kind in kinds] + [f"present={present}".lower()]
        wanted = read_query("&".join(parts).encode(), EventQuery).to_filter()
        assert (set(map(str, wanted.plants)), set(wanted.kinds)) == ({str(plant) for plant in plants}, kinds)
        assert wanted.present is present
