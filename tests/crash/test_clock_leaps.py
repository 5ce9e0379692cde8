"""The clock of the machine leaps while the gateway runs, and between two starts: nothing crashes and nothing is deleted."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from domogate.stores.backup_folder import list_backup_files
from support.fault_rounds import ShiftedGateway
from support.gateway import Gateway, import_estate
from support.kill_rounds import check_database, read_only
from support.plug_estate import KEY, OWNER, plug_estate
from support.shifted_gateway import CHECKS, write_shift
from support.spec_operations import E6
from support.store_access import add_credentials, issue_key

pytestmark = pytest.mark.slow

HOUR, DAY = 3600.0, 86_400.0
PATIENCE = 120.0
MOST_LOG = 100_000
"""Bytes. A loop that does not wait would write more."""


def wait_until(holds: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def ask(served: Gateway) -> int:
    return served.send(E6, who=OWNER).status_code


def warns(served: Gateway) -> bool:
    """Whether /readyz warns of the clock."""
    answer = httpx.get(f"{served.base_url}/readyz", timeout=60)
    assert answer.status_code == 200, answer.text
    return "clock" in answer.json().get("warnings", ())


def count_rows(database: Path) -> dict[str, int]:
    with closing(read_only(database)) as connection:
        return {
            table: count(connection, table) for table in ("grants", "users", "subscriptions", "recent_readings", "signing_keys")
        }


def count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def wait_for_leaps(served: Gateway, number: int) -> None:
    wait_until(lambda: served.log.count("the clock of this machine was set") == number, "the leap is not in the log once")


class TestLeaps:
    def test_of_hours_and_of_years_in_both_directions(self, tmp_path: Path) -> None:
        settings = {"DOMOGATE_BACKUP_EVERY": str(DAY), "DOMOGATE_BACKUP_KEEP": "50", "DOMOGATE_SIMULATOR_TICK": "3600"}
        gateway = ShiftedGateway(tmp_path, {**settings, CHECKS: "0.2"})
        write_shift(gateway.shift_file, 0.0)
        import_estate(plug_estate(), tmp_path, gateway.data, gateway.environment)
        served = gateway.start()
        try:
            gateway.known = {name: add_credentials(served, KEY).ready[name] for name in ("subscription_key", "users")}
            limited = issue_key(served, rate="2/day")
            statuses = [served.send(E6, who=OWNER, key=limited).status_code for _ in range(3)]
            assert statuses == [200, 200, 429]
            before = count_rows(gateway.database)
            # A token is valid until its end by the clock. A verified token stays valid if the clock is set back.
            for leaps, (shift, status) in enumerate(((2 * HOUR, 401), (0.0, 200), (-2 * HOUR, 200), (0.0, 200)), start=1):
                write_shift(gateway.shift_file, shift)
                assert ask(served) == status
                wait_for_leaps(served, leaps)
            # A clock that was set back does not block a key for longer than its period.
            assert served.send(E6, who=OWNER, key=limited).status_code in (200, 429)
            for days in (400, -400):
                write_shift(gateway.shift_file, days * DAY)
                wait_until(lambda: warns(served), "no warning")
                assert ask(served) == (401 if days > 0 else 200)
                write_shift(gateway.shift_file, 0.0)
                wait_until(lambda: not warns(served), "the warning stays")
                assert ask(served) == 200
            assert "400 days ahead of" in served.log
        finally:
            served.stop()
        for days in (400, -400, 0):
            write_shift(gateway.shift_file, days * DAY)
            served = gateway.start()
            try:
                assert warns(served) is (days != 0)
                assert ask(served) == (200 if days == 0 else 401)
            finally:
                served.stop()
        check_database(gateway.database)
        assert count_rows(gateway.database) == before
        assert len(list_backup_files(gateway.data / "backups")) <= 8
        assert "Traceback" not in served.log
        assert len(served.log) < MOST_LOG
