"""docs/metrics.md lists exactly the metrics of the code, and their names follow the conventions of Prometheus."""

import re
from pathlib import Path

import pytest

from domogate.app.cluster_metrics import register_cluster_metrics
from domogate.app.gateway import Gateway
from domogate.app.server_metrics import register_certificate, register_server_metrics
from domogate.edge.loop_lag import LoopLag
from domogate.edge.metrics import Description
from domogate.edge.server import Connections
from domogate.settings import Settings
from support.markdown import tables
from support.promql import ROOT
from support.tls import make_self_signed


@pytest.fixture
def described(tmp_path: Path) -> list[Description]:
    metrics = Gateway(Settings(data=tmp_path, backup_every=86_400.0)).metrics
    register_cluster_metrics(metrics, lambda: None)
    register_server_metrics(metrics, Connections(1, 1, ()), LoopLag())
    register_certificate(metrics, make_self_signed(tmp_path).certificate)
    return metrics.describe()


def test_the_page_lists_the_metrics_as_they_are(described: list[Description]) -> None:
    (table,) = tables((ROOT / "docs" / "metrics.md").read_text())
    shown = [
        Description(row["metric"].strip("`"), row["type"], tuple(re.findall(r"`(\w+)`", row["labels"])), row["meaning"])
        for row in table
    ]
    rows = [
        f"| `{one.name}` | {one.kind} | {', '.join(f'`{label}`' for label in one.labels)} | {one.text} |" for one in described
    ]
    assert shown == described, "docs/metrics.md must have this table:\n" + "\n".join(rows)


def test_each_name_has_the_suffix_of_its_type(described: list[Description]) -> None:
    for one in described:
        assert re.fullmatch(r"domogate_[a-z]+(_[a-z]+)*", one.name)
        assert one.name.endswith("_total") == (one.kind == "counter")
        assert one.text.endswith(".")
        assert one.kind != "histogram" or one.name.endswith("_seconds")
    assert len({one.name for one in described}) == len(described)


@pytest.mark.parametrize(("word", "unit"), [("Time ", "_seconds"), ("Age ", "_seconds"), ("Size ", "_bytes")])
def test_a_metric_with_a_unit_names_it(described: list[Description], word: str, unit: str) -> None:
    measured = [one.name for one in described if one.text.startswith(word)]
    assert measured
    assert [name for name in measured if not name.endswith(unit)] == []
