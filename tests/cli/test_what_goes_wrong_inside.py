"""Internal errors of a command go to standard error and contain no secret."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from support.command_line import CommandLine
from support.gateway import run_command
from support.restartable import clean_environment
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


def test_a_closed_pipe_is_not_reported(domogate: CommandLine) -> None:
    domogate.good("estate", "import", "-", input=SMALL_ESTATE)
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "domogate.cli", "user", "list", "--json", "--data", str(domogate.data)]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, env=clean_environment({}), timeout=100)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
