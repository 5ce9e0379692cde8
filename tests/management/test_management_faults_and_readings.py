"""Faults on demand and what was measured, over HTTP."""

from typing import Any

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.plants import Member, Module, Plant, PlantStatus, PlantType, Topology
from domogate.domain.states import Battery, PlugState, Reading, RemoteState, Report, Unit
from support.management import Office
from support.stores import ANNA, HOUSE, LAMP, NOW, PLUG, an_id

pytestmark = pytest.mark.slow

REMOTES = tuple(Module(an_id(510 + n), an_id(520 + n), f"Remote {n}", DeviceKind.REMOTE) for n in range(2))
FLAT = Plant(an_id(500), an_id(501), "Flat", PlantType.HOUSE, Member(ANNA.id, ANNA.email))
FAULTS = f"/plants/{HOUSE.id}/faults"
READINGS = f"/plants/{HOUSE.id}/modules/{PLUG.id}/readings"


async def add_flat(office: Office) -> None:
    states = tuple(FirstState(remote.id, RemoteState(battery=Battery.FULL)) for remote in REMOTES)
    flat = EstatePlant(FLAT, Topology(modules=REMOTES), states)
    await office.village.store.import_estate(Estate(users=(ANNA,), plants=(flat,)), prune=False)


def shown(fault: str, module: str | None = None, value: str = "", until: str | None = None) -> dict[str, Any]:
    return {"plantId": HOUSE.id, "moduleId": module, "fault": fault, "value": value, "until": until}


