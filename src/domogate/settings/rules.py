"""Checks of single settings, with messages for operators. `loading.py` adds the source of the value."""

import re
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any, get_args, get_origin
from urllib.parse import urlsplit

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.drivers import SETTINGS
from domogate.identity.profiles import IssuerProfile


class Wrong(ValueError):
    """The message says what is wrong with a value, or with an entry of a table."""


OPERATION_OR_FAMILY = re.compile(r"E(?:[1-9]|1[0-9]|20)|X[1-8]|[a-z][a-z0-9-]*")


def one_of(*words: str) -> Callable[[str], str]:
    """The value must be one of these words. Upper and lower case are the same."""
    return lambda value: one_of_exactly(*words)(value.lower())


def one_of_exactly(*words: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in words:
            raise Wrong(f"allowed are {', '.join(words)}")
        return value

    return check


def check_mailbox(value: str) -> str:
    if not re.fullmatch(r"[^@\s<>,;]+@[^@\s<>,;]+", value):
        raise Wrong("an e-mail address is allowed, such as gateway@example.com")
    return value


def check_host(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._:%-]{1,255}", value):
        raise Wrong("an address or a host name is allowed, such as 127.0.0.1, ::1 or 0.0.0.0")
    return value


def _is_absolute(value: str, schemes: tuple[str, ...], forbidden: str) -> bool:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return usable and not re.search(rf"[\s\x00-\x1f\x7f{forbidden}]", value)


def check_url(value: str) -> str:
    if not _is_absolute(value, ("http", "https"), "#"):
        raise Wrong("an absolute http:// or https:// URL without fragment is allowed")
    return value


def check_public_url(value: str) -> str:
    if not _is_absolute(value, ("http", "https"), "#?@"):
        raise Wrong("an absolute http:// or https:// URL without user, query and fragment is allowed")
    return value


def check_https_url(value: str) -> str:
    if not _is_absolute(value, ("https",), "") or "@" in urlsplit(value).netloc:
        raise Wrong("an absolute https:// URL without user is allowed")
    return value


def check_database(value: str) -> str:
    if not re.match(r"[a-z0-9]+(\+[a-z0-9]+)?://", value):
        raise Wrong("a database URL is allowed, such as postgresql+psycopg://user@host/name")
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


def check_readable(value: Path) -> Path:
    try:
        with value.open("rb"):
            return value
    except OSError as error:
        raise Wrong(f"the file cannot be read: {error.strerror}") from None


def _is_table(kind: Any) -> bool:
    arguments = get_args(kind)
    return get_origin(kind) is tuple and isinstance(arguments[0], type) and issubclass(arguments[0], msgspec.Struct)


TABLES: dict[object, str] = {tuple[IssuerProfile, ...]: "issuers"} | {
    one.type: one.field for one in SETTINGS.values() if _is_table(one.type)
}
"""Settings that are lists of tables in the TOML file. In other places they are JSON."""

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
