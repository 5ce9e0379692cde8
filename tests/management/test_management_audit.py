"""The audit log over HTTP: list, search, verify, export."""

import asyncio
import json
from typing import Any

import pytest
from sqlalchemy import update

from domogate.services.audit import AuditAction, AuditResult, client_ref, trail, user_ref
from domogate.stores.tables.identity import audit
from support.audit_export import find_broken_line
from support.clocks import NOW
from support.management_setup import ManagementApi
from support.stores import ANNA, APP, BRUNO, HOUSE, KEY, LAMP

pytestmark = pytest.mark.slow

HOUR = 3600.0


def note(api: ManagementApi, action: AuditAction, who: str, what: str = "something") -> None:
    api.env.audit.note(action, who=who, what=what, result=AuditResult.OK, address="192.0.2.7")


class TestList:
    async def test_changes_by_operators_are_noted_with_their_address(self, api: ManagementApi) -> None:
        await api.ok("POST", "/users", {"email": "dora@example.com"}, status=201)
        await api.ok("POST", "/subscriptions", {"name": "x"}, status=201)
        await api.ok("DELETE", f"/subscriptions/{KEY.id}", status=204)
        await api.ok("POST", "/signing-keys/rotation", {}, status=201)
        listed = (await api.ok("GET", "/audit"))["items"]
        assert [entry["action"] for entry in listed] == [
            *("user added", "link issued", "key issued", "key revoked", "signing keys rotated"),
        ]
        assert {entry["address"] for entry in listed} == {"192.0.2.9"}
        assert len({entry["who"] for entry in listed}) == 1
        assert api.operator.id not in str(listed)
        assert "dora" not in str(listed)

    async def test_it_is_read_in_pages_and_by_action_and_user(self, api: ManagementApi) -> None:
        for n in range(3):
            await api.ok("POST", "/users", {"email": f"user{n}@example.com"}, status=201)
        first = await api.ok("GET", "/audit?limit=4")
        rest = await api.ok("GET", f"/audit?limit=4&after={first['next']}")
        assert [entry["number"] for entry in first["items"] + rest["items"]] == list(range(1, 7))
        assert rest["next"] is None
        assert len((await api.ok("GET", "/audit?action=user%20added"))["items"]) == 3
        assert len((await api.ok("GET", f"/audit?userId={api.operator.id}"))["items"]) == 6

    @pytest.mark.parametrize(
        "query",
        [
            "after=x",
            "after=-1",
            "after=%D9%A1",
            "userId=x",
            "after=" + "9" * 19,
            "since=x",
            "order=x",
            "userId={anna}&email=a@b",
        ],
    )
    async def test_a_bad_query_is_400(self, api: ManagementApi, query: str) -> None:
        await api.refused("GET", f"/audit?{query.replace('{anna}', ANNA.id)}", status=400)


