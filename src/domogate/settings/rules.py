"""Checks of single settings, with messages for operators. `loading.py` adds to each message where the value was set."""

import re
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any, get_args, get_origin
from urllib.parse import urlsplit

import msgspec

from domogate.common.urls import split_url
from domogate.domain.devices import DeviceKind
from domogate.domain.formats import NAME_LENGTH, is_name
from domogate.drivers import SETTINGS
from domogate.drivers.declaration import Setting
from domogate.identity.profiles import IssuerProfile
from domogate.identity.rates import parse_rate


class Wrong(ValueError):
    """The value of a setting, or an entry of a table, is wrong.

    The message says why; `loading.py` adds the name of the setting.
    """


_MAX_TERMS = 1 << 18

OPERATION_OR_FAMILY = re.compile(r"E(?:[1-9]|1[0-9]|20)|X[1-9]|[a-z][a-z0-9-]*")


def _allow(is_allowed: Callable[[str], object], message: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if not is_allowed(value):
            raise Wrong(message)
        return value

    return check


def one_of(*words: str) -> Callable[[str], str]:
    """Return a check that accepts only `words`, in upper or lower case. The check returns the word in lower case."""
    return lambda value: one_of_exactly(*words)(value.lower())


def one_of_exactly(*words: str) -> Callable[[str], str]:
    return _allow(words.__contains__, f"allowed are {', '.join(words)}")


def _is_absolute(value: str, schemes: tuple[str, ...], forbidden: str) -> bool:
    parts = split_url(value)
    if parts is None or parts.scheme not in schemes or not parts.hostname or parts.port == 0:
        return False
    return not re.search(rf"[\s\x00-\x1f\x7f{forbidden}]", value)


check_mailbox = _allow(
    re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+").fullmatch, "an e-mail address is allowed, such as gateway@example.com"
)
check_price = _allow(
    re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})? [A-Z]{3}").fullmatch,
    "an amount and a currency of three letters are allowed, such as 0.28 EUR",
)
check_operator_name = _allow(
    lambda value: bool(value.strip()) and is_name(value) and value.isprintable(),
    f"a name of 1 to {NAME_LENGTH} characters on one line is allowed, such as Hotel Aurora",
)
check_host = _allow(
    re.compile(r"[A-Za-z0-9._:%-]{1,255}").fullmatch, "an address or a host name is allowed, such as 127.0.0.1, ::1 or 0.0.0.0"
)
check_url = _allow(
    lambda value: _is_absolute(value, ("http", "https"), "#"), "an absolute http:// or https:// URL without fragment is allowed"
)
check_public_url = _allow(
    lambda value: _is_absolute(value, ("http", "https"), "#?@"),
    "an absolute http:// or https:// URL without user, query and fragment is allowed",
)
check_https_url = _allow(
    lambda value: _is_absolute(value, ("https",), "") and "@" not in urlsplit(value).netloc,
    "an absolute https:// URL without user is allowed",
)
check_database = _allow(
    re.compile(r"[a-z0-9]+(\+[a-z0-9]+)?://").match, "a database URL is allowed, such as postgresql+psycopg://user@host/name"
)

check_cluster_name = _allow(
    re.compile(r"[a-z0-9][a-z0-9-]{0,39}").fullmatch,
    "a name of 1 to 40 lower-case letters, digits and hyphens is allowed, such as hotels-north",
)


def check_nats_urls(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value or not all(_is_absolute(url, ("nats", "tls"), "#?") for url in value):
        raise Wrong("a list of nats:// or tls:// URLs is allowed, such as nats://10.0.0.5:4222,nats://10.0.0.6:4222")
    return value


def check_networks(value: tuple[str, ...]) -> tuple[str, ...]:
    for network in value:
        try:
            ip_network(network)
        except ValueError:
            raise Wrong(
                f"{network!r} is neither an IP address nor a network whose host bits are zero, such as 10.0.0.7 or 10.0.0.0/8"
            ) from None
    return value


def check_ages(value: dict[DeviceKind, float]) -> dict[DeviceKind, float]:
    for kind, age in value.items():
        if not 0 <= age < float("inf"):
            raise Wrong(f"{kind}: a number of seconds from 0 on is allowed")
    return value


def check_logo(value: Path) -> Path:
    from domogate.console.shell import read_logo  # Few gateways have a logo.

    read_logo(value)
    return value


def check_readable(value: Path) -> Path:
    try:
        with value.open("rb"):
            return value
    except OSError as error:
        raise Wrong(f"the file cannot be read: {error.strerror}") from None


def served_file(help: str, check: Callable[[Path], Path] = check_readable) -> Setting:
    """Declare a setting that names a file that only a running gateway reads."""
    return Setting("FILE", help, check, only_served=True)


def check_folder(value: Path) -> Path:
    if value.exists() and not value.is_dir():
        raise Wrong("a folder is allowed, and this is a file")
    return value


def check_terms(value: Path) -> Path:
    try:
        with check_readable(value).open("rb") as file:
            content = file.read(_MAX_TERMS + 1)
        usable = len(content) <= _MAX_TERMS and bool(content.decode().strip())
    except UnicodeDecodeError:
        usable = False
    if not usable:
        raise Wrong(f"a text file (UTF-8) that is not empty and has at most {_MAX_TERMS} bytes is allowed")
    return value


def _is_table(kind: Any) -> bool:
    arguments = get_args(kind)
    return get_origin(kind) is tuple and isinstance(arguments[0], type) and issubclass(arguments[0], msgspec.Struct)


TABLES: dict[object, str] = {tuple[IssuerProfile, ...]: "issuers"} | {
    one.type: one.field for one in SETTINGS.values() if _is_table(one.type)
}
"""Settings that are lists of tables in the TOML file. In flags and variables they are JSON."""

KIND_OF_VALUE: dict[object, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    Path: "a path",
    tuple[str, ...]: "a list of texts",
    **dict.fromkeys(TABLES, "a list of tables, in the TOML file,"),
    dict[DeviceKind, float]: "a table of numbers by device kind",
    dict[str, str]: "a table of dates by family or operation",
}


def check_rate(value: str) -> str:
    try:
        parse_rate(value)
    except ValueError as error:
        raise Wrong(str(error)) from None
    return value
