"""Runs Helm on the chart of the project."""

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from support.named_code import ROOT

CHART = ROOT / "deploy" / "helm" / "domogate"


def helm(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    """Run Helm. `./dev test` installs it in the development environment; on other processors than x86-64, QEMU runs it."""
    own = Path(sys.executable).with_name("helm")
    program = own if own.exists() else shutil.which("helm")
    assert program, "helm is needed for this test: install it, and put it on the PATH"
    return subprocess.run([program, *arguments], input=stdin, capture_output=True, text=True, check=False, timeout=120)


def render(values: dict[str, Any], kubernetes: str) -> list[dict[str, Any]]:
    """The objects that the chart makes with these values, for a version of Kubernetes."""
    return [document for document in yaml.safe_load_all(_render_once(yaml.safe_dump(values), kubernetes)) if document]


@cache
def _render_once(values: str, kubernetes: str) -> str:
    """Many tests look at the same objects, and Helm needs seconds on processors other than x86-64."""
    given = ["--namespace", "homes", "--values", "-", "--kube-version", kubernetes]
    told = helm("template", "home", str(CHART), *given, stdin=values)
    assert told.returncode == 0, told.stderr
    return told.stdout


def write_values(folder: Path, values: dict[str, Any]) -> str:
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    return str(path)
