"""The clock and the store, built from the settings. Most commands need them, so this module imports little."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from domogate.domain.people import Subscription
from domogate.identity.secret_keys import SecretKeys
from domogate.identity.subscriptions import new_key
from domogate.identity.subscriptions import new_subscription as _new_subscription
from domogate.ports import Clock, Sealer, UnnamedDrivers
from domogate.settings import Settings

if TYPE_CHECKING:
    from domogate.stores import SqlStore
    from domogate.stores.subject import SqlSubject

S = TypeVar("S", bound="SqlSubject")

DAY = 86_400.0
_SHARE_OF_STORE, _SHORTEST_STORE_DEADLINE = 0.8, 2.0
"""In a gateway, the deadline of the database is `_SHARE_OF_STORE` of the device deadline, but at least
`_SHORTEST_STORE_DEADLINE` seconds.
"""
_COMMAND_DEADLINE = 60.0


class SystemClock:
    """Gives the time of this machine. Implements Clock."""

    now = staticmethod(time.time)


class UnnamedDriversError(Exception):
    """The gateway does not start, because an earlier version stored modules without a driver.

    If the gateway started, the simulator would drive these modules, perhaps by mistake.
    """

    def __init__(self, unnamed: UnnamedDrivers) -> None:
        super().__init__(f"{unnamed.count} modules have no named driver")
        self.unnamed = unnamed


def sqlite_file(settings: Settings) -> Path:
    """Return the file of the database in the data folder. This file is used if the setting `database` is not given."""
    return settings.data / "domogate.sqlite3"


def find_database_file(settings: Settings) -> Path | None:
    """Return the file of the SQLite database, or None if the database is on a server."""
    if settings.database is None:
        return sqlite_file(settings)
    from domogate.stores import find_sqlite_file  # imports SQLAlchemy, which `domogate key list` does not need

    return find_sqlite_file(settings.database)


def open_store(settings: Settings, clock: Clock, *, gateway: bool, create: bool = True, temporary: bool = False) -> "SqlStore":
    from domogate.stores import SqlStore  # A command that needs only a part of the store does not need this import.

    return open_part(SqlStore, settings, clock, gateway=gateway, create=create, temporary=temporary)


def open_part(part: type[S], settings: Settings, clock: Clock, *, gateway: bool, create: bool = True, **options: bool) -> S:
    """Return an object of the class `part` for the database in the settings. The class stores one subject or all subjects.

    `options` are further arguments for the class.
    """
    from domogate.stores import sqlite_url  # imports SQLAlchemy, which `domogate key list` does not need

    if create:
        # Only the owner may read the folder, because it contains the secret key and personal data.
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    url = settings.database or sqlite_url(sqlite_file(settings))
    deadline = max(_SHORTEST_STORE_DEADLINE, _SHARE_OF_STORE * settings.device_deadline) if gateway else _COMMAND_DEADLINE
    sealer = build_sealer(settings)
    folder = settings.data if settings.data.is_dir() else None
    return part(url, clock=clock, gateway=gateway, sealer=sealer, folder=folder, deadline=deadline, **options)


def build_sealer(settings: Settings) -> Sealer:
    return SecretKeys(settings.data, given=settings.secret_key, file=settings.secret_key_file)


def new_subscription(
    name: str, rate: str | None, daily_quota: int | None, expires_at: float | None, now: float
) -> tuple[str, Subscription]:
    """Return a new key, which is shown only once, and the subscription with the hash of the key.

    Raises ValueError if the rate or the quota is not valid.
    """
    key = new_key()
    return key, _new_subscription(name, key, now, rate=rate, daily_quota=daily_quota, expires_at=expires_at)
