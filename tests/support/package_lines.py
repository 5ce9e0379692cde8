"""Runs the installation lines of a page without a package index: the packages of this checkout come from their built files."""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

_DEADLINE = 300.0


def without_index(wheels: Path, home: Path) -> dict[str, str]:
    """Return the variables with which pip finds only the wheels of this folder, and installs nothing else."""
    found = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_NO_DEPS": "1", "PIP_PRE": "1"}
    # The tests import only a part of the code. PIP_NO_COMPILE=1 would compile: pip sets the value of `compile` with it.
    found["PIP_COMPILE"] = "0"
    path = f"{Path(sys.executable).resolve().parent}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(home), "PIP_DISABLE_PIP_VERSION_CHECK": "1", **found}


def run_lines(lines: Iterable[str], folder: Path, environment: Mapping[str, str]) -> str:
    """Run each line as a reader does. Return the output of the last line."""
    output = ""
    for line in lines:
        done = subprocess.run(
            ["sh", "-c", line], cwd=folder, env=dict(environment), capture_output=True, text=True, timeout=_DEADLINE
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        output = done.stdout
    return output


def use_environment(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a shell in which this Python environment is active."""
    return {**environment, "VIRTUAL_ENV": str(folder), "PATH": f"{folder}/bin:{environment['PATH']}"}
