"""The content of a support bundle: what a developer needs to understand a problem, without secrets and personal data."""

import platform
import re
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from domogate import __version__
from domogate.app.doctor import Finding
from domogate.app.doctor.database import SECRETS_READABLE
from domogate.app.parts import DAY
from domogate.app.settings_in_force import list_settings
from domogate.app.tools import open_tools, read_shard_map
from domogate.edge.logs import redact_text
from domogate.settings import Settings

LONGEST_LOG = 20_000_000
"""In bytes. If a log is longer, only its end is taken."""
LONGEST_LINE = 4_000
ABOUT = """\
This support bundle was made by `domogate support-bundle`. Look at the files before you send them to somebody.

about.json     versions of Domogate, Python, the system and the packages
doctor.json    the results of `domogate doctor`
settings.json  the settings; secrets are left out
figures.json   how many plants, modules, orders and webhooks there are, without names (if the database can be read)
cluster.json   the gateways of the cluster (only in a cluster)
log.txt        the log file that was named with --log; secrets, e-mail and IP addresses are masked

It contains no passwords, keys, tokens, names of people or plants, states or readings. The settings contain host names.
"""
_EMAIL = re.compile(r"\S{1,64}@\S{1,255}")
_ADDRESS = re.compile(
    r"\b(?:\d{1,3}\.){3}\d{1,3}\b|(?<![\w:])(?:[0-9a-fA-F]{0,4}:){2,7}(?:[0-9a-fA-F]{1,4}|(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])"
)
"""IP addresses. The part for IPv6 also matches some other texts with colons, such as times with seconds."""


async def collect(settings: Settings, findings: list[Finding], log: Path | None) -> dict[str, str]:
    """Return the files of the bundle by their names. `findings` has the results of `domogate doctor`.

    If this command could not decrypt the secrets in the database, the bundle has no file about the content of the database.
    """
    files = {
        "README.txt": ABOUT,
        "about.json": _encode(_describe_installation()),
        "doctor.json": _encode([msgspec.structs.asdict(one) for one in findings]),
        "settings.json": _encode(list_settings(settings)),
    }
    if Finding("secret key", "ok", SECRETS_READABLE) in findings:  # Otherwise opening the store could change it.
        files |= await _read_database(settings)
    if log is not None:
        files["log.txt"] = redact_log(_read_end(log))
    return files


def redact_log(text: str) -> str:
    """Mask secrets, e-mail addresses and IP addresses. A line is cut after `LONGEST_LINE` characters."""
    return "\n".join(_redact_line(line[:LONGEST_LINE]) for line in text.split("\n"))


def _redact_line(line: str) -> str:
    return _ADDRESS.sub("[address]", _EMAIL.sub("[email]", redact_text(line)))


def _encode(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def _describe_installation() -> dict[str, Any]:
    packages = sorted((one.metadata["Name"], one.version) for one in metadata.distributions() if one.metadata["Name"])
    return {
        "domogate": __version__,
        "python": sys.version,
        "system": platform.platform(),
        "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "packages": dict(packages),
    }


async def _read_database(settings: Settings) -> dict[str, str]:
    files = {}
    async with open_tools(settings, create=False) as tools:
        files["figures.json"] = _encode(await tools.store.count_figures(tools.clock.now() - DAY))
    if (shards := await read_shard_map(settings)) is not None:
        files["cluster.json"] = _encode(shards)
    return files


def _read_end(log: Path) -> str:
    with log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - LONGEST_LOG))
        return file.read(LONGEST_LOG).decode("utf-8", "replace")
