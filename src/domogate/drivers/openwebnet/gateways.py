"""The settings of an OpenWebNet gateway, which connects a MyHome bus to the network (docs/openwebnet.md)."""

import re
from pathlib import Path

import msgspec

from domogate.common.urls import is_host

_PASSWORD = re.compile(r"[0-9A-Za-z]{1,30}")
_NAME = re.compile(r"[\w.-]{1,50}")


class OpenWebNetGateway(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of an OpenWebNet gateway, such as F454, F455, MH202 or MyHOMEServer1.

    The constructor raises ValueError if a value is wrong or contradicts another value.
    """

    name: str
    """The name by which modules refer to the OpenWebNet gateway, in their option `gateway`."""
    host: str
    port: int = 20_000
    password: str | None = None
    """The password for OpenWebNet. None if the OpenWebNet gateway accepts this machine without a password."""
    password_file: str | None = None
    """A file that contains only the password. It is read again for each connection."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is not a name for a gateway: letters, digits, . _ and - are expected")
        if not is_host(self.host):
            raise ValueError(f"the host {self.host!r} of gateway {self.name!r} is neither a name nor an address")
        if not 1 <= self.port <= 65_535:
            raise ValueError(f"the port {self.port} of gateway {self.name!r} is not within 1 to 65535")
        if self.password is not None and self.password_file is not None:
            raise ValueError(f"gateway {self.name!r} has both password and password_file: give one of them")
        if self.password is not None:
            _check_password(self.password, f"the password of gateway {self.name!r}")

    def __repr__(self) -> str:
        return f"OpenWebNetGateway(name={self.name!r}, address={self.address!r})"  # without the password

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def read_password(self) -> str | None:
        """Return the password, or None if neither `password` nor `password_file` is set.

        Raises ValueError if the password file cannot be read, or if its content is not a valid password.
        """
        if self.password_file is None:
            return self.password
        try:
            password = Path(self.password_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"the password file of gateway {self.name!r} cannot be read: {error}") from error
        _check_password(password, f"the content of the password file of gateway {self.name!r}")
        return password


def _check_password(password: str, what: str) -> None:
    if not _PASSWORD.fullmatch(password):
        raise ValueError(f"{what} is not valid: up to 30 letters and digits are expected")