class TestFaults:
    async def test_one_is_injected_listed_and_cleared(self, office: Office) -> None:
        made = await office.good("POST", FAULTS, {"fault": "offline", "moduleId": PLUG.id.upper()}, status=201)
        assert made == {"items": [shown("offline", PLUG.id)], "next": None}
        assert await office.good("GET", FAULTS) == await office.good("GET", "/faults") == made
        module = await office.good("GET", f"/plants/{HOUSE.id}/modules/{PLUG.id}")
        assert (module["reachable"], module["absence"]["why"]) == (False, "injected")
        assert await office.good("DELETE", FAULTS) == {"cleared": 1}
        assert (await office.good("GET", FAULTS))["items"] == []
        module = await office.good("GET", f"/plants/{HOUSE.id}/modules/{PLUG.id}")
        assert (module["reachable"], module["absence"]) == (True, None)

    @pytest.mark.parametrize("fault", ["offline", "slow", "refusing", "408", "469", "470", "500"])
    async def test_a_plant_can_have_each(self, office: Office, fault: str) -> None:
        assert (await office.good("POST", FAULTS, {"fault": fault}, status=201))["items"] == [shown(fault)]

    async def test_it_lasts_for_seconds_or_until_a_moment(self, office: Office) -> None:
        for_a_while = await office.good("POST", FAULTS, {"fault": "408", "seconds": 90}, status=201)
        assert for_a_while["items"][0]["until"] == "2027-01-15T08:01:30Z"
        later = await office.good("POST", FAULTS, {"fault": "408", "until": "2027-01-15T09:30:00+01:00"}, status=201)
        assert later["items"][0]["until"] == "2027-01-15T08:30:00Z"
        assert (await office.good("GET", "/faults"))["items"] == later["items"]
        office.village.clock.at = NOW + 1800
        assert (await office.good("GET", "/faults"))["items"] == []

    async def test_a_battery_of_a_plant_is_one_for_each_remote(self, office: Office) -> None:
        await add_flat(office)
        path = f"/plants/{FLAT.id}"
        made = await office.good("POST", f"{path}/faults", {"fault": "battery", "value": "very_low"}, status=201)
        assert [one["moduleId"] for one in made["items"]] == [remote.id for remote in REMOTES]
        states = [one["state"] for one in (await office.good("GET", f"{path}/modules"))["items"]]
        assert [state["battery"] for state in states] == ["very_low", "very_low"]
        assert (await office.good("GET", FAULTS))["items"] == []

    async def test_some_are_cleared_and_others_stay(self, office: Office) -> None:
        for body in ({"fault": "slow"}, {"fault": "slow", "moduleId": LAMP.id}, {"fault": "500", "moduleId": LAMP.id}):
            await office.good("POST", FAULTS, body, status=201)
        assert await office.good("DELETE", f"{FAULTS}?moduleId={LAMP.id}&fault=slow") == {"cleared": 1}
        assert (await office.good("GET", FAULTS))["items"] == [shown("slow"), shown("500", LAMP.id)]
        assert await office.good("DELETE", "/faults?fault=500") == {"cleared": 1}
        assert await office.good("DELETE", "/faults") == {"cleared": 1}
        assert await office.good("DELETE", "/faults") == {"cleared": 0}

    async def test_they_come_in_pages(self, office: Office) -> None:
        for fault in ("slow", "408", "500"):
            await office.good("POST", FAULTS, {"fault": fault}, status=201)
        first = await office.good("GET", "/faults?limit=2")
        second = await office.good("GET", "/faults", params={"limit": 2, "after": first["next"]})
        assert [one["fault"] for page in (first, second) for one in page["items"]] == ["408", "500", "slow"]

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"fault": "tired"},
            {"fault": 408},
            {"fault": "slow", "value": "very"},
            {"fault": "battery"},
            {"fault": "battery", "value": "empty"},
            {"fault": "failure", "value": "BLOCK.TIRED"},
            {"fault": "slow", "moduleId": "lamp"},
            {"fault": "slow", "seconds": 0},
            {"fault": "slow", "seconds": 5, "until": "2027-01-15T09:00:00Z"},
            {"fault": "slow", "until": "2027-01-15T08:00:00Z"},
            {"fault": "slow", "until": "2027-01-15T09:00:00"},
            {"fault": "slow", "plantId": HOUSE.id},
        ],
    )
    async def test_what_cannot_be_is_400_and_nothing_is_injected(self, office: Office, body: dict) -> None:
        await office.refused("POST", FAULTS, body, status=400)
        assert (await office.good("GET", "/faults"))["items"] == []

    async def test_what_is_not_there_is_404(self, office: Office) -> None:
        for path, body in (
            (f"/plants/{an_id(999)}/faults", {"fault": "slow"}),
            (FAULTS, {"fault": "slow", "moduleId": an_id(999)}),
            (FAULTS, {"fault": "battery", "value": "low", "moduleId": LAMP.id}),
            (FAULTS, {"fault": "battery", "value": "low"}),
        ):
            await office.refused("POST", path, body, status=404)
        for method in ("GET", "DELETE"):
            await office.refused(method, f"/plants/{an_id(999)}/faults", status=404)
        await office.village.store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, NOW)
        await office.refused("POST", FAULTS, {"fault": "slow"}, status=404)

    async def test_it_is_in_the_audit_log(self, office: Office) -> None:
        await office.good("POST", FAULTS, {"fault": "slow", "moduleId": LAMP.id}, status=201)
        await office.good("DELETE", FAULTS)
        noted = (await office.good("GET", "/audit?action=plant%20changed"))["items"]
        assert [one["detail"] for one in noted] == [{"inject": "slow"}, {"clear": "all", "faults": "1"}]
        assert all(one["who"].startswith("user:") and one["address"] == "192.0.2.9" for one in noted)
        assert noted[0]["what"] == f"plant:{HOUSE.id} module:{LAMP.id}"


async def measure(office: Office, times: int, *, every: float = 0.1, since: float = NOW - 3600) -> None:
    """Power and energy at the same moments."""
    for place in range(times):
        at = since + place * every
        readings = (("power", Reading(place, Unit.WATT, at)), ("energy", Reading(1000 + place, Unit.WATT_HOUR, at)))
        await office.village.store.record((Report(HOUSE.id, PLUG.id, at, PlugState(on=True), readings=readings),))


