"""Runs the steps of a Dockerfile without a container engine: in a root folder of their own, with the programs of this machine.

The programs of this machine stand for the base image: its folders are in the root folder, but cannot be written.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.dockerfile import Context, Stage, Step
from support.node_packages import OWN_NODE

_SYSTEM = ("bin", "etc", "lib", "lib32", "lib64", "sbin", "usr")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CHROOT = shutil.which("chroot", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin") or "chroot"
"""Debian installs it in a folder that is not on every user's PATH."""
_NAMESPACE = ["unshare", "--mount", "--propagation", "private"]
if os.geteuid() != 0:
    _NAMESPACE += ["--user", "--map-root-user"]
# Arguments: the root folder, "rw" or "ro", folders of the base image, "--", pairs of a folder and its place, "--", the command.
_SCRIPT = """
root=$1 mode=$2; shift 2
mount --bind "$root" "$root"
while [ "$1" != -- ]; do
    mount --bind "$1" "$root$1"; mount -o remount,bind,ro "$root$1"; shift
done; shift
for name in dev proc; do mount --rbind "/$name" "$root/$name"; done
while [ "$1" != -- ]; do
    mount --bind "$1" "$root$2"; shift 2
done; shift
[ "$mode" = rw ] || mount -o remount,bind,ro "$root"
exec "$@"
"""


@dataclass
class ContainerRoot:
    """The root folder of one stage."""

    folder: Path
    stage: Stage
    context: Context
    caches: Mapping[str, Path]
    """Folders of this machine for the cache mounts of RUN, by their targets."""
    earlier: Mapping[str, "ContainerRoot"] = field(default_factory=dict)
    """The root folders of the stages before, by the names of the stages."""
    workdir: str = "/"

    def __post_init__(self) -> None:
        programs = [Path(sys.base_prefix).resolve(), *([OWN_NODE.parent] if OWN_NODE.is_dir() else [])]
        self.base = list(programs)
        self.folder.mkdir(mode=0o755)
        for name in _SYSTEM:
            of_machine = Path("/", name)
            if of_machine.is_symlink():
                (self.folder / name).symlink_to(of_machine.readlink())
            elif of_machine.is_dir():
                self.base.append(of_machine)
        for place in (*map(str, self.base), "/dev", "/proc", "/tmp", *self.caches):
            self.place(place).mkdir(parents=True, exist_ok=True)
        self.environment = self.stage.environment(":".join([*(f"{one}/bin" for one in programs), _PATH]))

    def place(self, path: str) -> Path:
        """The path on this machine for a path in the container."""
        return self.folder / str(Path(self.workdir, path)).lstrip("/")

    def build(self, given: Mapping[str, str], *, only_copy: bool = False) -> None:
        """Run the steps that make files. `given` has further variables for RUN. With `only_copy`, RUN is left out."""
        for step in self.stage.steps:
            if step.name == "WORKDIR":
                self.workdir = step.rest
                self.place(step.rest).mkdir(parents=True, exist_ok=True)
            elif step.name == "COPY":
                self._copy(step)
            elif step.name == "RUN" and not only_copy:
                self._run(step, given)

    def _copy(self, step: Step) -> None:
        *sources, target = step.words
        to_a_folder = len(sources) > 1 or target.endswith("/")
        for source in sources:
            found = self.earlier[step.flags["from"]].place(source) if "from" in step.flags else self.context.folder / source
            files = [found] if "from" in step.flags else self.context.files(found)
            assert files, f"COPY {source}: there is no such file in the context"
            ours = self.place(target) / (found.name if to_a_folder and not found.is_dir() else "")
            for file in files:
                _copy_one(file, ours / file.relative_to(found) if file != found else ours)
            if owner := step.flags.get("chown"):
                give(ours, owner)

    def _run(self, step: Step, given: Mapping[str, str]) -> None:
        mount = dict(part.split("=") for part in step.flags.get("mount", "").split(",") if part)
        mounts = {mount["target"]: self.caches[mount["target"]]} if mount else {}
        command = self.command(step.command, {**self.environment, **given}, mounts)
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
        assert told.returncode == 0, f"RUN {step.rest}\n{told.stdout}{told.stderr}"

    def command(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        mounts: Mapping[str, Path],
        *,
        user: str | None = None,
        read_only: bool = False,
    ) -> list[str]:
        """The command that runs a command in the container, with only this environment.

        `mounts` has the folders of this machine by their places. With `read_only`, only these places can be written.
        """
        pairs = [word for place, folder in mounts.items() for word in (str(folder), place)]
        # Without root rights, a user namespace has only one user.
        as_user = [f"--userspec={user}"] if user and os.geteuid() == 0 else []
        variables = [f"{name}={value}" for name, value in environment.items()]
        return [
            *(*_NAMESPACE, "sh", "-euc", _SCRIPT, "sh", str(self.folder), "ro" if read_only else "rw"),
            *(*map(str, self.base), "--", *pairs, "--"),
            *(_CHROOT, *as_user, str(self.folder), "env", "--ignore-environment", f"--chdir={self.workdir}"),
            *(*variables, *command),
        ]


def skip_without_namespaces() -> None:
    """Skip the test if this machine does not let us mount folders."""
    if subprocess.run([*_NAMESPACE, "mount", "--bind", "/usr", "/usr"], capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let this user mount folders in a namespace")


def _copy_one(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)


def give(path: Path, owner: str) -> None:
    """Change the owner of a folder and of all its files, if we are root. `owner` has the numbers of a user and of a group."""
    if os.geteuid() == 0:
        for one in (path, *path.rglob("*")):
            os.chown(one, *map(int, owner.split(":")), follow_symlinks=False)
