"""The text that `domogate demo` prints when it is ready."""

import shutil
import sys
from ipaddress import ip_address
from pathlib import Path
from shlex import quote

from domogate.cli._demo_calls import find_calls
from domogate.cli._ready import Ready, credentials_file
from domogate.domain.estate import Estate
from domogate.domain.people import Standing
from domogate.settings import Settings


def greeting(settings: Settings, ready: Ready, estate: Estate) -> str:
    """Return the text that `domogate demo` prints: the addresses, the credentials, and curl commands to try the families."""
    minutes = settings.id_token_lifetime / 60
    return "\n".join(
        (
            "",
            "Domogate serves the demo estate. Its keys and passwords are public: do not put your own data in it.",
            *_warning(settings),
            *_pages(settings, ready),
            "",
            f"  base URL          {ready.base_url}",
            f"  auth URL          {ready.auth_url}",
            f"  subscription key  {ready.subscription_key}",
            f"  data              {settings.data}",
            "",
            *_users(ready, estate),
            "",
            "Calls to try, family by family. The file after @ contains the key and a token as headers.",
            f"The token is valid for {minutes:g} minutes. To get a new one:",
            f"  {_own_name()} token issue --user EMAIL --kind id --data {quote(str(settings.data))}",
            *_calls(ready, estate, settings.data.resolve()),
            "",
            "Press Ctrl-C to stop.",
        )
    )


def _own_name() -> str:
    """Return the command that starts this program.

    It is a path if the program is not on the PATH, for example in a virtual environment that is not activated.
    """
    beside = Path(sys.executable).with_name("domogate")
    if shutil.which("domogate") or not beside.exists():
        return "domogate"
    here = Path.cwd()
    return quote(str(beside.relative_to(here) if beside.is_relative_to(here) else beside))


def _warning(settings: Settings) -> list[str]:
    return (
        []
        if _is_loopback(settings.host)
        else [f"WARNING: {settings.host} is not loopback. Everybody who can reach it can log in."]
    )


def _pages(settings: Settings, ready: Ready) -> list[str]:
    if not settings.serves_pages:
        return []
    return [f"Open {ready.base_url}/ in a browser to log in with one click as a user of the demo estate."]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _users(ready: Ready, estate: Estate) -> list[str]:
    passwords = {user.email: user.password for user in ready.users}
    width = max((len(user.email) for user in estate.users), default=0)
    lines = ["Users and their passwords"]
    for user in estate.users:
        remark = "  (operator)" if user.operator else "" if user.standing is Standing.GOOD else f"  ({user.standing})"
        lines.append(f"  {user.email:{width}}  {passwords.get(user.email, '(not active yet)')}{remark}")
    return lines


def _calls(ready: Ready, estate: Estate, data: Path) -> list[str]:
    lines: list[str] = []
    for call in find_calls(estate):
        lines += ["", f"# {call.proposal.family}: {call.proposal.purpose} ({call.proposal.operation}), as {call.email}"]
        lines.append(call.to_curl(ready.base_url, credentials_file(data, call.email, call.proposal.token)))
    return lines
