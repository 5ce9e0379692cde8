"""`domogate service install` and `uninstall`: the files with which systemd runs the gateway (Decision 0125)."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import click

from domogate.cli._command import Mistake, WrongUsage, group, plain_command, reporting_errors
from domogate.cli._files import ForceFiles, check_free, write_file
from domogate.cli._options import flag, option
from domogate.cli._output import note
from domogate.cli._units import LINKS, LISTEN, PLACES, SETTINGS, fill_units
from domogate.settings.declared import SECRETS, name_credential

commands = group("service")

_HIDDEN = [Path("/", name) for name in ("home", "root", "run/user", "tmp", "var/tmp")]
"""The unit of systemd that `install` writes hides these folders from the gateway. So the gateway's program cannot be in them.
"""
_NEXT = """Next, as root:
  systemd-sysusers
  systemd-tmpfiles --create
  systemctl daemon-reload
  systemctl enable --now domogate.socket domogate.service
Run `domogate` commands with the user, the settings and the credentials of the service. For the first operator:
  systemd-run --quiet --pty --wait --collect -p User=domogate{credentials} {program} init {settings}"""

_AFTER = """Next, as root:
  systemctl stop domogate.socket domogate.service
  systemctl daemon-reload
These stay: the data in /var/lib/domogate, the settings and credentials in /etc/domogate, and the user domogate.
The command `domogate service install` makes the service again."""
_Root = Annotated[Path, option("DIR", "Folder below which the files are.")]


@plain_command(commands, "install")
def install(
    listen: Annotated[
        list[str] | None,
        option(
            "ADDRESS:PORT",
            "Address and port that systemd opens for the gateway. Default: 127.0.0.1:8080. The option can be repeated.",
        ),
    ] = None,
    credential: Annotated[
        list[str] | None,
        option(
            "SETTING",
            "A secret setting whose value systemd reads from /etc/domogate/credentials, such as secret-key or database. "
            "The option can be repeated.",
        ),
    ] = None,
    program: Annotated[
        Path | None, option("FILE", "The command domogate that systemd starts. Default: the command of this installation.")
    ] = None,
    root: Annotated[Path, option("DIR", "Folder below which the files are written.")] = Path("/"),
    dry_run: Annotated[bool, flag("--dry-run", "Print the files, and write nothing.")] = False,
    force: ForceFiles = False,
) -> None:
    """Write the files with which systemd runs the gateway: a service, a socket, a user and folders.

    The service has few rights; `systemd-analyze security domogate` shows them. systemd opens the port and keeps it open during
    a restart, so no request is refused in this time. The settings of the gateway are in /etc/domogate/domogate.toml.
    """
    with reporting_errors():
        started = (program or Path(sys.executable).with_name("domogate")).absolute()
        loaded = [_load(name) for name in dict.fromkeys(credential or ())]
        hidden = describe_hidden(started)
        if hidden is not None and not dry_run:
            raise Mistake(hidden)
        texts = write_units(started, listen or LISTEN, loaded)
        if hidden is None and (python := describe_hidden_python(started)) is not None:
            note(f"Warning: {python}")
        options = "".join(f" -p LoadCredential={one}" for one in loaded)
        after = _NEXT.format(program=started, credentials=options, settings=SETTINGS)
        if dry_run:
            for place, text in texts.items():
                click.echo(f"# /{place}\n{text}")
            if hidden is not None:
                note(f"Warning: {hidden}")
            note(after)
            return
        for place in texts:
            check_free(root / place, force)
        for place, text in texts.items():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            write_file(root / place, text)
            (root / place).chmod(0o644)
            click.echo(root / place)
        note(after)


@plain_command(commands, "uninstall")
def uninstall(
    root: _Root = Path("/"),
    dry_run: Annotated[bool, flag("--dry-run", "Print the names of the files, and remove nothing.")] = False,
) -> None:
    """Remove the files that `domogate service install` wrote, so that systemd no longer starts the gateway.

    The data, the settings, the credentials and the user of the service stay. The gateway runs until you stop it; the command
    prints how to do this.
    """
    with reporting_errors():
        found = [root / place for place in (*LINKS, *PLACES.values()) if _exists(root / place)]
        if not found:
            raise Mistake(f"there are no files of the service below {root.absolute()}.")
        for path in found:
            if not dry_run:
                path.unlink()
            click.echo(path)
        if not dry_run:
            note(_AFTER)


def _exists(path: Path) -> bool:
    """Whether the path is a file or a link, also if the target of the link is missing."""
    return path.is_symlink() or path.is_file()


def _load(name: str) -> str:
    """Return the value of LoadCredential= for a secret setting. Raises WrongUsage if there is no such setting."""
    known = sorted(secret.replace("_", "-") for secret in SECRETS.values())
    if name not in known:
        raise WrongUsage(f"--credential: {name!r} is not a secret setting; use {', '.join(known)}.")
    return f"{name_credential(name)}:/etc/domogate/credentials/{name}"


def describe_hidden(program: Path) -> str | None:
    """Return why the service could not start this program, and what to do.

    systemd hides the folders in `_HIDDEN` from the service. Return None if the program is not in one of them.
    """
    if not any(program.is_relative_to(folder) for folder in _HIDDEN):
        return None
    return (
        f"systemd hides {program} from services, because the unit asks for this. Install the package in another place:\n"
        "  /usr/bin/python3 -m venv /opt/domogate\n"
        "  /opt/domogate/bin/pip install domogate\n"
        "  /opt/domogate/bin/domogate service install\n"
        "If it is already there, name its command: --program /opt/domogate/bin/domogate"
    )


def describe_hidden_python(program: Path) -> str | None:
    """Return why the service could not start the Python of this program, and what to do.

    systemd hides the folders in `_HIDDEN` from the service. Return None if this Python is not in one of them.
    """
    python = program.with_name("python3").resolve()
    if not any(python.is_relative_to(folder) for folder in _HIDDEN):
        return None
    return (
        f"{program} uses the Python {python}, which systemd hides from services. Make the environment with the Python of the\n"
        f"system: /usr/bin/python3 -m venv --clear {program.parent.parent}"
    )


def write_units(program: Path, listen: Sequence[str], credentials: Sequence[str]) -> dict[str, str]:
    """Return the texts of the files that `install` writes, by their paths without the first `/`.

    Raises WrongUsage if a text in `listen` is not an address with a port. Raises Mistake if systemd could not start `program`
    because of special characters in its path.
    """
    for one in listen:
        if not re.fullmatch(r"(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\]):\d{1,5}", one):
            raise WrongUsage(f"--listen: write an IP address and a port, such as 127.0.0.1:8080 or [::]:8443, not {one!r}.")
    if re.search(r"[\s%$\"'\\;]", str(program)):
        raise Mistake(
            f"the path {program} has characters with a special meaning for systemd; install the package in another place."
        )
    return fill_units(program, listen, credentials)
