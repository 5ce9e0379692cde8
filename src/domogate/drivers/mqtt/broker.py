"""The settings of a broker (docs/mqtt.md)."""

import re
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import msgspec

from domogate.common.urls import is_host, split_url

_PORTS = {"mqtt": 1883, "mqtts": 8883}
_LONGEST_ID = 128
_USER = re.compile("//.*@")
"""Matches the user and the password in a URL. Messages do not show them."""


class MqttBroker(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A broker, and how the gateway logs in to it.

    The constructor raises ValueError if a value is wrong or contradicts another value.
    """

    url: str
    """mqtt://host:1883, or mqtts://host:8883 for TLS."""
    name: str = "main"
    """The name by which modules refer to the broker, in their option `broker`."""
    username: str | None = None
    password: str | None = None
    password_file: str | None = None
    """A file with the password in its first line. The file is read again for each connection."""
    ca_file: str | None = None
    """File with the trusted certificate authorities. None means the authorities of this machine."""
    client_certificate: str | None = None
    client_key: str | None = None
    client_id: str | None = None
    """The id of the gateway at the broker. None means that the gateway makes a new id at each start.

    If two clients use the same id, the broker disconnects one of them. So each gateway of a cluster adds a random ending to the
    id.
    """
    keepalive: int = 30
    """In seconds. If the broker sends no packet for 1.5 times this period, the gateway closes the connection."""

    def __post_init__(self) -> None:
        if problem := _find_problem_of_url(self.url):
            shown = _USER.sub("//…@", self.url)
            raise ValueError(f"the broker's url {shown!r} cannot be used: {problem}")
        if not self.name or not self.name.isprintable():
            raise ValueError("a broker needs a name of printable characters, for the option broker of modules")
        if self.password is not None and self.password_file is not None:
            raise ValueError(f"broker {self.name!r}: give password or password_file, not both")
        if self.username is None and (self.password is not None or self.password_file is not None):
            raise ValueError(f"broker {self.name!r}: a password needs a username")
        if (self.client_certificate is None) != (self.client_key is None):
            raise ValueError(f"broker {self.name!r}: client_certificate and client_key must be given together")
        if not self.tls and (self.ca_file is not None or self.client_certificate is not None):
            raise ValueError(f"broker {self.name!r}: certificates are for mqtts://, and its url is mqtt://")
        if not 5 <= self.keepalive <= 3600:
            raise ValueError(f"broker {self.name!r}: keepalive is 5 to 3600 seconds")
        if self.client_id is not None and not 1 <= len(self.client_id) <= _LONGEST_ID:
            raise ValueError(f"broker {self.name!r}: client_id has 1 to {_LONGEST_ID} characters")

    def __repr__(self) -> str:
        return f"MqttBroker({self.name!r}, {self.url!r})"  # without the password

    def with_unique_id(self) -> "MqttBroker":
        """Return a copy whose client id has a random ending. If the settings have no client id, return the broker itself.

        The gateways of a cluster have the same settings. But two clients of a broker must not have the same id.
        """
        if self.client_id is None:
            return self
        return msgspec.structs.replace(self, client_id=f"{self.client_id[: _LONGEST_ID - 9]}-{uuid4().hex[:8]}")

    @property
    def tls(self) -> bool:
        return urlsplit(self.url).scheme == "mqtts"

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        parts = urlsplit(self.url)
        return parts.port or _PORTS[parts.scheme]

    def read_password(self) -> str | None:
        """Return the password, or None if neither `password` nor `password_file` is set.

        Raises OSError or UnicodeError if the password file cannot be read.
        """
        if self.password_file is None:
            return self.password
        lines = Path(self.password_file).read_text("utf-8").splitlines()
        return lines[0] if lines else ""


def _find_problem_of_url(url: str) -> str | None:
    parts = split_url(url)
    if parts is None:
        return "it is not a URL"
    if parts.scheme not in _PORTS:
        return "it begins with mqtt:// or, for TLS, with mqtts://"
    if not is_host(parts.hostname or "") or parts.port == 0 or not url.isprintable() or " " in url:
        return "a host is expected, and a port if it is not the default"
    if parts.username is not None:
        return "give the user in username and password, not in the url"
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        return "nothing is expected after the host and port"
    return None
