"""Faults on demand and readings, over HTTP."""

from typing import Any

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.plants import Member, Module, Plant, PlantStatus, PlantType, Topology
from domogate.domain.states import Battery, PlugState, Reading, RemoteState, Report, Unit
from support.clocks import NOW
from support.management_setup import ManagementApi
from support.stores import ANNA, HOUSE, LAMP, PLUG, an_id

pytestmark = pytest.mark.slow

REMOTES = tuple(Module(an_id(510 + n), an_id(520 + n), f"Remote {n}", DeviceKind.REMOTE) for n in range(2))
FLAT = Plant(an_id(500), an_id(501), "Flat", PlantType.HOUSE, Member(ANNA.id, ANNA.email))
FAULTS = f"/plants/{HOUSE.id}/faults"
READINGS = f"/plants/{HOUSE.id}/modules/{PLUG.id}/readings"


async def add_flat(api: ManagementApi) -> None:
    states = tuple(FirstState(remote.id, RemoteState(battery=Battery.FULL)) for remote in REMOTES)
    flat = EstatePlant(FLAT, Topology(modules=REMOTES), states)
    await api.env.store.import_estate(Estate(users=(ANNA,), plants=(flat,)), prune=False)


def shown(fault: str, module: str | None = None, value: str = "", until: str | None = None) -> dict[str, Any]:
    return {"plantId": HOUSE.id, "moduleId": module, "fault": fault, "value": value, "until": until}


class TestFaults:
    async def test_one_is_injected_listed_and_cleared(self, api: ManagementApi) -> None:
        made = await api.ok("POST", FAULTS, {"fault": "offline", "moduleId": PLUG.id.upper()}, status=201)
        assert made == {"items": [shown("offline", PLUG.id)], "next": None}
        assert await api.ok("GET", FAULTS) == await api.ok("GET", "/faults") == made
        named = [shown("offline", PLUG.id) | {"plantName": HOUSE.name, "moduleName": PLUG.name}]
        for path in (FAULTS, "/faults"):
            assert (await api.ok("GET", f"{path}?names=true"))["items"] == named
        module = await api.ok("GET", f"/plants/{HOUSE.id}/modules/{PLUG.id}")
        assert (module["reachable"], module["absence"]["why"]) == (False, "injected")
        assert await api.ok("DELETE", FAULTS) == {"cleared": 1}
        assert (await api.ok("GET", FAULTS))["items"] == []
        module = await api.ok("GET", f"/plants/{HOUSE.id}/modules/{PLUG.id}")
        assert (module["reachable"], module["absence"]) == (True, None)

    @pytest.mark.parametrize("fault", ["offline", "slow", "refusing", "408", "469", "470", "500"])
    async def test_a_plant_can_have_each(self, api: ManagementApi, fault: str) -> None:
        assert (await api.ok("POST", FAULTS, {"fault": fault}, status=201))["items"] == [shown(fault)]

    async def test_it_lasts_for_seconds_or_until_a_time(self, api: ManagementApi) -> None:
        for_a_while = await api.ok("POST", FAULTS, {"fault": "408", "seconds": 90}, status=201)
        assert for_a_while["items"][0]["until"] == "2027-01-15T08:01:30Z"
        later = await api.ok("POST", FAULTS, {"fault": "408", "until": "2027-01-15T09:30:00+01:00"}, status=201)
        assert later["items"][0]["until"] == "2027-01-15T08:30:00Z"
        assert (await api.ok("GET", "/faults"))["items"] == later["items"]
        api.env.clock.at = NOW + 1800
        assert (await api.ok("GET", "/faults"))["items"] == []

    async def test_a_battery_of_a_plant_is_one_for_each_remote(self, api: ManagementApi) -> None:
        await add_flat(api)
        path = f"/plants/{FLAT.id}"
        made = await api.ok("POST", f"{path}/faults", {"fault": "battery", "value": "very_low"}, status=201)
        assert [one["moduleId"] for one in made["items"]] == [remote.id for remote in REMOTES]
        states = [one["state"] for one in (await api.ok("GET", f"{path}/modules"))["items"]]
        assert [state["battery"] for state in states] == ["very_low", "very_low"]
        assert (await api.ok("GET", FAULTS))["items"] == []

    async def test_some_are_cleared_and_others_stay(self, api: ManagementApi) -> None:
        for body in ({"fault": "slow"}, {"fault": "slow", "moduleId": LAMP.id}, {"fault": "500", "moduleId": LAMP.id}):
            await api.ok("POST", FAULTS, body, status=201)
        assert await api.ok("DELETE", f"{FAULTS}?moduleId={LAMP.id}&fault=slow") == {"cleared": 1}
        assert (await api.ok("GET", FAULTS))["items"] == [shown("slow"), shown("500", LAMP.id)]
        assert await api.ok("DELETE", "/faults?fault=500") == {"cleared": 1}
        assert await api.ok("DELETE", "/faults") == {"cleared": 1}
        assert await api.ok("DELETE", "/faults") == {"cleared": 0}

    async def test_they_come_in_pages(self, api: ManagementApi) -> None:
        for fault in ("slow", "408", "500"):
            await api.ok("POST", FAULTS, {"fault": fault}, status=201)
        first = await api.ok("GET", "/faults?limit=2")
        second = await api.ok("GET", "/faults", params={"limit": 2, "after": first["next"]})
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
    async def test_an_impossible_fault_is_400_and_nothing_is_injected(self, api: ManagementApi, body: dict[str, Any]) -> None:
        await api.refused("POST", FAULTS, body, status=400)
        assert (await api.ok("GET", "/faults"))["items"] == []

    async def test_an_unknown_id_is_404(self, api: ManagementApi) -> None:
        for path, body in (
            (f"/plants/{an_id(999)}/faults", {"fault": "slow"}),
            (FAULTS, {"fault": "slow", "moduleId": an_id(999)}),
            (FAULTS, {"fault": "battery", "value": "low", "moduleId": LAMP.id}),
            (FAULTS, {"fault": "battery", "value": "low"}),
        ):
            await api.refused("POST", path, body, status=404)
        for method in ("GET", "DELETE"):
            await api.refused(method, f"/plants/{an_id(999)}/faults", status=404)
        await api.env.store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, NOW)
        await api.refused("POST", FAULTS, {"fault": "slow"}, status=404)

    async def test_it_is_in_the_audit_log(self, api: ManagementApi) -> None:
        await api.ok("POST", FAULTS, {"fault": "slow", "moduleId": LAMP.id}, status=201)
        await api.ok("DELETE", FAULTS)
        noted = (await api.ok("GET", "/audit?action=plant%20changed"))["items"]
        assert [one["detail"] for one in noted] == [{"inject": "slow"}, {"clear": "all", "faults": "1"}]
        assert all(one["who"].startswith("user:") and one["address"] == "192.0.2.9" for one in noted)
        assert noted[0]["what"] == f"plant:{HOUSE.id} module:{LAMP.id}"


