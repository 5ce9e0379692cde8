"""/webhooks as an application uses it: answers, refusals, and secrets that are shown once."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from standardwebhooks import Webhook as StandardWebhook

from domogate.domain.ids import new_id
from domogate.domain.people import Principal, Scope, Standing
from domogate.ports import Undelivered
from domogate.services.webhooks.registration import TESTS
from support.delivery_setup import (
    GIVEN_UP,
    GUEST,
    HOME,
    LAMPS,
    OTHER,
    RecordingSender,
    copied,
    open_delivery_setup,
)
from support.tables import migrated
from support.webhooks_app import URL, App, expect_problem


@pytest.fixture(scope="session")
def migrated_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return migrated(tmp_path_factory.mktemp("webhooks"))


@pytest.fixture
async def app(migrated_database: Path, tmp_path: Path) -> AsyncIterator[App]:
    sender = RecordingSender()
    async with open_delivery_setup(copied(migrated_database, tmp_path), sender) as setup:
        one = App(setup, sender)
        one.credentials.principals = {
            b"owner": await setup.grant_access(),
            b"guest": await setup.grant_access(GUEST),
            b"other": await setup.grant_access(client=OTHER),
            b"actor": await setup.grant_access(scopes=(Scope.LIGHT_WRITE,)),
            b"lighter": await setup.grant_access(scopes=(Scope.LIGHT_READ,)),
        }
        async with one.http:
            yield one


class TestRegistering:
    async def test_only_this_answer_has_the_secret(self, app: App) -> None:
        answer = await app.register(kinds=["state", "state", "safety"])
        assert answer.status_code == 201
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-remaining"] == "3"
        made = answer.json()
        assert made.pop("secret").startswith("whsec_")
        assert made["kinds"] == ["safety", "state"]
        assert made["scopes"] == sorted(app.credentials.principals[b"owner"].scopes)
        assert made["url"] == URL
        assert (made["failingSince"], made["nextAttemptAt"], made["problem"], made["endedAt"]) == (None, None, "", None)
        assert (await app.call("GET", f"/webhooks/{made['id']}")).json() == made
        assert (await app.call("GET", "/webhooks")).json() == {"items": [made]}
        assert ("webhook added", app.credentials.principals[b"owner"].user_id) in app.setup.notes.entries

    async def test_the_same_again_is_409_until_it_is_removed(self, app: App) -> None:
        first = (await app.register()).json()
        expect_problem(await app.register(), 409)
        assert (await app.register(who="other")).status_code == 201
        assert (await app.register(who="guest")).status_code == 201
        assert (await app.call("DELETE", f"/webhooks/{first['id']}")).status_code == 204
        assert (await app.register()).status_code == 201

    async def test_there_are_twenty_at_most(self, app: App) -> None:
        for n in range(20):
            assert (await app.register(f"{URL}/{n}")).status_code == 201
        assert "20" in expect_problem(await app.register(), 409)

    async def test_a_url_that_must_not_be_called_is_422_with_the_reason(self, app: App) -> None:
        app.sender.refused = Undelivered("The gateway does not call this URL: it is private.", forbidden=True)
        assert expect_problem(await app.register(), 422) == "The gateway does not call this URL: it is private."

    async def test_the_plant_of_another_user_is_403_and_an_unknown_plant_404(self, app: App) -> None:
        await app.setup.store.withdraw_user(HOME, GUEST.id)
        expect_problem(await app.register(who="guest"), 403)
        assert app.setup.notes.entries[-1][0] == "refusal"
        expect_problem(await app.register(plantId=new_id()), 404)

    async def test_without_a_scope_that_shows_anything_it_is_401(self, app: App) -> None:
        answer = await app.register(who="actor")
        expect_problem(answer, 401)
        assert "insufficient_scope" in answer.headers["www-authenticate"]

    async def test_a_scope_for_another_kind_of_event_is_not_enough(self, app: App) -> None:
        """Otherwise the webhook would never get an event. The event stream refuses the same request."""
        refused = await app.register(who="lighter", kinds=["safety", "people"])
        assert Scope.SAFETY_READ in expect_problem(refused, 401)
        assert "insufficient_scope" in refused.headers["www-authenticate"]
        assert (await app.register(who="lighter", kinds=["safety", "state"])).status_code == 201

    async def test_a_token_of_another_issuer_has_no_grant_here(self, app: App) -> None:
        known = app.credentials.principals[b"owner"]
        stranger = Principal(
            known.user_id,
            known.client_id,
            new_id(),
            known.kind,
            known.scopes,
            known.expires_at,
            known.flow,
            False,
            known.standing,
        )
        app.credentials.principals[b"elsewhere"] = stranger
        assert "this gateway issued" in expect_problem(await app.register(who="elsewhere"), 403)

    async def test_a_body_that_is_not_as_described_is_400(self, app: App) -> None:
        bodies: tuple[Any, ...] = (
            *(b"", b"{", b"[]", b"null", b'{"plantId": "x", "plantId": "x"}', b'"text"', b"\xff"),
            *({}, {"plantId": HOME}, {"plantId": "x", "url": URL}, {"plantId": HOME, "url": 5}, {"plantId": None, "url": URL}),
            *({"plantId": HOME, "url": URL, "kinds": ["states"]}, {"plantId": HOME, "url": URL, "more": 1}),
            {"plantId": HOME, "url": "https://" + "a" * 2000},
        )
        for body in bodies:
            expect_problem(await app.call("POST", "/webhooks", body=body), 400)
            assert await app.setup.store.list_webhooks() == [], body

    async def test_a_too_large_body_is_413_and_another_type_415(self, app: App) -> None:
        expect_problem(await app.call("POST", "/webhooks", body=b" " * 70_000), 413)
        expect_problem(await app.call("POST", "/webhooks", body=b"a=b", headers={"Content-Type": "text/plain"}), 415)


class TestCredentials:
    async def test_key_and_token_are_asked_for(self, app: App) -> None:
        for headers in ({}, {"Ocp-Apim-Subscription-Key": "wrong"}, {"Ocp-Apim-Subscription-Key": "key"}):
            answer = await app.http.get("/webhooks", headers=headers)
            expect_problem(answer, 401)
            assert answer.headers["www-authenticate"]
        expect_problem(await app.call("GET", "/webhooks", who="nobody"), 401)

    async def test_a_key_that_is_used_up_is_429(self, app: App) -> None:
        answer = await app.call("GET", "/webhooks", headers={"Ocp-Apim-Subscription-Key": "used up"})
        expect_problem(answer, 429)
        assert answer.headers["retry-after"] == "7"

    @pytest.mark.parametrize(("standing", "status"), [(Standing.PASSWORD_EXPIRED, 469), (Standing.TERMS_EXPIRED, 470)])
    async def test_a_user_who_must_renew_or_accept_something_is_refused(
        self, app: App, standing: Standing, status: int
    ) -> None:
        known = app.credentials.principals[b"owner"]
        app.credentials.principals[b"owing"] = Principal(
            known.user_id,
            known.client_id,
            known.grant_id,
            known.kind,
            known.scopes,
            known.expires_at,
            known.flow,
            False,
            standing,
        )
        expect_problem(await app.call("GET", "/webhooks", who="owing"), status)

    @pytest.mark.parametrize("who", ["guest", "other"])
    async def test_webhooks_of_other_users_and_applications_are_404(self, app: App, who: str) -> None:
        made = (await app.register()).json()
        at = f"/webhooks/{made['id']}"
        assert (await app.call("GET", "/webhooks", who=who)).json() == {"items": []}
        expect_problem(await app.call("GET", at, who=who), 404)
        expect_problem(await app.call("DELETE", at, who=who), 404)
        expect_problem(await app.call("POST", f"{at}/secret", who=who), 404)
        expect_problem(await app.call("POST", f"{at}/test", who=who), 404)
        expect_problem(await app.call("GET", f"{at}/dead-letters", who=who), 404)
        expect_problem(await app.call("POST", f"{at}/dead-letters/replay", who=who, body={}), 404)
        assert (await app.call("GET", at)).status_code == 200


class TestManaging:
    async def test_a_new_secret_counts_from_the_next_delivery_on(self, app: App) -> None:
        made = (await app.register()).json()
        await app.setup.report(LAMPS[0], 1)
        await app.setup.settle()
        renewed = (await app.call("POST", f"/webhooks/{made['id']}/secret")).json()["secret"]
        assert renewed != made["secret"]
        await app.setup.report(LAMPS[0], 2)
        await app.setup.settle()
        (_, first, of_first), (_, second, of_second) = app.sender.got
        assert _signature(made["secret"], dict(of_first), first) == of_first["webhook-signature"]
        assert _signature(renewed, dict(of_second), second) == of_second["webhook-signature"]

    async def test_a_test_says_what_the_receiver_answered(self, app: App) -> None:
        made = (await app.register()).json()
        at = f"/webhooks/{made['id']}/test"
        assert (await app.call("POST", at)).json() == {"taken": True, "status": 200, "problem": ""}
        ((_, body, headers),) = app.sender.got
        event = json.loads(body)
        assert (event["type"], event["id"]) == ("domogate.test", headers["webhook-id"])
        assert event["data"] == {"webhookId": made["id"], "plantId": HOME}
        assert _signature(made["secret"], dict(headers), body) == headers["webhook-signature"]
        app.sender.answer = 500
        assert (await app.call("POST", at)).json() == {"taken": False, "status": 500, "problem": ""}
        app.sender.answer = Undelivered("The receiver did not answer within 15 s.")
        answer = (await app.call("POST", at)).json()
        assert answer == {"taken": False, "status": None, "problem": "The receiver did not answer within 15 s."}

    async def test_tests_are_limited_for_all_webhooks_of_an_application_together(self, app: App) -> None:
        tests = [f"/webhooks/{(await app.register(url=f'{URL}/{number}')).json()['id']}/test" for number in range(2)]
        for number in range(TESTS):
            assert (await app.call("POST", tests[number % 2])).status_code == 200
        app.setup.clock.at += 20.5
        answer = await app.call("POST", tests[0])
        expect_problem(answer, 429)
        assert answer.headers["retry-after"] == "40"
        assert len(app.sender.got) == TESTS
        app.setup.clock.at += 39.5
        assert (await app.call("POST", tests[0])).status_code == 200

    async def test_its_health_is_shown(self, app: App) -> None:
        app.sender.answer = Undelivered("The receiver did not answer within 15 s.")
        made = (await app.register()).json()
        await app.setup.report()
        await app.setup.settle()
        shown = (await app.call("GET", f"/webhooks/{made['id']}")).json()
        assert (shown["failures"], shown["problem"]) == (1, "The receiver did not answer within 15 s.")
        assert shown["failingSince"] < shown["nextAttemptAt"]

    async def test_dead_letters_of_an_earlier_membership_are_not_listed(self, app: App) -> None:
        app.sender.answer = 500
        made = (await app.register(who="guest")).json()
        at, store = f"/webhooks/{made['id']}/dead-letters", app.setup.store
        await app.setup.report()
        await app.setup.pass_time(GIVEN_UP + 3600)
        assert len((await app.call("GET", at, who="guest")).json()["items"]) == 1
        # In one commit, so that the dispatcher does not see the time between, and the webhook does not end.
        await asyncio.gather(store.withdraw_user(HOME, GUEST.id), store.allow_user(HOME, GUEST.id))
        joined = app.setup.changes[-1].cursor
        later = await app.setup.report()
        await app.setup.pass_time(GIVEN_UP + 3600)
        listed = [item["id"] for item in (await app.call("GET", at, who="guest")).json()["items"]]
        assert listed == [str(joined), str(later)], "the membership itself is the first event of the new member"

    async def test_dead_letters_are_listed_in_pages_and_replayed(self, app: App) -> None:
        app.sender.answer = Undelivered("away")
        made = (await app.register()).json()
        old = [str(await app.setup.report(LAMPS[n], 1)) for n in range(3)]
        await app.setup.settle()
        await app.setup.pass_time(GIVEN_UP)
        await app.setup.pass_time(3600)
        at = f"/webhooks/{made['id']}/dead-letters"
        page = (await app.call("GET", at, params={"limit": 2})).json()
        assert [item["id"] for item in page["items"]] == old[:2]
        assert page["items"][0]["moduleId"] == LAMPS[0].id
        rest = (await app.call("GET", at, params={"after": page["next"]})).json()
        assert ([item["id"] for item in rest["items"]], rest["next"]) == (old[2:], None)
        app.sender.got.clear()
        app.sender.answer = 200
        assert (await app.call("POST", f"{at}/replay", body={"ids": [old[0], "99999"]})).json() == {"replayed": 1}
        assert (await app.call("POST", f"{at}/replay", body={})).json() == {"replayed": 2}
        await app.setup.until(lambda: len(app.sender.got) == 3)
        await app.setup.settle()
        assert (await app.call("GET", at)).json() == {"items": [], "next": None}

    async def test_malformed_ids_are_400(self, app: App) -> None:
        at = f"/webhooks/{(await app.register()).json()['id']}/dead-letters/replay"
        for ids in ("1", [1], ["x"], ["-1"], ["1" * 30], [""], [None]):
            expect_problem(await app.call("POST", at, body={"ids": ids}), 400)

    async def test_a_webhook_that_has_ended_is_shown_with_the_reason_and_cannot_be_used(self, app: App) -> None:
        made = (await app.register(who="guest")).json()
        await app.setup.store.withdraw_user(HOME, GUEST.id)
        await app.setup.settle()
        at = f"/webhooks/{made['id']}"
        shown = (await app.call("GET", at, who="guest")).json()
        assert shown["endedAt"] is not None
        assert "no rights on the plant" in shown["endedWhy"]
        assert shown["endedReason"] == "rights_withdrawn"
        expect_problem(await app.call("POST", f"{at}/secret", who="guest"), 409)
        expect_problem(await app.call("POST", f"{at}/test", who="guest"), 409)
        expect_problem(await app.call("POST", f"{at}/dead-letters/replay", who="guest", body={}), 409)
        expect_problem(await app.call("GET", f"{at}/dead-letters", who="guest"), 403)
        assert (await app.call("DELETE", at, who="guest")).status_code == 204


class TestRoutes:
    async def test_an_unknown_id_is_404(self, app: App) -> None:
        for path in (
            *("/webhooks//", f"/webhooks/{HOME}/", f"/webhooks/{HOME}/secrets", f"/webhooks/{HOME}/test/more"),
            *(f"/webhooks/{HOME}/dead-letters/", f"/webhooks//{HOME}"),
        ):
            expect_problem(await app.call("GET", path), 404)

    async def test_a_list_may_end_with_a_slash(self, app: App) -> None:
        assert (await app.call("GET", "/webhooks/")).json() == (await app.call("GET", "/webhooks")).json()

    async def test_a_malformed_id_is_404(self, app: App) -> None:
        for text in ("x", HOME.upper() + "0", "%00", "..%2f", HOME.replace("-", "")):
            expect_problem(await app.call("GET", f"/webhooks/{text}"), 404)

    async def test_another_method_is_405_and_says_which(self, app: App) -> None:
        for method, path, allow in (
            ("PUT", "/webhooks", "GET, HEAD, POST"),
            ("POST", f"/webhooks/{HOME}", "DELETE, GET, HEAD"),
            ("GET", f"/webhooks/{HOME}/secret", "POST"),
            ("DELETE", f"/webhooks/{HOME}/dead-letters", "GET, HEAD"),
        ):
            answer = await app.call(method, path)
            expect_problem(answer, 405)
            assert answer.headers["allow"] == allow

    async def test_an_internal_failure_is_500_without_details(self, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
        async def fail(*_: Any, **__: Any) -> Any:
            raise OSError("secret path")

        monkeypatch.setattr(app.setup.store, "list_webhooks", fail)
        assert "secret" not in expect_problem(await app.call("GET", "/webhooks"), 500)


class TestTheDocument:
    async def test_it_is_valid_needs_no_token_and_describes_what_is_answered(self, app: App) -> None:
        document = (await app.http.get("/webhooks/openapi.json")).json()
        OpenAPIV31SpecValidator(document).validate()
        made = await app.register()
        listed = await app.call("GET", "/webhooks")
        for answer, operation in ((made, "post"), (listed, "get")):
            described = document["paths"]["/webhooks"][operation]["responses"][str(answer.status_code)]
            schema = {**described["content"]["application/json"]["schema"], "components": document["components"]}
            Draft202012Validator(schema).validate(answer.json())


def _signature(secret: str, headers: dict[str, str], body: bytes) -> str:
    """By the standard's own package, which would refuse the clock of these tests if it verified."""
    at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    return StandardWebhook(secret).sign(headers["webhook-id"], at, body.decode())
