"""`domogate serve` does not start with modules whose driver nobody has named."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.gateway import running, start
from support.small_estate import SMALL_ESTATE

pytestmark = pytest.mark.slow


def forget_named_drivers(data: Path) -> None:
    """As a store is after the upgrade from a version in which the simulator was the default."""
    with closing(sqlite3.connect(data / "domogate.sqlite3")) as connection, connection:
        connection.execute("UPDATE modules SET driver_named = 0 WHERE driver = 'simulator'")


def test_an_upgraded_store_is_refused_until_its_drivers_are_named(domogate: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL_ESTATE)
    domogate.good("estate", "import", str(tmp_path / "small.yaml"))
    forget_named_drivers(domogate.data)
    said = domogate.refused("serve", "--port", "0")
    assert "needs a driver" in said
    assert "driver: simulator" in said
    assert f"domogate estate import estate.yaml --data {domogate.data}" in said
    # What the message says to do helps.
    domogate.run("estate", "export", str(tmp_path / "named.yaml"))
    assert "driver: simulator" in (tmp_path / "named.yaml").read_text()
    domogate.good("estate", "import", str(tmp_path / "named.yaml"))
    with running(start("serve", tmp_path)) as gateway:
        assert gateway.process.poll() is None
