"""npm packages for tests: installed on first use into .dev/node, as pinned by their lock file."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PINNED = ("package.json", "package-lock.json", ".npmrc")
OWN_NODE = ROOT / ".dev" / "nodejs" / "bin"
"""Node, if `./dev` installed it because the machine has none."""


def use_node() -> None:
    """Let this process and its children find Node. Without it the test fails, and the message says what to do."""
    if OWN_NODE.is_dir() and str(OWN_NODE) not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = f"{OWN_NODE}{os.pathsep}{os.environ['PATH']}"
    for program in ("node", "npm"):
        assert shutil.which(program) is not None, f"{program} is needed for this test: run ./dev web once"


def install(source: Path, name: str, *scripts: str) -> Path:
    """A folder with the packages that `source` pins, and with its scripts."""
    use_node()
    digest = hashlib.sha256(b"".join((source / file).read_bytes() for file in _PINNED)).hexdigest()[:16]
    folder = ROOT / ".dev" / "node" / f"{name}-{digest}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not (folder / "installed").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for file in _PINNED:
                shutil.copy(source / file, folder / file)
            done = subprocess.run(["npm", "ci"], cwd=folder, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, f"npm ci failed; the first run needs a package registry\n{done.stderr}"
            (folder / "installed").touch()
        for script in scripts:
            shutil.copy(source / script, folder / script)
    return folder
