"""The environment of Home Assistant in `.dev/homeassistant`, for the tests of the integration and for `./dev bench peers`.

Home Assistant has an environment of its own, because it needs other versions of some packages than the gateway.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_OWN = Path(__file__).parent
_ROOT = _OWN.parents[1]
_FOLDER = _ROOT / ".dev" / "homeassistant"
_LOCK = _OWN / "requirements.lock"
_PIP_LOCK = _ROOT / "requirements-pip.lock"
_FIRST_PYTHON_THAT_IS_TOO_NEW = (3, 13)
CUSTOM_COMPONENTS = _OWN / "custom_components"


class NotInstalled(Exception):
    """A program could not be installed. The message says why."""


def run_or_fail(*command: str | Path, cwd: Path) -> None:
    """Run a command of an installation. Raises NotInstalled with the last words of the command."""
    try:
        done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    except OSError as error:
        raise NotInstalled(str(error)) from error
    if done.returncode:
        raise NotInstalled(" ".join(done.stdout.split())[-300:])


def find_python() -> str:
    """Return a Python that can run this version of Home Assistant. Raises NotInstalled if there is none."""
    if sys.version_info < _FIRST_PYTHON_THAT_IS_TOO_NEW:
        return sys.executable
    found = shutil.which("python3.12") or shutil.which("python3.11")
    if found is None:
        raise NotInstalled("Home Assistant 2024.3.3 needs Python 3.11 or 3.12")
    return found


def install() -> Path:
    """Install the packages of the lock file, if they are not installed. Returns the Python of the environment."""
    python, done = _FOLDER / "venv" / "bin" / "python", _FOLDER / "installed.lock"
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time():
        if not done.exists() or done.read_bytes() != _LOCK.read_bytes():
            sys.stderr.write("Installing Home Assistant into .dev/homeassistant\n")
            done.unlink(missing_ok=True)
            shutil.rmtree(_FOLDER / "venv", ignore_errors=True)
            run_or_fail(find_python(), "-m", "venv", _FOLDER / "venv", cwd=_FOLDER)
            # Most modules of Home Assistant are never imported; compiling all of them would take most of the time.
            options = ("--quiet", "--no-compile", "--no-deps", "--require-hashes")
            for lock in (_PIP_LOCK, _LOCK):
                run_or_fail(python, "-m", "pip", "install", *options, "-r", lock, cwd=_FOLDER)
            shutil.copy(_LOCK, done)
    return python


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Several processes of a test run may need the environment at the same time."""
    with (_FOLDER / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def command(folder: Path, ready: Path, port: int, parts: Sequence[str]) -> list[str]:
    """The command that starts Home Assistant with these parts and its files in `folder`. It writes the file `ready`."""
    # With -P, the folder of the script is not searched for modules, so the integration is imported from `folder`.
    return [str(install()), "-P", str(_OWN / "serve.py"), str(folder), str(ready), str(port), *parts]


def variables() -> dict[str, str]:
    """The environment variables of the process. The integration imports `domogate_client` from its source folder."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("DOMOGATE_", "PYTHON"))}
    return {**inherited, "PYTHONPATH": str(_ROOT / "clients" / "python" / "src")}


if __name__ == "__main__":
    try:
        install()
    except NotInstalled as reason:
        sys.exit(f"Home Assistant could not be installed: {reason}")
