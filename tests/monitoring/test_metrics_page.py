"""The names and units of the metrics follow the conventions of Prometheus. `./dev reference` writes them to docs/metrics.md."""

import re

import pytest
from prometheus_client import generate_latest

from docsite.reference.metrics import register_all
from domogate.app.server_metrics import register_certificate
from domogate.edge.metrics import Description, Metrics
from support.metric_units import find_unit_faults


@pytest.fixture(scope="module")
def metrics() -> Metrics:
    return register_all()


@pytest.fixture(scope="module")
def described(metrics: Metrics) -> list[Description]:
    return metrics.describe()


def test_a_certificate_and_its_description_have_one_name(described: list[Description]) -> None:
    metrics = Metrics()
    register_certificate(metrics, lambda: 0.0)
    assert {one.name for one in metrics.describe()} < {one.name for one in described}


def test_each_name_has_the_suffix_of_its_type(described: list[Description]) -> None:
    for one in described:
        assert re.fullmatch(r"domogate_[a-z]+(_[a-z]+)*", one.name)
        assert one.name.endswith("_total") == (one.kind == "counter")
        assert one.text.endswith(".")
        assert one.kind != "histogram" or one.name.endswith("_seconds")
    assert len({one.name for one in described}) == len(described)


class TestUnits:
    def test_each_metric_has_a_unit_that_agrees_with_its_name_and_its_meaning(self, described: list[Description]) -> None:
        assert [fault for one in described for fault in find_unit_faults(one)] == []
        assert {"seconds", "bytes", "requests", "0 or 1"} < {one.unit for one in described}

    def test_the_page_explains_each_metric_with_its_meaning(self, metrics: Metrics, described: list[Description]) -> None:
        page = generate_latest(metrics.registry).decode()
        helps = dict(re.findall(r"^# HELP (domogate_\S+) (.*)$", page, flags=re.MULTILINE))
        assert helps == {one.name: one.text for one in described}

    @pytest.mark.parametrize(
        ("name", "unit", "text", "fault"),
        [
            ("domogate_plants", "", "Plants in the database.", "has no unit"),
            ("domogate_lag", "seconds", "Longest delay of a timer.", "must end with _seconds"),
            ("domogate_work_seconds_total", "events", "Events that took seconds.", "its unit must be seconds"),
            ("domogate_disk", "bytes", "Size of the disk.", "must end with _bytes"),
            ("domogate_disk_bytes", "disks", "Disks of the gateway.", "its unit must be bytes"),
            ("domogate_disk_used", "ratio", "Used part of the disk.", "must end with _ratio"),
            ("domogate_lag_milliseconds", "milliseconds", "Longest delay, in milliseconds.", "not a base unit"),
            ("domogate_lag_seconds", "seconds", "Longest delay, in milliseconds.", "names milliseconds"),
            ("domogate_disk_bytes", "bytes", "Size of the disk in MB.", "names MB"),
            ("domogate_age_seconds", "seconds", "Seconds since 1970 of the last change.", "must have _timestamp_"),
            ("domogate_change_timestamp_seconds", "seconds", "Age of the last change.", "must say since 1970"),
            ("domogate_wait", "clients", "Time that clients wait.", "measures time"),
            ("domogate_disk", "disks", "Size of the disks.", "measures bytes"),
            ("domogate_plants", "modules", "Plants in the database.", "does not name modules"),
            ("domogate_ready", "gateways", "1 while gateways are ready.", "its unit must be 0 or 1"),
            ("domogate_ready", "0 or 1", "Gateways that are ready.", "must begin with 1 while"),
            ("domogate_build_info", "versions", "Always 1. The labels have versions.", "its unit must be always 1"),
        ],
    )
    def test_a_wrong_unit_is_found(self, name: str, unit: str, text: str, fault: str) -> None:
        faults = find_unit_faults(Description(name, "gauge", unit, (), text))
        assert [one for one in faults if fault in one], faults
