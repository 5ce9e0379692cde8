"""Emergency lighting over the management API: state, schedule, logbook, order list, and the report as PDF and CSV."""

import csv

import pytest

from domogate.domain.logbook import LogbookKind
from domogate.domain.safety import FailureType
from domogate.domain.states import Report
from support.clocks import NOW
from support.management_setup import ManagementApi
from support.safety_reports import read_pages
from support.safety_site import SITE, WELL, a_unit, after_tests, failing, site_estate, unit_id
from support.stores import HOUSE

pytestmark = pytest.mark.slow

OF_SITE = f"/plants/{SITE.id}"
LOGBOOK = f"{OF_SITE}/logbook"
NOTE = {"kind": "note", "by": "Elena Rossi", "words": "looked at every sign"}


@pytest.fixture
async def site(api: ManagementApi) -> ManagementApi:
    units = [(a_unit(1), after_tests()), (a_unit(2), failing(FailureType.BLOCK_FAULTY_BATTERY)), (a_unit(3), WELL)]
    await api.env.store.import_estate(site_estate(units), prune=False)
    return api


class TestState:
    async def test_a_site_with_its_figures_and_tests(self, site: ManagementApi) -> None:
        seen = await site.ok("GET", f"{OF_SITE}/safety")
        assert seen["summary"]["units"] == {"total": 3, "working": 2, "inFailure": 1, "noCommunication": 0}
        assert seen["summary"]["complies"] is False
        first, second, _ = seen["controllers"][0]["units"]
        assert (first["place"], first["functionTest"]["last"]["passed"]) == ("Ward A, Stairwell", True)
        assert first["functionTest"]["dueAt"] == "2027-02-14T08:00:00Z"
        assert (second["status"], second["failures"]) == (
            "in failure",
            [{"type": "BLOCK.FAULTY_BATTERY", "flag": "0x0020"}],
        )

    async def test_the_spare_parts_to_order(self, site: ManagementApi) -> None:
        orders = await site.ok("GET", f"{OF_SITE}/spare-parts-order")
        assert [(line["reference"], line["quantity"]) for line in orders["lines"]] == [("061089", "1")]
        assert orders["withoutParts"] == []

    @pytest.mark.parametrize("path", ["safety", "safety/report", "logbook", "spare-parts-order"])
    async def test_a_plant_without_emergency_lighting_is_404(self, site: ManagementApi, path: str) -> None:
        assert "not a site" in await site.refused("GET", f"/plants/{HOUSE.id}/{path}", status=404)
        await site.refused("GET", f"/plants/{HOUSE.id[:-1]}/{path}", status=404)
        await site.refused("GET", f"/plants/{unit_id(1)}/{path}", status=404)

    @pytest.mark.parametrize("path", ["safety", "safety/report", "logbook", "spare-parts-order"])
    async def test_only_operators_have_access(self, site: ManagementApi, path: str) -> None:
        await site.refused("GET", f"{OF_SITE}/{path}", status=401, token="")


