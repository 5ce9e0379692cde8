"""`domogate serve` in an empty folder, at a terminal."""

import re
from pathlib import Path

import httpx
import pytest

from support.auth_setup import heading_of
from support.http import PATIENCE
from support.terminal import Terminal

pytestmark = pytest.mark.slow


def test_it_says_what_it_does_and_prints_a_link_for_the_first_operator(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Terminal("serve", "--port", "0", "--data", str(data)) as terminal:
        terminal.wait_for("Starting the gateway …")
        assert "database" not in terminal.text
        terminal.wait_for(f"Creating the database {data / 'domogate.sqlite3'} …")
        terminal.wait_for("The rest is set up in the browser")
        link = re.search(r"http://127\.0\.0\.1:\d+/auth/first-operator\?token=\S+", terminal.text)
        assert link is not None
        assert terminal.text.index("Serving on") < terminal.text.index("There is no operator yet.") < link.start()
        assert heading_of(httpx.get(link[0], timeout=PATIENCE).text) == "Welcome, operator"
        terminal.interrupt()
        assert terminal.wait() == 0, terminal.text
    assert "Traceback" not in terminal.text
