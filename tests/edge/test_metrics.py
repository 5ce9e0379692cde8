"""Metrics for Prometheus, computed at each scrape."""

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from domogate.app.gateway_metrics import name_api
from domogate.edge.metrics import Metrics


async def scrape(metrics: Metrics, path: str = "/metrics", method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await metrics.app({"type": "http", "path": path, "method": method}, None, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, sent[1]["body"]


class TestFigures:
    async def test_the_text_is_what_prometheus_reads(self) -> None:
        metrics = Metrics()
        metrics.count_request("E8", 200, 0.003)
        metrics.count_request("E8", 404, 20.0)
        metrics.count_refused(431)
        _, _, body = await scrape(metrics)
        families = {family.name: family for family in text_string_to_metric_families(body.decode())}
        assert {sample.labels["status"]: sample.value for sample in families["domogate_requests"].samples} == {
            "200": 1,
            "404": 1,
        }
        buckets = {
            sample.labels["le"]: sample.value
            for sample in families["domogate_request_seconds"].samples
            if sample.name.endswith("_bucket")
        }
        assert (buckets["0.0025"], buckets["0.005"], buckets["10.0"], buckets["+Inf"]) == (0, 1, 1, 2)
        assert families["domogate_refused_requests"].samples[0].labels == {"status": "431"}
        assert "process_resident_memory_bytes" in families

    @pytest.mark.parametrize(
        ("operation", "api"),
        [
            ("E8", "homeauto"),
            ("management.listUsers", "management"),
            ("manage", "management"),
            ("auth", "auth"),
            (".well-known", ".well-known"),
            ("pages", "pages"),
        ],
    )
    def test_each_request_belongs_to_an_api_or_a_part(self, operation: str, api: str) -> None:
        metrics = Metrics(name_api)
        metrics.count_request(operation, 200, 0.003)
        labels = {"api": api, "operation": operation, "status": "200"}
        assert metrics.registry.get_sample_value("domogate_requests_total", labels) == 1

    def test_others_show_theirs_by_a_callable(self) -> None:
        metrics, held = Metrics(), {"n": 1.0}
        plants: dict[tuple[str, ...], float] = {("house", "active"): 2.0}
        metrics.gauge("domogate_world_modules", "modules", "Modules held", lambda: held["n"])
        metrics.counter("domogate_commits", "commits", "Commits", lambda: 7)
        metrics.gauge("domogate_plants", "plants", "Plants", lambda: plants, labels=("type", "status"))
        held["n"] = 5.0
        read = metrics.registry.get_sample_value
        assert read("domogate_world_modules") == 5
        assert read("domogate_commits_total") == 7
        assert read("domogate_plants", {"type": "house", "status": "active"}) == 2

    def test_two_gateways_in_one_process_do_not_share_figures(self) -> None:
        one, other = Metrics(), Metrics()
        one.count_refused(400)
        assert other.registry.get_sample_value("domogate_refused_requests_total", {"status": "400"}) is None


class TestApp:
    @pytest.mark.parametrize(
        ("path", "method", "status"), [("/", "GET", 404), ("/metrics/", "GET", 404), ("/metrics", "POST", 405)]
    )
    async def test_nothing_else_lives_there(self, path: str, method: str, status: int) -> None:
        assert (await scrape(Metrics(), path, method))[0] == status