class TestLogbook:
    async def test_entries_are_written_and_listed_page_by_page(self, site: ManagementApi) -> None:
        await site.env.store.record([Report(SITE.id, unit_id(3), NOW, failing(FailureType.BLOCK_DLD))])
        body = {**NOTE, "moduleId": unit_id(2), "at": "2026-12-24T18:00:00+01:00"}
        written = await site.ok("POST", LOGBOOK, body, status=201)
        assert (written["module"], written["at"], written["by"]) == ("Unit 2", "2026-12-24T17:00:00Z", "Elena Rossi")
        first = await site.ok("GET", f"{LOGBOOK}?limit=1")
        assert (first["items"][0]["kind"], first["items"][0]["failure"]) == ("failure", "BLOCK.DLD")
        rest = await site.ok("GET", f"{LOGBOOK}?limit=1&after={first['next']}")
        assert rest == {"items": [written], "next": None}

    async def test_by_period_and_kind(self, site: ManagementApi) -> None:
        for day in ("2026-12-01", "2026-12-02"):
            await site.ok("POST", LOGBOOK, {**NOTE, "words": day, "at": f"{day}T00:00:00Z"}, status=201)
        found = await site.ok("GET", f"{LOGBOOK}?since=2026-12-01&until=2026-12-02")
        assert [one["words"] for one in found["items"]] == ["2026-12-01"]
        assert (await site.ok("GET", f"{LOGBOOK}?kind=service"))["items"] == []

    async def test_the_author_is_noted(self, site: ManagementApi) -> None:
        await site.ok("POST", LOGBOOK, NOTE, status=201)
        (record,) = (await site.ok("GET", "/audit?action=logbook%20written"))["items"]
        assert record["who"].startswith("user:")
        assert record["detail"] == {"number": "1", "kind": "note"}

    @pytest.mark.parametrize(
        ("change", "status"),
        [
            ({"kind": "test"}, 422),
            ({"by": ""}, 422),
            ({"words": "x" * 4001}, 413),
            ({"words": "\u0007"}, 422),
            ({"at": "2999-01-01T00:00:00Z"}, 422),
            ({"at": "2026-01-01T00:00:00"}, 400),
            ({"kind": "party"}, 400),
            ({"words": 5}, 400),
            ({"extra": 1}, 400),
            ({"moduleId": "x"}, 404),
            ({"moduleId": HOUSE.id}, 404),
        ],
    )
    async def test_an_invalid_entry_is_refused(self, site: ManagementApi, change: dict[str, object], status: int) -> None:
        await site.refused("POST", LOGBOOK, {**NOTE, **change}, status=status)
        assert (await site.ok("GET", LOGBOOK))["items"] == []

    @pytest.mark.parametrize("query", ["after=x", "after=-1", "since=yesterday", "kind=party", "limit=0", "page=2"])
    async def test_a_query_that_cannot_be_read(self, site: ManagementApi, query: str) -> None:
        await site.refused("GET", f"{LOGBOOK}?{query}", status=400)


class TestReport:
    async def test_is_a_pdf(self, site: ManagementApi) -> None:
        await site.ok("POST", LOGBOOK, NOTE, status=201)
        answer = await site.send("GET", f"{OF_SITE}/safety/report?timezone=Europe/Rome&responsible=Elena")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/pdf")
        assert answer.headers["cache-control"] == "no-store"
        text = " ".join(read_pages(answer.content))
        assert "2027-01-15 09:00 (all times Europe/Rome)" in text
        assert "looked at every sign" in text
        assert "Name Elena" in text

    @pytest.mark.parametrize("query", ["timezone=Mars", "since=x", "since=2999-01-01", "format=csv", "table=party"])
    async def test_a_query_that_cannot_be_read(self, site: ManagementApi, query: str) -> None:
        answer = await site.send("GET", f"{OF_SITE}/safety/report?{query}")
        assert answer.status_code in (400, 422)
        assert answer.headers["content-type"] == "application/problem+json"

    async def test_its_tables_are_csv_of_the_same_period_that_a_spreadsheet_does_not_execute(self, site: ManagementApi) -> None:
        for words, at in (("=HYPERLINK(1)", "2026-12-24T18:00:00Z"), ("@late", "2027-01-10T08:00:00Z")):
            await site.ok("POST", LOGBOOK, {**NOTE, "words": words, "at": at}, status=201)

        async def read(query: str) -> list[dict[str, str]]:
            answer = await site.send("GET", f"{OF_SITE}/safety/report?{query}")
            assert (answer.status_code, answer.headers["content-type"]) == (200, "text/csv; charset=utf-8")
            assert answer.headers["cache-control"] == "no-store"
            return list(csv.DictReader(answer.text.splitlines()))

        entries = await read("table=logbook&timezone=Europe/Rome&since=2026-12-24&until=2026-12-25")
        assert [(entry["at"], entry["what"]) for entry in entries] == [("2026-12-24T19:00:00+01:00", "'=HYPERLINK(1)")]
        assert len(await read("table=logbook")) == 2
        assert len(await read("table=units")) == 4  # a controller and three units
        assert [line["part"] for line in await read("table=order-list")] == ["061089"]
        summary = {row["figure"]: row["value"] for row in await read("table=summary&since=2026-12-24")}
        assert summary["since"].startswith("2026-12-24")

    @pytest.mark.parametrize("query", ["", "&table=logbook"])
    async def test_a_period_that_ends_before_it_begins_has_a_reason(self, site: ManagementApi, query: str) -> None:
        answer = await site.send("GET", f"{OF_SITE}/safety/report?since=2026-02-01&until=2026-01-01{query}")
        assert (answer.status_code, answer.json()["reason"]) == (400, "reversed_period")


def test_people_can_write_five_kinds_of_entries() -> None:
    assert len([kind for kind in LogbookKind if kind.by_hand]) == 5
