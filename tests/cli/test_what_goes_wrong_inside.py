"""What is logged while a command runs: on standard error, so that scripts read results only, and without anything secret."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from support.command_line import CommandLine
from support.gateway import run_command
from support.restarting import clean_environment
from support.small_estate import SMALL_ESTATE


def test_a_store_that_fails_leaves_the_result_alone_and_shows_no_secret(domogate: CommandLine, tmp_path: Path) -> None:
    domogate.good("estate", "import", "-", input=SMALL_ESTATE)
    with closing(sqlite3.connect(domogate.data / "domogate.sqlite3")) as database:
        database.execute("DROP TABLE audit")
    done = run_command(["key", "issue", "script", "--json", "--data", str(domogate.data)], clean_environment({}))
    key = json.loads(done.stdout)["key"]
    assert "audit entries" in done.stderr
    assert "no such table" in done.stderr
    assert key not in done.stderr
