"""Compares the unit of a metric with its name and its help text (https://prometheus.io/docs/practices/naming/)."""

import re
from collections.abc import Iterator

from domogate.edge.metrics import Description

BASE_UNITS = ("seconds", "bytes", "ratio")
"""Units that a name has as its suffix. All other units of Domogate are the things that a metric counts."""
_OTHER_UNITS = re.compile(r"\b(\w*[a-z]seconds|ms|minutes|hours|days|[kmg]i?b|\w*[a-z]bytes|bits|percent)\b|%", re.IGNORECASE)
_WORDS = {
    "measures time": (re.compile(r"^(Time|Age|Duration)\b"), "seconds"),
    "measures bytes": (re.compile(r"^(Size|Free space)\b"), "bytes"),
}
_STATES = {"1 while": "0 or 1", "Always 1": "always 1"}
"""The beginning of the help text of a metric that counts nothing, and its unit."""


def find_unit_faults(metric: Description) -> list[str]:
    """Return a sentence for each contradiction. A correct metric has none."""
    if not metric.unit:
        return [f"the metric {metric.name} has no unit"]
    return [*_of_name(metric), *_of_text(metric)]


def _of_name(metric: Description) -> Iterator[str]:
    base = metric.name.removesuffix("_total")
    suffix = next((unit for unit in BASE_UNITS if base.endswith(f"_{unit}")), None)
    if suffix is None and metric.unit in BASE_UNITS:
        yield f"the name {metric.name} must end with _{metric.unit}"
    if suffix is not None and metric.unit != suffix:
        yield f"the name {metric.name} ends with _{suffix}, so its unit must be {suffix}"
    if _OTHER_UNITS.fullmatch(metric.unit):
        yield f"the unit {metric.unit} of {metric.name} is not a base unit of Prometheus"


def _of_text(metric: Description) -> Iterator[str]:
    text, unit = metric.text, metric.unit
    if found := _OTHER_UNITS.search(text):
        yield f"the unit of {metric.name} is {unit}, and its text names {found[0]}"
    has_date, is_timestamp = "since 1970" in text, "_timestamp_" in metric.name
    if has_date and not is_timestamp:
        yield f"the name {metric.name} must have _timestamp_, because its text says since 1970"
    if is_timestamp and not has_date:
        yield f"the text of {metric.name} must say since 1970"
    for what, (word, expected) in _WORDS.items():
        if word.search(text) and unit != expected:
            yield f"the text of {metric.name} {what}, and its unit is {unit}"
    for beginning, expected in _STATES.items():
        if text.startswith(beginning) and unit != expected:
            yield f"the text of {metric.name} begins with {beginning}, so its unit must be {expected}"
        if not text.startswith(beginning) and unit == expected:
            yield f"the text of {metric.name} must begin with {beginning}"
    if unit not in (*BASE_UNITS, *_STATES.values()) and not re.search(rf"\b{unit}\b", text.split(".")[0], re.IGNORECASE):
        yield f"the first sentence of {metric.name} does not name {unit}"
