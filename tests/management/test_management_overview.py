"""The overview for operators: problems, counts, and the last hour by minute."""

from typing import Any

import msgspec
import pytest

from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import Report
from domogate.edge.metrics import BOUNDS
from domogate.ports import ClusterMember, LiveMember, MessageLink
from domogate.services.cluster import ClusterStatus
from domogate.services.monitoring.counters import Counters, RequestCounts
from domogate.services.monitoring.monitor import MINUTES
from domogate.stores import SqlStore
from support.clocks import NOW
from support.management_setup import ManagementApi
from support.stores import HOUSE, LAMP, an_id

pytestmark = pytest.mark.slow


def requests(ok: int, failed: int = 0) -> RequestCounts:
    """Each request took between 1 and 2.5 ms; each failed request took longer than all buckets."""
    durations = [0, 0, ok, *[0] * (len(BOUNDS) - 3), failed]
    return RequestCounts({200: ok, **({500: failed} if failed else {})}, durations)


async def pass_minute(api: ManagementApi, **changes: Any) -> None:
    api.counters = msgspec.structs.replace(api.counters, **changes)
    api.env.clock.at += 60
    await api.status.monitor.take_sample()


class TestNow:
    async def test_a_quiet_gateway_has_counts_and_no_problems(self, driven: ManagementApi) -> None:
        found = await driven.ok("GET", "/overview")
        assert found["problems"] == []
        assert (found["plants"], found["modules"]) == ({"active": 1, "removed": 0}, {"total": 3, "absent": {}})
        assert found["database"]["kind"] == "sqlite"
        assert found["database"]["reachable"]
        assert found["database"]["bytes"] > 10_000
        assert {driver["name"] for driver in found["drivers"]} == {"simulator", "mqtt"}
        assert (found["openStreams"], found["openOrders"], found["minutes"]) == (3, 0, [])
        assert found["webhooks"] == {"active": 0, "failing": 0, "pending": 0, "oldestPendingAt": None, "deadLetters": 0}

    async def test_each_problem_is_listed_with_what_it_concerns(self, api: ManagementApi) -> None:
        absence = Absence(AbsenceReason.SILENT, NOW)
        await api.env.store.record([Report(HOUSE.id, LAMP.id, NOW, reachable=False, absence=absence)])
        api.warnings = {
            "writes": "the disk is full",
            "clock": "the clock is 400 days ahead",
            "backup": "the last backup failed",
        }
        api.counters = msgspec.structs.replace(api.counters, requests={"homeauto": requests(2, failed=1)})
        found = await api.ok("GET", "/overview")
        problems = {(problem["kind"], problem["name"]): problem for problem in found["problems"]}
        assert problems.keys() == {
            ("writes", None), ("clock", None), ("backup", None),
            ("driver", "simulator"), ("driver", "mqtt"), ("modules", None), ("server errors", None),
        }  # fmt: skip
        assert problems["modules", None]["count"] == 1
        details = [problems[kind, None]["detail"] for kind in api.warnings]
        assert details == ["the disk is full", "the clock is 400 days ahead", "the last backup failed"]
        assert found["modules"]["absent"] == {"silent": 1}

    async def test_a_module_that_is_offline_on_purpose_is_no_problem(self, driven: ManagementApi) -> None:
        absence = Absence(AbsenceReason.SIMULATED, NOW)
        await driven.env.store.record([Report(HOUSE.id, LAMP.id, NOW, reachable=False, absence=absence)])
        found = await driven.ok("GET", "/overview")
        assert (found["problems"], found["modules"]["absent"]) == ([], {"simulated": 1})

    async def test_many_viewers_cost_one_count_of_the_store(self, api: ManagementApi, monkeypatch: pytest.MonkeyPatch) -> None:
        counted = []
        count = SqlStore.count_figures

        async def count_and_note(store: SqlStore, since: float) -> Any:
            counted.append(since)
            return await count(store, since)

        monkeypatch.setattr(SqlStore, "count_figures", count_and_note)
        for _ in range(3):
            await api.ok("GET", "/overview")
        assert len(counted) == 1
        api.env.clock.at += 6
        await api.ok("GET", "/overview")
        assert len(counted) == 2