async def measure(api: ManagementApi, times: int, *, every: float = 0.1, since: float = NOW - 3600) -> None:
    """Power and energy at the same times."""
    for place in range(times):
        at = since + place * every
        readings = (("power", Reading(place, Unit.WATT, at)), ("energy", Reading(1000 + place, Unit.WATT_HOUR, at)))
        await api.env.store.record((Report(HOUSE.id, PLUG.id, at, PlugState(on=True), readings=readings),))


class TestReadings:
    async def test_each_is_there_as_it_was_measured(self, api: ManagementApi) -> None:
        await measure(api, 2, every=0.5)
        listed = await api.ok("GET", READINGS)
        assert listed["next"] is None
        assert sorted(listed["items"], key=lambda one: one["value"]) == [
            {"measure": "power", "unit": "watt", "at": "2027-01-15T07:00:00Z", "simulated": False, "value": 0},
            {"measure": "power", "unit": "watt", "at": "2027-01-15T07:00:00.500000Z", "simulated": False, "value": 1},
            {"measure": "energy", "unit": "watt_hour", "at": "2027-01-15T07:00:00Z", "simulated": False, "value": 1000},
            {"measure": "energy", "unit": "watt_hour", "at": "2027-01-15T07:00:00.500000Z", "simulated": False, "value": 1001},
        ]
        assert {one["at"] for one in listed["items"][:2]} == {"2027-01-15T07:00:00Z"}

    @pytest.mark.parametrize("more", ["", "?resolution=1m"])
    async def test_those_of_a_simulated_module_are_marked(self, api: ManagementApi, more: str) -> None:
        reading = ("power", Reading(5, Unit.WATT, NOW - 60))
        await api.env.store.record((Report(HOUSE.id, LAMP.id, NOW - 60, readings=(reading,)),))
        (one,) = (await api.ok("GET", f"/plants/{HOUSE.id}/modules/{LAMP.id}/readings{more}"))["items"]
        assert one["simulated"] is True

    async def test_a_resolution_gives_summaries(self, api: ManagementApi) -> None:
        await measure(api, 6, every=30)
        path = f"{READINGS}?resolution=1m&measure=power"
        first, *_, last = (await api.ok("GET", path))["items"]
        assert first == {
            "measure": "power", "unit": "watt", "at": "2027-01-15T07:00:00Z",
            "simulated": False, "count": 2, "mean": 0.5, "low": 0, "high": 1, "last": 1,
        }  # fmt: skip
        assert last["at"] == "2027-01-15T07:02:00Z"
        assert await api.ok("GET", f"{READINGS}?resolution=60&measure=power") == await api.ok("GET", path)
        (hour,) = (await api.ok("GET", f"{READINGS}?resolution=1h&measure=energy"))["items"]
        assert (hour["count"], hour["last"]) == (6, 1005)

    @pytest.mark.parametrize("more", ["", "&resolution=1m", "&measure=power", "&measure=energy&resolution=60"])
    async def test_pages_lose_none_and_repeat_none(self, api: ManagementApi, more: str) -> None:
        await measure(api, 7, every=20.1)
        whole = (await api.ok("GET", f"{READINGS}?limit=5000{more}"))["items"]
        assert whole
        for limit in (1, 2, 3, 5):
            seen, after = [], ""
            for _ in range(30):
                page = await api.ok("GET", f"{READINGS}?limit={limit}{more}{after}")
                seen += page["items"]
                if page["next"] is None:
                    break
                after = f"&after={page['next']}"
            assert seen == whole, limit

    async def test_since_and_until_take_several_notations(self, api: ManagementApi) -> None:
        await measure(api, 4, every=60)
        for query in (
            "since=2027-01-15T07:01:00Z&until=2027-01-15T07:02:00Z",
            "since=2027-01-15T08:01:00%2B01:00&until=2027-01-15T07:02Z",
            f"since={NOW - 3540:.0f}&until={NOW - 3480:.1f}",
        ):
            listed = (await api.ok("GET", f"{READINGS}?measure=power&{query}"))["items"]
            assert [one["value"] for one in listed] == [1, 2]
        assert len((await api.ok("GET", f"{READINGS}?measure=power&since=2027-01-15"))["items"]) == 4
        assert (await api.ok("GET", f"{READINGS}?until=2027-01-15"))["items"] == []

    async def test_without_them_it_is_the_last_day(self, api: ManagementApi) -> None:
        await measure(api, 1, since=NOW - 86_401)
        await measure(api, 1, since=NOW - 86_399)
        assert len((await api.ok("GET", f"{READINGS}?measure=power"))["items"]) == 1

    async def test_a_malformed_time_is_400_and_the_detail_shows_the_notation(self, api: ManagementApi) -> None:
        for query in (
            *("since=yesterday", "since=20270115", "until=2027-02-31", "since=2027-01-15T07:01:00", "until="),
            *("since=2027-01-15T07:01:00+01:00", "since=-1", "since=1e9", "since=nan", "until=99999999999999"),
        ):
            assert "2026-11-15T08:30:00Z" in await api.refused("GET", f"{READINGS}?{query}", status=400), query
        for query in ("resolution=59", "resolution=0", "resolution=1w", "resolution=367d", "resolution=", "limit=5001"):
            await api.refused("GET", f"{READINGS}?{query}", status=400)
        for query in ("since=2027-01-15&until=2027-01-14", "after=x", "after=-1", "after=1.5", "after="):
            await api.refused("GET", f"{READINGS}?{query}", status=400)

    async def test_a_module_that_measured_nothing_has_none_and_one_that_is_not_there_is_404(self, api: ManagementApi) -> None:
        path = f"/plants/{HOUSE.id}/modules"
        assert await api.ok("GET", f"{path}/{LAMP.id}/readings") == {"items": [], "next": None}
        await api.refused("GET", f"{path}/{an_id(999)}/readings", status=404)
