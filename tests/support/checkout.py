"""A copy of this checkout, in which tests run `./dev` without an installation. It never changes this checkout."""

import hashlib
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from support.named_code import ROOT

_LOCK = "requirements-dev.lock"
_BUILT = ("src/domogate/console/static", "web/node_modules")


def copy_checkout(folder: Path, program: Path) -> None:
    """Copy the files of the repository as they are now, with an environment that imports the copied code.

    `program` is the `domogate` of this environment. It forks, because each start of a new process imports everything again.
    """
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    for compiled in (ROOT / "src").rglob("__pycache__"):
        # To compile all of them again takes seconds. A name such as x.pyc.123 is a file that another process still writes.
        shutil.copytree(compiled, folder / compiled.relative_to(ROOT), ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in _BUILT:
        if (ROOT / name).is_dir():
            (folder / name).symlink_to(ROOT / name)
    _make_environment(folder, program)
    if (built := ROOT / ".dev" / "web.stamp").is_file():
        shutil.copy(built, folder / ".dev")


def _make_environment(folder: Path, program: Path) -> None:
    """Make .dev/venv as ./dev does, but with the packages of the environment of the tests, and with another `domogate`."""
    venv = folder / ".dev" / "venv"
    site = venv / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    for needed in (venv / "bin", site):
        needed.mkdir(parents=True)
    for other in (Path(sys.prefix) / "bin").iterdir():
        (venv / "bin" / other.name).symlink_to(other)
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", venv)
    own = [folder / "src", folder / "clients" / "python" / "src"]
    (site / "checkout.pth").write_text("".join(f"{path}\n" for path in (*own, sysconfig.get_path("purelib"))))
    domogate = venv / "bin" / "domogate"
    domogate.unlink()
    domogate.symlink_to(program)
    (venv / f"{_LOCK}.stamp").write_text(f"{_fingerprint(folder)}\n")


def _fingerprint(folder: Path) -> str:
    """The output of `wanted` of ./dev for an environment that is up to date."""
    head = f"{folder}\n{_LOCK}\n".encode()
    content = b"".join((folder / name).read_bytes() for name in (_LOCK, "pyproject.toml", "dev"))
    return f"{sys.version} {hashlib.sha256(head + content).hexdigest()}"