class TestTheLastHour:
    async def test_each_minute_has_its_own_requests_and_durations(self, api: ManagementApi) -> None:
        await pass_minute(api, requests={"homeauto": requests(10)}, events=5, refused_logins=1)
        await pass_minute(api, requests={"homeauto": requests(30, failed=1), "management": requests(1)}, events=5)
        await pass_minute(api, deliveries={"delivered": 4, "dead": 0})
        api.counters = msgspec.structs.replace(api.counters, refused_logins=3)
        found = await api.ok("GET", "/overview")
        first, second, third = found["minutes"]
        assert first["requests"] == {"homeauto": {"statuses": {"200": 10}, "p50Ms": 1.75, "p99Ms": 2.49}}
        assert (first["events"], first["refusedLogins"]) == (5, 1)
        assert second["requests"]["homeauto"]["statuses"] == {"200": 20, "500": 1}
        assert second["requests"]["homeauto"]["p99Ms"] == 10_000, "the longest duration that a bucket can tell"
        assert second["requests"]["management"]["statuses"] == {"200": 1}
        assert (third["requests"], third["deliveries"]) == ({}, {"delivered": 4, "dead": 0})
        assert found["now"]["refusedLogins"] == 2
        assert found["now"]["since"] == third["until"]
        total = found["lastHour"]
        assert total["requests"]["homeauto"]["statuses"] == {"200": 30, "500": 1}
        assert (total["events"], total["refusedLogins"], total["deliveries"]) == (5, 3, {"delivered": 4, "dead": 0})

    async def test_it_is_bounded_to_an_hour(self, api: ManagementApi) -> None:
        for minute in range(MINUTES + 5):
            await pass_minute(api, events=minute)
        api.token = await api.mint(api.operator)
        found = await api.ok("GET", "/overview")
        assert len(found["minutes"]) == MINUTES
        assert found["lastHour"]["events"] == MINUTES

    async def test_a_minute_in_which_the_database_did_not_answer_has_no_counts_of_it(
        self, api: ManagementApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail(_store: SqlStore, _since: float) -> None:
            raise TimeoutError("the database did not answer")

        with monkeypatch.context() as patch:
            patch.setattr(SqlStore, "count_figures", fail)
            await pass_minute(api, events=1)
        (minute,) = (await api.ok("GET", "/overview"))["minutes"]
        assert (minute["events"], minute["absentModules"], minute["deadLetters"]) == (1, None, None)


def test_percentiles_of_no_requests_are_unknown() -> None:
    assert RequestCounts({}, [0] * (len(BOUNDS) + 1)).find_percentile(BOUNDS, 0.5) is None
    assert Counters({}, 0, {}, 0).minus(Counters({}, 0, {}, 0)) == Counters({}, 0, {}, 0)


def a_status(**changes: Any) -> ClusterStatus:
    def live(number: int, **more: Any) -> LiveMember:
        member = ClusterMember(an_id(number), f"gate{number}:8080", f"https://gate{number}:8080", "1.0", NOW, "north")
        return LiveMember(member, 4.26, **more)

    status = ClusterStatus(
        name="north",
        own_id=an_id(2),
        members=(live(1, shards=1000, is_leaving=True), live(2, shards=24, link=MessageLink.CUT_OFF)),
        held_shards=24,
        fenced_writes=0,
        knowledge_age=0.0512,
        knowledge_bound=2.0,
        nats_server="10.0.0.5:4222",
        nats_problem="the connection was lost",
    )
    return msgspec.structs.replace(status, **changes)


class TestTheCluster:
    async def test_a_gateway_that_is_alone_has_none(self, api: ManagementApi) -> None:
        found = await api.ok("GET", "/cluster")
        assert found.pop("at")
        assert found.pop("gateways") == []
        assert set(found.values()) == {None}
        assert found.keys() == {"name", "knowledgeAge", "knowledgeBound", "natsServer", "natsProblem"}

    async def test_every_gateway_is_shown_with_its_health(self, api: ManagementApi) -> None:
        api.cluster = a_status()
        found = await api.ok("GET", "/cluster")
        assert found["name"] == "north"
        assert (found["knowledgeAge"], found["knowledgeBound"]) == (0.051, 2.0)
        assert (found["natsServer"], found["natsProblem"]) == ("10.0.0.5:4222", "the connection was lost")
        leaving, answering = found["gateways"]
        assert leaving == {
            "id": an_id(1), "name": "gate1:8080", "url": "https://gate1:8080", "version": "1.0", "leaseLeft": 4.3,
            "startedAt": "2027-01-15T08:00:00Z", "shards": 1000, "leaving": True, "messages": "connected", "answering": False,
        }  # fmt: skip
        assert (answering["shards"], answering["messages"], answering["answering"]) == (24, "cut off", True)

    async def test_what_only_one_gateway_knows_has_its_name(self, api: ManagementApi) -> None:
        paths = ("/overview", "/logs", "/drivers", "/settings")
        assert [(await api.ok("GET", path))["gateway"] for path in paths] == [None] * 4
        api.cluster = a_status()
        assert [(await api.ok("GET", path))["gateway"] for path in paths] == ["gate2:8080"] * 4
        api.cluster = a_status(own_id=None)  # without a lease
        assert [(await api.ok("GET", path))["gateway"] for path in paths] == [None] * 4

    async def test_a_gateway_without_nats_is_a_problem(self, driven: ManagementApi) -> None:
        driven.cluster = a_status()
        (problem,) = (await driven.ok("GET", "/overview"))["problems"]
        assert (problem["kind"], problem["name"]) == ("cluster", "gate2:8080")