class TestReadings:
    async def test_each_is_there_as_it_was_measured(self, office: Office) -> None:
        await measure(office, 2, every=0.5)
        listed = await office.good("GET", READINGS)
        assert listed["next"] is None
        assert sorted(listed["items"], key=lambda one: one["value"]) == [
            {"measure": "power", "unit": "watt", "at": "2027-01-15T07:00:00Z", "value": 0},
            {"measure": "power", "unit": "watt", "at": "2027-01-15T07:00:00.500000Z", "value": 1},
            {"measure": "energy", "unit": "watt_hour", "at": "2027-01-15T07:00:00Z", "value": 1000},
            {"measure": "energy", "unit": "watt_hour", "at": "2027-01-15T07:00:00.500000Z", "value": 1001},
        ]
        assert {one["at"] for one in listed["items"][:2]} == {"2027-01-15T07:00:00Z"}

    async def test_a_resolution_gives_summaries(self, office: Office) -> None:
        await measure(office, 6, every=30)
        path = f"{READINGS}?resolution=1m&measure=power"
        first, *_, last = (await office.good("GET", path))["items"]
        assert first == {
            "measure": "power", "unit": "watt", "at": "2027-01-15T07:00:00Z",
            "count": 2, "mean": 0.5, "low": 0, "high": 1, "last": 1,
        }  # fmt: skip
        assert last["at"] == "2027-01-15T07:02:00Z"
        assert await office.good("GET", f"{READINGS}?resolution=60&measure=power") == await office.good("GET", path)
        (hour,) = (await office.good("GET", f"{READINGS}?resolution=1h&measure=energy"))["items"]
        assert (hour["count"], hour["last"]) == (6, 1005)

    @pytest.mark.parametrize("more", ["", "&resolution=1m", "&measure=power", "&measure=energy&resolution=60"])
    async def test_pages_lose_none_and_repeat_none(self, office: Office, more: str) -> None:
        await measure(office, 7, every=20.1)
        whole = (await office.good("GET", f"{READINGS}?limit=5000{more}"))["items"]
        assert whole
        for limit in (1, 2, 3, 5):
            seen, after = [], ""
            for _ in range(30):
                page = await office.good("GET", f"{READINGS}?limit={limit}{more}{after}")
                seen += page["items"]
                if page["next"] is None:
                    break
                after = f"&after={page['next']}"
            assert seen == whole, limit

    async def test_since_and_until_are_moments_in_many_spellings(self, office: Office) -> None:
        await measure(office, 4, every=60)
        for query in (
            "since=2027-01-15T07:01:00Z&until=2027-01-15T07:02:00Z",
            "since=2027-01-15T08:01:00%2B01:00&until=2027-01-15T07:02Z",
            f"since={NOW - 3540:.0f}&until={NOW - 3480:.1f}",
        ):
            listed = (await office.good("GET", f"{READINGS}?measure=power&{query}"))["items"]
            assert [one["value"] for one in listed] == [1, 2]
        assert len((await office.good("GET", f"{READINGS}?measure=power&since=2027-01-15"))["items"]) == 4
        assert (await office.good("GET", f"{READINGS}?until=2027-01-15"))["items"] == []

    async def test_without_them_it_is_the_last_day(self, office: Office) -> None:
        await measure(office, 1, since=NOW - 86_401)
        await measure(office, 1, since=NOW - 86_399)
        assert len((await office.good("GET", f"{READINGS}?measure=power"))["items"]) == 1

    async def test_what_cannot_be_read_is_400_and_says_how_it_is_written(self, office: Office) -> None:
        for query in (
            *("since=yesterday", "since=20270115", "until=2027-02-31", "since=2027-01-15T07:01:00", "until="),
            *("since=2027-01-15T07:01:00+01:00", "since=-1", "since=1e9", "since=nan", "until=99999999999999"),
        ):
            assert "2026-11-15T08:30:00Z" in await office.refused("GET", f"{READINGS}?{query}", status=400), query
        for query in ("resolution=59", "resolution=0", "resolution=1w", "resolution=367d", "resolution=", "limit=5001"):
            await office.refused("GET", f"{READINGS}?{query}", status=400)
        for query in ("since=2027-01-15&until=2027-01-14", "after=x", "after=-1", "after=1.5", "after="):
            await office.refused("GET", f"{READINGS}?{query}", status=400)

    async def test_a_module_that_measured_nothing_has_none_and_one_that_is_not_there_is_404(self, office: Office) -> None:
        path = f"/plants/{HOUSE.id}/modules"
        assert await office.good("GET", f"{path}/{LAMP.id}/readings") == {"items": [], "next": None}
        await office.refused("GET", f"{path}/{an_id(999)}/readings", status=404)
