"""Runs Helm on the chart of the project, and reads the values of the chart with their comments."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from support.named_code import ROOT

CHART = ROOT / "deploy" / "helm" / "domogate"


class Value(NamedTuple):
    """A value of the chart."""

    name: str
    default: Any
    comment: str


def helm(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Helm. The package helm-binary of the development environment has it for Linux on x86-64."""
    own = Path(sys.executable).with_name("helm")
    program = own if own.exists() else shutil.which("helm")
    assert program, "helm is needed for this test: install it, and put it on the PATH"
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=120)


def render(folder: Path, values: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects that the chart makes with these values."""
    told = helm("template", "home", str(CHART), "--namespace", "homes", "--values", write_values(folder, values))
    assert told.returncode == 0, told.stderr
    (folder / "objects.yaml").write_text(told.stdout)
    return [document for document in yaml.safe_load_all(told.stdout) if document]


def write_values(folder: Path, values: dict[str, Any]) -> str:
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    return str(path)


def list_values() -> list[Value]:
    """The values of values.yaml with their comments, in the order of the file. A table with a comment is one value."""
    text = (CHART / "values.yaml").read_text()
    document = yaml.safe_load(text)
    found: list[Value] = []
    path: list[str] = []
    comment = ""
    for line in text.splitlines():
        if match := re.match(r"\s*# (.+)", line):
            comment = match[1]
        elif match := re.match(r"( *)(\w+):", line):
            path = [*path[: len(match[1]) // 2], match[2]]
            if comment:
                found.append(Value(".".join(path), _look_up(document, path), comment))
            comment = ""
    return found


def _look_up(document: Any, path: list[str]) -> Any:
    for name in path:
        document = document[name]
    return document


def list_leaves(document: Any, prefix: str = "") -> list[str]:
    """The names of all values that are not tables. An empty table is a value."""
    if not isinstance(document, dict) or not document:
        return [prefix]
    return [leaf for name, one in document.items() for leaf in list_leaves(one, f"{prefix}.{name}" if prefix else name)]
