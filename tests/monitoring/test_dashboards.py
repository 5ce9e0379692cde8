"""The dashboards in deploy/grafana: Grafana can import them, and each panel has its own place."""

import json
from itertools import combinations
from typing import Any

import pytest

from support.promql import DASHBOARDS, read_panels

pytestmark = pytest.mark.parametrize("name", DASHBOARDS)
_WIDTH = 24


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    across = one["x"] < other["x"] + other["w"] and other["x"] < one["x"] + one["w"]
    return across and one["y"] < other["y"] + other["h"] and other["y"] < one["y"] + one["h"]


def test_it_has_what_grafana_needs(name: str) -> None:
    board = json.loads(DASHBOARDS[name].read_text())
    assert board["uid"] == f"domogate-{name}"
    assert board["title"]
    assert board["schemaVersion"] >= 39
    variables = {variable["name"]: variable for variable in board["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["instance"]["datasource"]["uid"] == "${datasource}"


def test_ids_and_titles_are_unique(name: str) -> None:
    panels = read_panels(name)
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)


def test_panels_do_not_overlap(name: str) -> None:
    panels = read_panels(name)
    for panel in panels:
        place = panel["gridPos"]
        assert 0 <= place["x"] < place["x"] + place["w"] <= _WIDTH
    overlapping = [
        (one["title"], other["title"]) for one, other in combinations(panels, 2) if overlap(one["gridPos"], other["gridPos"])
    ]
    assert overlapping == []


def test_each_panel_asks_the_chosen_source_about_the_chosen_gateway(name: str) -> None:
    asking: list[dict[str, Any]] = [panel for panel in read_panels(name) if panel["type"] != "row"]
    assert len(asking) > 20
    for panel in asking:
        assert panel["type"] in ("timeseries", "stat")
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) >= 1
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}"
            assert "$instance" in target["expr"]
