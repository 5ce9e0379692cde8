"""Readings of a module and the energy of a home, over HTTP."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate
from domogate.domain.limits import Limits
from domogate.domain.states import Reading, Report, Unit
from support.full_plant import FULL_PLANT, MODULE_OF
from support.home_setup import STUDIO, VILLA, HomeApi
from support.stores import CARLA

pytestmark = pytest.mark.slow

PLUG, METER = MODULE_OF[DeviceKind.PLUG], MODULE_OF[DeviceKind.ENERGYMETER]
READINGS = f"/homes/{FULL_PLANT.id}/modules/{PLUG.id}/readings"
ENERGY = f"/homes/{FULL_PLANT.id}/energy"
TWO_DAYS = "since=2027-01-13T00:00:00Z&until=2027-01-15T00:00:00Z"


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


async def record(api: HomeApi, module_id: str, measure: str, unit: Unit, *values: tuple[str, float]) -> None:
    for time, value in values:
        reading = Reading(value, unit, at(time))
        await api.env.store.record((Report(FULL_PLANT.id, module_id, at(time), readings=((measure, reading),)),))


async def count_energy(api: HomeApi, module_id: str, *values: tuple[str, float]) -> None:
    await record(api, module_id, "energy", Unit.WATT_HOUR, *values)


def in_time_zone(zone: str) -> Estate:
    return Estate(plants=(msgspec.structs.replace(VILLA, plant=msgspec.structs.replace(FULL_PLANT, time_zone=zone)),))


async def readings(api: HomeApi, query: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await api.ok("GET", f"{READINGS}?{query}"))["items"]
    return items


class TestReadings:
    async def test_an_hour_has_its_summary(self, api: HomeApi) -> None:
        await record(api, PLUG.id, "power", Unit.WATT, ("2027-01-14T08:10", 10), ("2027-01-14T08:50", 30))
        (hour,) = await readings(api, TWO_DAYS)
        assert hour == {
            "at": "2027-01-14T08:00:00Z",
            "measure": "power",
            "unit": "watt",
            "count": 2,
            "mean": 20,
            "low": 10,
            "high": 30,
            "last": 30,
            "used": None,
        }

    async def test_days_and_months_are_those_of_the_time_zone(self, api: HomeApi) -> None:
        values = (("2027-01-13T22:30", 10.0), ("2027-01-13T23:30", 20.0), ("2027-01-14T09:00", 40.0))
        await record(api, PLUG.id, "power", Unit.WATT, *values)
        utc = await readings(api, f"{TWO_DAYS}&per=day")
        assert [(day["at"], day["mean"]) for day in utc] == [("2027-01-13T00:00:00Z", 15), ("2027-01-14T00:00:00Z", 40)]
        rome = await readings(api, f"{TWO_DAYS}&per=day&timezone=Europe/Rome")
        assert [(day["at"], day["mean"]) for day in rome] == [("2027-01-12T23:00:00Z", 10), ("2027-01-13T23:00:00Z", 30)]
        (month,) = await readings(api, f"{TWO_DAYS}&per=month&timezone=Europe/Rome")
        assert (month["at"], month["count"], month["last"]) == ("2026-12-31T23:00:00Z", 3, 40)

    async def test_without_a_time_zone_days_are_those_of_the_home(self, api: HomeApi) -> None:
        await api.env.store.import_estate(in_time_zone("America/Havana"), prune=False)
        values = tuple((f"2026-11-01T{hour:02}:30", 10.0) for hour in range(3, 7))  # midnight is at 04:00 and at 05:00 UTC
        await record(api, PLUG.id, "power", Unit.WATT, *values)
        since = "since=2026-10-31T00:00:00Z&until=2026-11-03T00:00:00Z&per=day"
        days = [(day["at"], day["count"]) for day in await readings(api, since)]
        assert days == [("2026-10-31T04:00:00Z", 1), ("2026-11-01T04:00:00Z", 3)]

    async def test_a_counter_says_what_was_used_also_after_it_was_replaced(self, api: HomeApi) -> None:
        values = (
            ("2027-01-13T07:30", 100.0),
            ("2027-01-13T08:30", 150.0),
            ("2027-01-13T09:30", 20.0),
            ("2027-01-14T09:30", 50.0),
        )
        await count_energy(api, PLUG.id, *values)
        assert [hour["used"] for hour in await readings(api, TWO_DAYS)] == [0, 50, 20, 30]
        assert [day["used"] for day in await readings(api, f"{TWO_DAYS}&per=day")] == [70, 30]
        since_eight = "since=2027-01-13T08:00:00Z&until=2027-01-13T09:00:00Z"
        assert [hour["used"] for hour in await readings(api, since_eight)] == [50]

    async def test_what_was_used_while_a_counter_was_not_read_belongs_to_its_next_hour_in_every_period(
        self, api: HomeApi
    ) -> None:
        await count_energy(api, PLUG.id, ("2027-01-13T22:30", 100.0), ("2027-01-14T09:30", 5100.0))
        for since in ("2027-01-13", "2027-01-14", "2027-01-14T09:00:00Z"):
            assert (await readings(api, f"since={since}&until=2027-01-15"))[-1]["used"] == 5000
            assert (await api.ok("GET", f"{ENERGY}?since={since}&until=2027-01-15"))["used"] == 5.0

    async def test_a_counter_is_found_behind_many_newer_readings_of_another_measure(self, api: HomeApi) -> None:
        await count_energy(api, PLUG.id, ("2027-01-12T22:30", 100.0), ("2027-01-14T09:30", 5100.0))
        power = [(f"2027-01-13T{hour:02}:30", 10.0) for hour in range(24)]
        await record(api, PLUG.id, "power", Unit.WATT, *power)
        assert (await readings(api, "since=2027-01-14&until=2027-01-15"))[-1]["used"] == 5000
        assert (await api.ok("GET", f"{ENERGY}?since=2027-01-14&until=2027-01-15"))["used"] == 5.0

    async def test_a_counter_that_lost_its_last_steps_has_not_used_its_whole_count(self, api: HomeApi) -> None:
        """Some plugs store their count once an hour, and begin with the stored count after a power cut."""
        values = (("2027-01-13T22:30", 5100.0), ("2027-01-14T08:30", 5090.0), ("2027-01-14T09:30", 5095.0))
        await count_energy(api, PLUG.id, *values)
        assert [hour["used"] for hour in await readings(api, TWO_DAYS)] == [0, 0, 5]
        assert (await api.ok("GET", f"{ENERGY}?since=2027-01-14&until=2027-01-15"))["used"] == 0.0

    async def test_wrong_periods_are_refused(self, api: HomeApi) -> None:
        for query in ("since=2027-01-15&until=2027-01-14", "since=2020-01-01&until=2027-01-14"):
            await api.refused("GET", f"{READINGS}?{query}", status=422)
            await api.refused("GET", f"{ENERGY}?{query}", status=422)
        for query in ("since=yesterday", "per=week", "timezone=Europe/Atlantis", "limit=3"):
            await api.refused("GET", f"{READINGS}?{query}", status=400)
        await api.refused("GET", f"{ENERGY}?until=0001-01-01T00:00:00%2B14:00", status=400)


class TestEnergy:
    async def test_the_home_its_rooms_and_modules_are_compared_with_the_period_before(self, api: HomeApi) -> None:
        values = (("2027-01-10T23:50", 0.0), ("2027-01-12T23:50", 1000.0), ("2027-01-14T23:00", 4000.0))
        await count_energy(api, PLUG.id, *values)
        energy = await api.ok("GET", f"{ENERGY}?{TWO_DAYS}")
        used = {"used": 3.0, "usedBefore": 1.0, "cost": 0.75, "costBefore": 0.25}
        assert energy == {
            **used,
            "since": "2027-01-13T00:00:00Z",
            "until": "2027-01-15T00:00:00Z",
            "price": 0.25,
            "currency": "EUR",
            "rooms": [{**used, "roomId": STUDIO.id}],
            "modules": [{**used, "moduleId": PLUG.id}],
            "simulated": True,
        }

    async def test_a_meter_counts_instead_of_the_plugs(self, api: HomeApi) -> None:
        await count_energy(api, PLUG.id, ("2027-01-12T23:50", 0.0), ("2027-01-14T00:00", 1000.0))
        await count_energy(api, METER.id, ("2027-01-12T23:50", 0.0), ("2027-01-14T00:00", 5000.0))
        assert (await api.ok("GET", f"{ENERGY}?{TWO_DAYS}"))["used"] == 5.0

    async def test_plugs_count_in_both_periods_if_a_meter_measured_only_in_the_period_before(self, api: HomeApi) -> None:
        values = (("2027-01-10T23:50", 0.0), ("2027-01-12T23:50", 1000.0), ("2027-01-14T23:00", 4000.0))
        await count_energy(api, PLUG.id, *values)
        await record(api, METER.id, "power", Unit.WATT, ("2027-01-12T08:10", 7000))
        energy = await api.ok("GET", f"{ENERGY}?{TWO_DAYS}")
        assert (energy["used"], energy["usedBefore"]) == (3.0, 1.0)

    async def test_a_meter_that_measured_only_in_the_period_before_counts_if_no_plug_measures(self, api: HomeApi) -> None:
        await record(api, METER.id, "power", Unit.WATT, ("2027-01-12T08:10", 7000))
        energy = await api.ok("GET", f"{ENERGY}?{TWO_DAYS}")
        assert (energy["used"], energy["usedBefore"]) == (None, 7.0)

    async def test_a_counter_that_is_new_in_the_period_counts_from_its_first_value(self, api: HomeApi) -> None:
        await count_energy(api, PLUG.id, ("2027-01-13T08:10", 700.0), ("2027-01-13T09:10", 1200.0))
        energy = await api.ok("GET", f"{ENERGY}?{TWO_DAYS}")
        assert (energy["used"], energy["usedBefore"]) == (0.5, None)

    async def test_a_module_without_a_counter_is_summed_from_its_power(self, api: HomeApi) -> None:
        await record(api, PLUG.id, "power", Unit.WATT, ("2027-01-13T08:10", 500), ("2027-01-13T09:10", 1500))
        assert (await api.ok("GET", f"{ENERGY}?{TWO_DAYS}"))["used"] == 2.0

    async def test_nothing_measured_is_null_and_not_zero(self, api: HomeApi) -> None:
        energy = await api.ok("GET", f"{ENERGY}?{TWO_DAYS}")
        assert (energy["used"], energy["cost"], energy["modules"], energy["rooms"]) == (None, None, [], [])


class TestAGuest:
    """Sees only what was measured after the guest came (Decision 0056)."""

    async def test_readings_begin_with_the_first_whole_hour(self, api: HomeApi) -> None:
        await record(api, PLUG.id, "power", Unit.WATT, ("2027-01-14T08:10", 10), ("2027-01-15T07:50", 20))
        api.env.clock.at = at("2027-01-15T08:20")
        await api.env.people.invite(FULL_PLANT.id, CARLA.email, limits=Limits(modules=(PLUG.id,)))
        query = f"{READINGS}?since=2027-01-13T00:00:00Z&until=2027-01-16T00:00:00Z"
        assert (await api.ok("GET", query, token=await api.mint(CARLA)))["items"] == []
        await record(api, PLUG.id, "power", Unit.WATT, ("2027-01-15T08:40", 30), ("2027-01-15T09:10", 40))
        assert [hour["mean"] for hour in (await api.ok("GET", query, token=await api.mint(CARLA)))["items"]] == [40]
        assert [hour["mean"] for hour in (await api.ok("GET", query))["items"]] == [10, 20, 30, 40]

    async def test_energy_is_not_compared_with_the_time_before(self, api: HomeApi) -> None:
        await count_energy(api, PLUG.id, ("2027-01-13T12:00", 1000), ("2027-01-14T12:00", 3000))
        api.env.clock.at = at("2027-01-15T08:00")
        await api.env.people.invite(FULL_PLANT.id, CARLA.email, limits=Limits(modules=(PLUG.id,)))
        query = f"{ENERGY}?since=2027-01-15T00:00:00Z&until=2027-01-16T00:00:00Z"
        (plug,) = (await api.ok("GET", query, token=await api.mint(CARLA)))["modules"]
        assert (plug["used"], plug["usedBefore"]) == (0.0, None)
        await count_energy(api, PLUG.id, ("2027-01-15T08:30", 3100), ("2027-01-15T11:00", 3600))
        (plug,) = (await api.ok("GET", query, token=await api.mint(CARLA)))["modules"]
        assert (plug["used"], plug["usedBefore"]) == (0.6, None)
        (plug,) = (await api.ok("GET", query))["modules"]
        assert plug["usedBefore"] is not None

    async def test_the_answer_says_from_when_the_energy_is(self, api: HomeApi) -> None:
        api.env.clock.at = at("2027-01-15T08:20")
        await api.env.people.invite(FULL_PLANT.id, CARLA.email, limits=Limits(modules=(PLUG.id,)))
        token = await api.mint(CARLA)
        for since, until, begin in (
            ("2027-01-14T00", "2027-01-16T00", "2027-01-15T09"),
            ("2027-01-15T11", "2027-01-16T00", "2027-01-15T11"),
            ("2027-01-13T00", "2027-01-14T00", "2027-01-14T00"),
        ):
            energy = await api.ok("GET", f"{ENERGY}?since={since}:00:00Z&until={until}:00:00Z", token=token)
            assert (energy["since"], energy["until"]) == (f"{begin}:00:00Z", f"{until}:00:00Z")
