"""Writes the page of all values of the Helm chart, from the comments of values.yaml."""

import json
import re
from typing import Any, NamedTuple

import yaml

from docsite.building import ROOT
from docsite.reference.markdown import escape, write_page, write_table

VALUES = ROOT / "deploy" / "helm" / "domogate" / "values.yaml"
_COMMENT = re.compile(r"\s*# (.+)")
_KEY = re.compile(r"( *)(\w+):")


class Value(NamedTuple):
    """A value of the chart."""

    name: str
    default: Any
    comment: str


def list_values(text: str | None = None) -> list[Value]:
    """Return the values with their comments, in the order of the file. A table with a comment is one value.

    Raises ValueError if a value has no comment.
    """
    text = VALUES.read_text("utf-8") if text is None else text
    document = yaml.safe_load(text)
    found: list[Value] = []
    path: list[str] = []
    comment: list[str] = []
    for line in text.splitlines():
        if match := _COMMENT.match(line):
            comment.append(match[1])
        elif match := _KEY.match(line):
            path = [*path[: len(match[1]) // 2], match[2]]
            if comment:
                found.append(Value(".".join(path), _look_up(document, path), " ".join(comment)))
            comment = []
    names = [value.name for value in found]
    for leaf in list_leaves(document):
        if not any(leaf == name or leaf.startswith(f"{name}.") for name in names):
            raise ValueError(f"write a comment before {leaf} in values.yaml: the documentation shows it.")
    return found


def list_leaves(document: Any, prefix: str = "") -> list[str]:
    """Return the names of all values that are not tables. An empty table is a value."""
    if not isinstance(document, dict) or not document:
        return [prefix]
    return [leaf for name, one in document.items() for leaf in list_leaves(one, f"{prefix}.{name}" if prefix else name)]


def _look_up(document: Any, path: list[str]) -> Any:
    for name in path:
        document = document[name]
    return document


def write_values_page() -> str:
    rows = [(f"`{value.name}`", f"`{json.dumps(value.default)}`", escape(value.comment)) for value in list_values()]
    return write_page(
        "Values of the Helm chart",
        [
            "These are all values of the [Helm chart](../deploy/helm/domogate/README.md) with their defaults. Set a value\n"
            "with `--set`, or in a file that you name with `--values`. [Kubernetes](deployment.md#kubernetes) explains\n"
            "the two modes.",
            write_table(("value", "default", "meaning"), rows),
        ],
    )
