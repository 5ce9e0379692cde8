"""The metrics of running gateways: valid for promtool, and complete for the dashboards and the alert rules.

One gateway is a member of a cluster and has had requests. The other gateway uses TLS, and makes backups.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.cluster_gateway import start_cluster
from support.gateway import Gateway, eventually, running, start
from support.http import client
from support.ports import free_port
from support.prometheus_server import Prometheus, prometheus
from support.promql import DASHBOARDS, labels_in, list_expressions, metrics_in, read_rules
from support.spec_operations import E1, E8
from support.tls import make_self_signed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

_MQTT = json.dumps([{"name": "broker", "url": "mqtt://127.0.0.1:1"}])
_MAY_BE_EMPTY = {"Server errors by API", "Server errors of each member", "Drivers that do not run"}
"""Panels that show nothing while nothing is wrong."""


class Watched:
    """The two gateways and their metrics."""

    def __init__(self, member: Gateway, member_port: int, tls_port: int) -> None:
        self.member = member
        self.instances = [f"127.0.0.1:{member_port}", f"127.0.0.1:{tls_port}"]
        self.texts = [self._scrape(instance) for instance in self.instances]

    @staticmethod
    def _scrape(instance: str) -> str:
        with client(f"http://{instance}") as http:
            answer = http.get("/metrics")
        assert answer.status_code == 200, answer.text
        return answer.text

    def labels(self) -> dict[str, set[str]]:
        """The labels of the samples of each metric."""
        found: dict[str, set[str]] = {}
        for text in self.texts:
            for family in text_string_to_metric_families(text):
                for sample in family.samples:
                    found.setdefault(sample.name, set()).update(sample.labels)
        return found


def use(gateway: Gateway) -> None:
    """Send requests of several kinds, so that metrics with labels have samples."""
    for operation in (E1, E8):
        who, target = gateway.case(operation)
        assert gateway.send(operation, target, who=who).status_code == 200
    http = gateway.api.http
    assert http.get("/homeauto/v1.0/nothing").status_code == 404
    assert http.post("/tickets/redeem", json={"ticket": "no ticket"}).status_code >= 400
    assert http.get("/healthz", headers={"x-long": "a" * 40_000}).status_code == 431


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder, member_port, tls_port = tmp_path_factory.mktemp("watched"), free_port(), free_port()
    tls = make_self_signed(folder)
    of_tls = {
        "DOMOGATE_TLS_CERTIFICATE": str(tls.certificate),
        "DOMOGATE_TLS_KEY": str(tls.key),
        "DOMOGATE_METRICS_PORT": str(tls_port),
        "DOMOGATE_BACKUP_EVERY": "86400",
    }
    of_member = {"DOMOGATE_METRICS_PORT": str(member_port), "DOMOGATE_MQTT_BROKERS": _MQTT}
    with ExitStack() as stack:
        member = stack.enter_context(running(start_cluster("demo", folder / "cluster", of_member, gateways=1)))
        stack.enter_context(running(start("serve", folder / "tls", of_tls)))
        use(member)
        yield Watched(member, member_port, tls_port)


@pytest.fixture(scope="module")
def server(watched: Watched, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with prometheus(tmp_path_factory.mktemp("prometheus"), watched.instances) as server:
        eventually(lambda: len(server.ask("count_over_time(up[5m]) > 2 and up == 1")) == 2, "both gateways are read")
        yield server


class TestMetrics:
    @pytest.mark.parametrize("number", [0, 1])
    def test_promtool_finds_no_mistake(self, watched: Watched, number: int) -> None:
        text = watched.texts[number]
        done = subprocess.run(
            ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_the_certificate_has_an_end(self, watched: Watched) -> None:
        assert "domogate_tls_certificate_end_timestamp_seconds 1." in watched.texts[1]
        assert "domogate_tls_certificate_end_timestamp_seconds" not in watched.texts[0]

    def test_the_command_is_counted(self, watched: Watched) -> None:
        assert 'domogate_orders_total{result="confirmed"} 0.0' not in watched.texts[0]
        assert 'domogate_orders_total{result="confirmed"}' in watched.texts[0]


class TestWhatIsAskedFor:
    def check(self, watched: Watched, expressions: list[str]) -> None:
        labels = watched.labels() | {"up": set()}
        asked = {metric for expression in expressions for metric in metrics_in(expression)}
        assert len(asked) > 10
        assert asked - labels.keys() == set()
        unknown = {(metric, label) for one in expressions for metric, label in labels_in(one) if label not in labels[metric]}
        assert unknown == set()

    def test_the_rules_use_only_metrics_and_labels_that_exist(self, watched: Watched) -> None:
        self.check(watched, [rule["expr"] for rule in read_rules()])

    @pytest.mark.parametrize("name", DASHBOARDS)
    def test_the_panels_use_only_metrics_and_labels_that_exist(self, watched: Watched, name: str) -> None:
        self.check(watched, [expression for _, expression in list_expressions(name)])


class TestPrometheus:
    @pytest.mark.parametrize("name", DASHBOARDS)
    def test_it_evaluates_every_panel(self, watched: Watched, server: Prometheus, name: str) -> None:
        empty: set[str] = set()
        for title, expression in list_expressions(name):
            for variable, value in (("$instance", watched.instances[0]), ("$__rate_interval", "5m")):
                expression = expression.replace(variable, value)
            if not server.ask(expression) and title not in _MAY_BE_EMPTY:
                empty.add(title)
        assert empty == ({"Certificate ends in"} if name == "gateway" else set())

    def test_it_evaluates_every_rule(self, server: Prometheus) -> None:
        def is_evaluated() -> bool:
            return all(rule["health"] == "ok" for rule in server.list_rules())

        eventually(is_evaluated, "every rule was evaluated without an error")
        assert {rule["name"] for rule in server.list_rules()} == {rule["alert"] for rule in read_rules()}
