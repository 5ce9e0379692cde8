"""`./dev package --check`: the packages are the same when they are built in another folder, and they work when installed."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from release.building import ROOT, CannotPackage, build, hash_file, list_uncommitted, unpack
from release.npm import build_npm
from release.trial import try_demo

_INSTALL_DEADLINE = 900.0
LIMIT = 60.0
"""In seconds, by the clock on the wall. A new user has a gateway with pages after this time."""


class Timer:
    """Measures a trial: by the clock on the wall, and the CPU time of the programs that it ran."""

    def __init__(self) -> None:
        self._began, self._cpu_before = time.monotonic(), _read_cpu()

    def check(self, what: str) -> str:
        """Return a sentence with the time. Raises CannotPackage if it is longer than the limit."""
        return judge(what, time.monotonic() - self._began, _read_cpu() - self._cpu_before)


def judge(what: str, seconds: float, cpu: float) -> str:
    told = f"{what}: from the wheel to a gateway with pages in {seconds:.0f} s ({cpu:.0f} s of CPU time)"
    if seconds <= LIMIT:
        return f"{told}."
    load, processors = os.getloadavg()[0], os.cpu_count()
    raise CannotPackage(
        f"{told}. The limit is {LIMIT:g} s on a machine that does nothing else.\n"
        f"The load of this machine is {load:.1f}, and it has {processors} processors."
        " If other programs run, stop them and try again.\n"
        "If the CPU time is small, the package index or the network is slow."
        " Otherwise the packages have become too large, or the start of the gateway too slow."
    )


def _read_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check(made: Sequence[Path], when: datetime, say: Callable[[str], None]) -> None:
    """Check the built packages. Raises CannotPackage with the first mistake."""
    if changed := list_uncommitted():
        raise CannotPackage(
            "commit or remove these changes first, because packages are built from a commit:\n" + "\n".join(changed)
        )
    # The folder is on the same disk as the checkout, so that the packages of web/ need no copy.
    with tempfile.TemporaryDirectory(prefix="package-", dir=ROOT / ".dev") as folder:
        checkout, target = _export(Path(folder) / "checkout"), Path(folder) / "dist"
        compare(made, [*build(checkout, target, when), build_npm(checkout, target)])
        say(f"{len(made)} packages have the same hashes when they are built again from the commit, in another folder.")
        (wheel,) = [path for path in made if path.match("domogate-[0-9]*.whl")]
        say(_install_and_try(wheel, Path(folder)))
        say(try_pipx(wheel, Path(folder)))


def compare(made: Sequence[Path], again: Sequence[Path]) -> None:
    """Raises CannotPackage if two builds differ."""
    first, second = ({path.name: hash_file(path) for path in paths} for paths in (made, again))
    if first != second:
        differing = sorted({name for name, _ in first.items() ^ second.items()})
        raise CannotPackage(f"two builds of the same commit differ: {', '.join(differing)}.")


def _export(target: Path) -> Path:
    """Write the files of the last commit to a new folder, build pages and documentation there, and return it."""
    archive = target.with_suffix(".tar")
    subprocess.run(["git", "archive", "--output", archive, "HEAD"], cwd=ROOT, check=True, timeout=60)
    unpack(archive, target)
    shutil.copytree(ROOT / "web" / "node_modules", target / "web" / "node_modules", symlinks=True, copy_function=os.link)
    subprocess.run(["node", "web/build.mjs"], cwd=target, check=True, timeout=120)
    path = {**os.environ, "PYTHONPATH": f"{target}:{target / 'src'}"}
    subprocess.run([sys.executable, "-m", "docsite"], cwd=target, env=path, check=True, timeout=600)
    return target


def _install_and_try(wheel: Path, folder: Path) -> str:
    """Install the wheel and the packages of requirements.lock into a new environment, and run the demo. Return the time."""
    timer = Timer()
    environment = folder / "environment"
    pip = f"{environment}/bin/pip"
    run([sys.executable, "-m", "venv", str(environment)])
    run([pip, "install", "--quiet", "--no-deps", "--require-hashes", "-r", f"{ROOT}/requirements.lock"])
    run([pip, "install", "--quiet", "--no-deps", str(wheel)])
    run([pip, "check"])
    (folder / "demo").mkdir()
    try_demo(environment, folder / "demo")
    return timer.check(f"{wheel.name} and requirements.lock in a new environment")


def try_pipx(wheel: Path, folder: Path) -> str:
    """Install the wheel with pipx, as people do who have no lock file, and run the demo. Return the time without pipx."""
    tools, home = folder / "tools", folder / "pipx"
    run([sys.executable, "-m", "venv", str(tools)])
    run([f"{tools}/bin/pip", "install", "--quiet", "pipx"])
    timer = Timer()
    places = {"PIPX_HOME": str(home), "PIPX_BIN_DIR": str(home / "bin"), "PIPX_MAN_DIR": str(home / "man")}
    run([f"{tools}/bin/pipx", "install", "--backend", "pip", str(wheel)], places)
    (folder / "pipx-demo").mkdir()
    try_demo(home, folder / "pipx-demo")
    return timer.check(f"{wheel.name} with pipx")


def run(command: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
    """Run a command. Raises CannotPackage with its output if it fails."""
    environment = {**os.environ, **(variables or {})}
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=_INSTALL_DEADLINE)
    if told.returncode:
        raise CannotPackage(f"`{' '.join(command)}` failed:\n{told.stdout}{told.stderr}")
