"""Runs Helm on the chart of the project."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from support.named_code import ROOT

CHART = ROOT / "deploy" / "helm" / "domogate"


def helm(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Helm. `./dev test` installs it in the development environment; on other processors than x86-64, QEMU runs it."""
    own = Path(sys.executable).with_name("helm")
    program = own if own.exists() else shutil.which("helm")
    assert program, "helm is needed for this test: install it, and put it on the PATH"
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=120)


def render(folder: Path, values: dict[str, Any], kubernetes: str = "") -> list[dict[str, Any]]:
    """The objects that the chart makes with these values, for a version of Kubernetes or for the default of Helm."""
    version = ["--kube-version", kubernetes] if kubernetes else []
    given = ["--namespace", "homes", "--values", write_values(folder, values), *version]
    told = helm("template", "home", str(CHART), *given)
    assert told.returncode == 0, told.stderr
    (folder / "objects.yaml").write_text(told.stdout)
    return [document for document in yaml.safe_load_all(told.stdout) if document]


def write_values(folder: Path, values: dict[str, Any]) -> str:
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    return str(path)