class TestSearch:
    async def test_by_person_action_and_time_with_the_newest_first(self, api: ManagementApi) -> None:
        for number in range(6):
            note(api, AuditAction.LOGIN if number % 2 else AuditAction.LOGOUT, ANNA.id)
            note(api, AuditAction.ALLOWED, BRUNO.id, user_ref(ANNA.id))
            api.env.clock.at += HOUR / 10
        listed = await api.ok("GET", "/audit?order=newest&limit=5")
        assert [entry["number"] for entry in listed["items"]] == [12, 11, 10, 9, 8]
        rest = await api.ok("GET", f"/audit?order=newest&after={listed['next']}")
        assert [entry["number"] for entry in rest["items"]] == [7, 6, 5, 4, 3, 2, 1]
        of_anna = await api.ok("GET", "/audit?email=anna@EXAMPLE.com&action=allowed")
        assert [entry["number"] for entry in of_anna["items"]] == [2, 4, 6, 8, 10, 12]
        since, until = NOW + HOUR / 10, NOW + 3 * HOUR / 10
        some = await api.ok("GET", f"/audit?since={since}&until={until}&order=newest")
        assert [entry["number"] for entry in some["items"]] == [6, 5, 4, 3]
        assert (await api.ok("GET", "/audit?email=nobody@example.com"))["items"] == []

    async def test_refused_logins_are_found_by_actions_result_and_time(self, api: ManagementApi) -> None:
        note(api, AuditAction.LOGIN, ANNA.id)
        for action, result in (
            (AuditAction.LOGIN, AuditResult.WRONG),
            (AuditAction.SECOND_FACTOR, AuditResult.SLOWED),
            (AuditAction.REFUSAL, AuditResult.REFUSED),
        ):
            api.env.audit.note(action, who="", what="an account", result=result)
        logins = f"/audit?action={AuditAction.LOGIN},{AuditAction.SECOND_FACTOR}".replace(" ", "%20")
        refused = (await api.ok("GET", f"{logins}&successful=false&since={NOW - HOUR}"))["items"]
        assert [(one["action"], one["result"]) for one in refused] == [("login", "wrong"), ("second factor", "slowed")]
        assert [one["result"] for one in (await api.ok("GET", f"{logins}&successful=true"))["items"]] == ["ok"]
        assert (await api.ok("GET", f"{logins}&successful=false&since={NOW + HOUR}"))["items"] == []
        await api.refused("GET", "/audit?successful=perhaps", status=400)

    async def test_things_are_named_only_on_request(self, api: ManagementApi) -> None:
        gone = "00000000-0000-4000-8000-00000000dead"
        what = f"home set light:{LAMP.id} by {client_ref(APP.id)} plant:{HOUSE.id} of key:{gone}"
        note(api, AuditAction.COMMAND, ANNA.id, what)
        (entry,) = (await api.ok("GET", "/audit"))["items"]
        assert entry["names"] == []
        (entry,) = (await api.ok("GET", "/audit?names=true"))["items"]
        assert entry["names"] == [
            {"id": LAMP.id, "kind": "module", "name": LAMP.name, "plantId": HOUSE.id},
            {"id": HOUSE.id, "kind": "plant", "name": HOUSE.name, "plantId": None},
            {"id": APP.id, "kind": "client", "name": APP.name, "plantId": None},
        ]

    async def test_people_are_named_only_on_request(self, api: ManagementApi) -> None:
        note(api, AuditAction.ALLOWED, BRUNO.id, user_ref(ANNA.id))
        (entry,) = (await api.ok("GET", "/audit"))["items"]
        assert entry["people"] == []
        (entry,) = (await api.ok("GET", "/audit?people=true"))["items"]
        assert [person["email"] for person in entry["people"]] == [BRUNO.email, ANNA.email]
        assert entry["people"][0]["pseudonym"] in entry["who"]
        assert entry["people"][1]["userId"] == ANNA.id

    async def test_a_search_without_a_match_reads_a_bounded_number_of_records(
        self, api: ManagementApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(trail, "_PAGE", 2)
        monkeypatch.setattr(trail, "_PAGES_OF_A_SEARCH", 2)
        for _ in range(7):
            note(api, AuditAction.LOGIN, ANNA.id)
        note(api, AuditAction.LOGOUT, ANNA.id)
        first = await api.ok("GET", "/audit?action=logout")
        assert (first["items"], first["next"]) == ([], "4")
        second = await api.ok("GET", "/audit?action=logout&after=4")
        assert [entry["number"] for entry in second["items"]] == [8]
        last = await api.ok("GET", f"/audit?action=logout&after={second['next']}")
        assert (last["items"], last["next"]) == ([], None)

    async def test_a_search_stops_a_day_outside_the_period(self, api: ManagementApi, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(trail, "_PAGE", 1)
        monkeypatch.setattr(trail, "_PAGES_OF_A_SEARCH", 3)
        for _ in range(6):
            note(api, AuditAction.LOGIN, ANNA.id)
            api.env.clock.at += 24 * HOUR
        api.token = await api.mint(api.operator)
        found = await api.ok("GET", f"/audit?order=newest&since={api.env.clock.at - 30 * HOUR}")
        assert ([entry["number"] for entry in found["items"]], found["next"]) == ([6], None)


class TestVerify:
    async def test_an_unchanged_log_gives_its_last_hash(self, api: ManagementApi) -> None:
        note(api, AuditAction.LOGIN, ANNA.id)
        found = await api.ok("POST", "/audit/verification", {})
        (entry,) = (await api.ok("GET", "/audit"))["items"]
        assert found == {"records": 1, "removed": 0, "lastHash": entry["hash"], "broken": None}
        again = await api.ok("POST", "/audit/verification", {"lastHash": "0" * 63 + "1"})
        assert again["broken"]["number"] == 2
        await api.refused("POST", "/audit/verification", {"lastHash": "x"}, status=400)

    async def test_a_changed_record_is_found_and_an_unreadable_one_is_said(self, api: ManagementApi) -> None:
        for _ in range(3):
            note(api, AuditAction.LOGIN, ANNA.id)
        await api.env.audit.flush()

        def change(tx: Any, number: int, entry: str) -> None:
            tx.connection.execute(update(audit).where(audit.c.number == number).values(entry=entry))

        await api.env.store._write(change, 2, "not JSON")
        found = await api.ok("POST", "/audit/verification", {})
        assert (found["records"], found["broken"]["number"]) == (1, 2)
        assert "Record 2" in await api.refused("GET", "/audit", status=409)

    async def test_only_one_runs_at_a_time(self, api: ManagementApi, monkeypatch: pytest.MonkeyPatch) -> None:
        started, go_on = asyncio.Event(), asyncio.Event()
        verify = api.env.audit.verify

        async def wait(**options: Any) -> Any:
            started.set()
            await go_on.wait()
            return await verify(**options)

        monkeypatch.setattr(api.env.audit, "verify", wait)
        first = asyncio.create_task(api.ok("POST", "/audit/verification", {}))
        await started.wait()
        assert "running" in await api.refused("POST", "/audit/verification", {}, status=409)
        go_on.set()
        assert (await first)["broken"] is None
        assert (await api.ok("POST", "/audit/verification", {}))["broken"] is None


class TestExport:
    async def test_it_can_be_verified_without_the_gateway_and_is_noted(self, api: ManagementApi) -> None:
        for _ in range(3):
            note(api, AuditAction.LOGIN, ANNA.id)
        answer = await api.send("GET", "/audit/export")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/jsonl")
        assert answer.headers["cache-control"] == "no-store"
        lines = answer.content.splitlines(keepends=True)
        assert find_broken_line(lines) is None
        assert [json.loads(line)["entry"]["action"] for line in lines] == ["login"] * 3 + ["audit exported"]
        rest = await api.send("GET", "/audit/export?after=4")
        assert [json.loads(line)["number"] for line in rest.content.splitlines()] == [5]
