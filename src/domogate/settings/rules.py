"""What each setting may be, in words an operator understands; `loading.py` says where the value came from."""

import re
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any, get_args, get_origin
from urllib.parse import urlsplit

import msgspec

from domogate.common.checks import between, positive
from domogate.domain.devices import DeviceKind
from domogate.drivers import SETTINGS
from domogate.identity.profiles import IssuerProfile


class Wrong(ValueError):
    """What is wrong with one value, or with one entry of a table."""


# May hold a password: never repeated in a message.
SECRET = frozenset(("database", "echo_url", "smtp_password", *(name for name, one in SETTINGS.items() if one.setting.secret)))
_LOG_LEVELS = ("debug", "info", "warning", "error", "critical")
_LOG_FORMATS = ("text", "json")
OPERATION_OR_FAMILY = re.compile(r"E(?:[1-9]|1[0-9]|20)|X[1-8]|[a-z][a-z0-9-]*")


def _one_of(*words: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value.lower() not in words:
            raise Wrong(f"allowed are {', '.join(words)}")
        return value.lower()

    return check


def _one_of_exactly(*words: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in words:
            raise Wrong(f"allowed are {', '.join(words)}")
        return value

    return check


def _mailbox(value: str) -> str:
    if not re.fullmatch(r"[^@\s<>,;]+@[^@\s<>,;]+", value):
        raise Wrong("an e-mail address is allowed, such as gateway@example.com")
    return value


def _host(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._:%-]{1,255}", value):
        raise Wrong("an address or a host name is allowed, such as 127.0.0.1, ::1 or 0.0.0.0")
    return value


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or re.search(r"[\s\x00-\x1f\x7f#]", value):
        raise Wrong("an absolute http:// or https:// URL without fragment is allowed")
    return value


def _public_url(value: str) -> str:
    if "?" in _url(value) or "@" in value:
        raise Wrong("an absolute http:// or https:// URL without user, query and fragment is allowed")
    return value


def _https_url(value: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc and parts.port != 0
    except ValueError:
        usable = False
    if not usable or re.search(r"[\s\x00-\x1f\x7f]", value):
        raise Wrong("an absolute https:// URL without user is allowed")
    return value


def _database(value: str) -> str:
    if not re.match(r"[a-z0-9]+(\+[a-z0-9]+)?://", value):
        raise Wrong("a database URL is allowed, such as postgresql+psycopg://user@host/name")
    return value


def _networks(value: tuple[str, ...]) -> tuple[str, ...]:
    for network in value:
        try:
            ip_network(network)
        except ValueError:
            raise Wrong(
                f"{network!r} is no IP address and no network with a zero host part, such as 10.0.0.7 or 10.0.0.0/8"
            ) from None
    return value


def _ages(value: dict[DeviceKind, float]) -> dict[DeviceKind, float]:
    for kind, age in value.items():
        if not 0 <= age < float("inf"):
            raise Wrong(f"{kind}: a number of seconds from 0 on is allowed")
    return value


def _readable_file(value: Path) -> Path:
    try:
        with value.open("rb"):
            return value
    except OSError as error:
        raise Wrong(f"the file cannot be read: {error.strerror}") from None


RULES: dict[str, Callable[[Any], Any]] = {
    "database": _database,
    "host": _host,
    "port": between(0, 65_535),
    "public_url": _public_url,
    "tls_certificate": _readable_file,
    "tls_key": _readable_file,
    "trusted_proxies": _networks,
    "metrics_host": _host,
    "metrics_port": between(0, 65_535),
    "max_body": between(1, 1 << 30),
    "max_header": between(1024, 1 << 20),
    "header_deadline": positive,
    "body_deadline": positive,
    "keep_alive": positive,
    "drain": between(0, 3600),
    "device_deadline": positive,
    "state_max_age": between(0, 1e9),
    "state_max_ages": _ages,
    "simulator_awake_plants": between(0, 1_000_000),
    "access_token_lifetime": positive,
    "id_token_lifetime": positive,
    "ticket_lifetime": between(1, 120),  # a door station offline must remember a used one for so long (Decision 0048)
    "code_lifetime": between(1, 600),
    "refresh_token_lifetime": positive,
    "refresh_grace": between(0, 300),
    "session_lifetime": positive,
    "session_idle_lifetime": positive,
    "link_lifetime": positive,
    "signing_algorithm": _one_of_exactly("ES256", "RS256"),
    "smtp_host": _host,
    "smtp_port": between(1, 65_535),
    "smtp_security": _one_of("starttls", "tls", "none"),
    "smtp_sender": _mailbox,
    "terms_url": _https_url,
    "echo_url": _url,
    "echo_deadline": positive,
    "world_modules": between(1, 1 << 40),
    "streams_most": between(0, 1_000_000),
    "webhook_networks": _networks,
    "webhook_deadline": between(0.1, 120),
    "webhook_given_up_days": positive,
    "dead_letters_kept_days": positive,
    "changes_kept_days": positive,
    "readings_raw_days": positive,
    "readings_kept_days": positive,
    "readings_most": between(1_000, 1 << 40),
    "orders_kept_days": positive,
    "removed_plants_kept_days": positive,
    "audit_kept_days": positive,
    "log_level": _one_of(*_LOG_LEVELS),
    "log_format": _one_of(*_LOG_FORMATS),
    **{name: one.setting.check for name, one in SETTINGS.items() if one.setting.check is not None},
}


def _is_table(kind: Any) -> bool:
    arguments = get_args(kind)
    return get_origin(kind) is tuple and isinstance(arguments[0], type) and issubclass(arguments[0], msgspec.Struct)


TABLES: dict[object, str] = {tuple[IssuerProfile, ...]: "issuers"} | {
    one.type: one.field for one in SETTINGS.values() if _is_table(one.type)
}
"""Settings that are lists of tables in the TOML file, and JSON elsewhere."""

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
