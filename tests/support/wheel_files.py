"""The packages of the lock files in `.dev/wheels`, so that the tests of the image need no package index."""

import fcntl
import subprocess
import sys
from pathlib import Path

from support.examples import is_long
from support.named_code import ROOT

_NAMES = ("requirements.lock", "requirements-build.lock")
_LONG_NAMES = (*_NAMES, "requirements-site.lock")
"""Only the long form of the test of the image installs MkDocs."""
LOCKS = [ROOT / name for name in (_LONG_NAMES if is_long() else _NAMES)]
_FOLDER = ROOT / ".dev" / "wheels"


def download_wheels() -> Path:
    """Download the wheels if the lock files have changed. Returns the folder. Only the first call needs a package index."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    done = _FOLDER / "downloaded.lock"
    wanted = f"{sys.version}\n" + "".join(lock.read_text() for lock in LOCKS)
    with (_FOLDER / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists() or done.read_text() != wanted:
            sys.stderr.write("Downloading the wheels of requirements.lock into .dev/wheels\n")
            names = [word for path in LOCKS for word in ("--requirement", str(path))]
            options = ["--quiet", "--no-deps", "--require-hashes", "--dest", str(_FOLDER)]
            subprocess.run([sys.executable, "-m", "pip", "download", *options, *names], check=True, timeout=900)
            done.write_text(wanted)
    return _FOLDER


if __name__ == "__main__":
    download_wheels()
