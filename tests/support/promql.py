"""The queries of the dashboards and the alert rules to Prometheus."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
ALERTS = PROMETHEUS / "alerts.yml"
DASHBOARDS = {path.stem: path for path in sorted((ROOT / "deploy" / "grafana").glob("*.json"))}

_METRIC = re.compile(r"\b(?:domogate|process|python)_[a-z0-9_]+|\bup\b")
_SELECTOR = re.compile(r"\b((?:domogate|process|python)_[a-z0-9_]+|up)\{([^}]*)\}")
_MATCHER = re.compile(r"([a-z_]+)\s*(?:=~|!~|!=|=)")
_GROUPED = re.compile(r"\bby \(([^)]*)\)")
_OF_PROMETHEUS = {"instance", "job", "le"}
"""Labels that Prometheus itself adds, and the label of the buckets of a histogram."""


def read_rules() -> list[dict[str, Any]]:
    document = yaml.safe_load(ALERTS.read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def read_panels(dashboard: str) -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = json.loads(DASHBOARDS[dashboard].read_text())["panels"]
    return panels


def list_expressions(dashboard: str) -> Iterator[tuple[str, str]]:
    """Yield the title of each panel and the expression of each of its queries."""
    for panel in read_panels(dashboard):
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def metrics_in(expression: str) -> set[str]:
    return set(_METRIC.findall(_GROUPED.sub("", expression)))


def labels_in(expression: str) -> set[tuple[str, str]]:
    """Return each metric with each label that the expression uses. A label of `by` belongs to all metrics."""
    found = {(metric, label) for metric, matchers in _SELECTOR.findall(expression) for label in _MATCHER.findall(matchers)}
    for labels in _GROUPED.findall(expression):
        found |= {(metric, label.strip()) for metric in metrics_in(expression) for label in labels.split(",")}
    return {(metric, label) for metric, label in found if label not in _OF_PROMETHEUS}
