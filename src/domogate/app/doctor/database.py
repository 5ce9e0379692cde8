"""Checks of the database: its file or server, its revision (the version of its tables), the secret key, and the clocks.

The clock of a PostgreSQL server is compared with the clock of this machine. The clock that gateways use (SQLite: the
clock of this machine; PostgreSQL: the clock of the server) is compared with the time that a gateway last stored.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator

from sqlalchemy.exc import DBAPIError

from domogate.app.doctor.findings import Finding, in_another_folder, ok, problem, warning
from domogate.app.parts import find_database_file, sqlite_file
from domogate.app.tools import Tools, open_tools
from domogate.drivers.mqtt import DRIVER as MQTT
from domogate.drivers.mqtt import MqttBroker
from domogate.ports import SealBroken, SecretKeyMissing, StoreUnavailable
from domogate.services.clock_check import TOLERANCE, describe
from domogate.settings import Settings
from domogate.stores import DatabaseInUse, DatabaseTooNew, DatabaseUnusable, UsedDatabases, inspect_header, sqlite_url
from domogate.stores.examination import Examination, examine_database
from domogate.stores.inspection import inspect_file

SECONDS = 10.0
"""In seconds: the time limit for the check of the content of a SQLite file, and for all queries of `examine_database`."""
SLOW = 0.02
"""In seconds. If a database server needs more time for an answer, there is a warning. A command to a module waits for several
answers of the server.
"""
CLOCK_APART = 2.0
"""In seconds. If the clock of a PostgreSQL server and the clock of this machine differ by more, there is a warning: gateways on
PostgreSQL use the clock of the server, but logs and certificates use the clock of the machine.
"""

_FAILURES = (
    DatabaseUnusable,
    DatabaseInUse,
    DatabaseTooNew,
    StoreUnavailable,
    DBAPIError,
    sqlite3.Error,
    OSError,
    ValueError,
)
"""The exceptions that are raised if a database cannot be opened or read."""

SECRETS_READABLE = "the secrets in the database can be decrypted."


class DatabaseChecks:
    """Checks the database. After the checks, `brokers` has the MQTT brokers that are stored in the database.

    `gateways` has the ids of the gateways that run on this database. It is None if these ids are not known.
    """

    def __init__(self, settings: Settings, *, gateway_at: str | None) -> None:
        self._settings = settings
        self._gateway_at = gateway_at
        self.brokers: list[MqttBroker] = []
        self.gateways: frozenset[str] | None = None

    async def run(self) -> AsyncIterator[Finding]:
        examined = None
        try:
            if await asyncio.to_thread(self._is_missing):
                self.gateways = frozenset()
                yield self._report_missing()
                return
            url = self._settings.database or sqlite_url(sqlite_file(self._settings))
            examined = await asyncio.to_thread(examine_database, url, UsedDatabases(self._settings.data), SECONDS)
        except _FAILURES as error:
            yield self._report_failure(error)
        if examined is None:
            return
        self.gateways = examined.gateways
        yield _judge(examined)
        if examined.clock is not None:
            yield _judge_clock(examined.clock)
        if examined.is_current:  # Opening an older database would migrate it.
            async for finding in self._check_content():
                yield finding

    def _report_failure(self, error: Exception) -> Finding:
        if isinstance(error, DatabaseUnusable | DatabaseInUse | DatabaseTooNew):
            says, _, advice = str(error).partition("\n")
            return problem("database", says, advice)
        reason = str(error.orig if isinstance(error, DBAPIError) else error).strip().partition("\n")[0]
        advice = "Check the file, its disk, and whether another program uses the file."
        if self._settings.database is not None:
            advice = "Check the setting database, the server and its log."
        return problem("database", f"it cannot be used: {reason}.", advice)

    def _report_missing(self) -> Finding:
        where = f"in {self._settings.data.absolute()}"
        if self._gateway_at is not None:
            return in_another_folder("database", f"there is no database {where}", self._gateway_at)
        return warning("database", f"there is no database {where} yet.", "`domogate serve` creates it.")

    def _is_missing(self) -> bool:
        """Return True if the SQLite file does not exist yet. Return False if it exists, or if the database is on a server.

        Raises DatabaseUnusable if the file is damaged, or if it existed before and is lost.
        """
        file = find_database_file(self._settings)
        if file is None:
            return False
        used = UsedDatabases(self._settings.data)
        if not inspect_header(file, used):
            return True
        inspect_file(file, used, seconds=SECONDS)
        return False

    async def _check_content(self) -> AsyncIterator[Finding]:
        try:
            async with open_tools(self._settings, create=False) as tools:
                self.brokers = [
                    MqttBroker(url=one.url, username=one.username, password=one.password)
                    for one in await tools.store.list_connections()
                    if one.driver == MQTT.name
                ]
                yield ok("secret key", SECRETS_READABLE)
                yield await _check_time(tools)
        except SecretKeyMissing as error:
            advice = "Put the key back into its place: docs/operations/data.md, section The secret key."
            yield problem("secret key", str(error).replace("\n", " "), advice)
        except SealBroken as error:
            yield problem("secret key", f"{error}.", "Set this secret again, or restore a backup.")
        except _FAILURES as error:
            yield self._report_failure(error)


def _judge(examined: Examination) -> Finding:
    says = f"{examined.product} answers after {examined.round_trip * 1_000:.1f} ms."
    if examined.revision is None:
        return ok("database", f"{says} It is empty: `domogate serve` creates the tables.")
    if examined.is_newer:
        return problem(
            "database",
            f"its revision is {examined.revision}: a newer version of Domogate has used it.",
            "Install this newer version, or restore a backup that this version made.",
        )
    if not examined.is_current:
        advice = "Make a backup. Then start the gateway: it migrates the tables."
        return warning("database", f"{says} Its revision is {examined.revision}, of an older version.", advice)
    is_server = examined.clock is not None
    if is_server and examined.round_trip > SLOW:
        return warning("database", says, "Move the gateway closer to the database server. Every command waits for the server.")
    return ok("database", says)


def _judge_clock(ahead: float) -> Finding:
    if abs(ahead) <= CLOCK_APART:
        return ok("clock of the database", f"it differs by {abs(ahead):.1f} s from the clock of this machine.")
    return warning(
        "clock of the database",
        f"it is {abs(ahead):.1f} s {'ahead of' if ahead > 0 else 'behind'} the clock of this machine.",
        "Synchronise both machines with a time server (NTP).",
    )


async def _check_time(tools: Tools) -> Finding:
    now, last = tools.clock.now(), await tools.store.find_last_time()
    if last is None or abs(now - last) <= TOLERANCE:
        return ok("clock", "it agrees with the time that a gateway last saw.")
    says, _, advice = describe(now, last).partition(" Correct")
    return problem("clock", f"{says} Nothing is pruned.", f"Correct{advice}.")
