"""`domogate serve` in an empty folder, at a terminal."""

import re
from pathlib import Path

import httpx
import pytest

from support.auth_setup import heading_of
from support.command_line import CommandLine
from support.gateway import running, start
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


def test_the_link_of_init_comes_before_a_new_link(tmp_path: Path) -> None:
    CommandLine(tmp_path / "data").good("init", "--email", "olga@example.com")
    with running(start("serve", tmp_path)) as gateway:
        said = gateway.log
    assert "Open the link of `domogate init`. If it is lost" in said
    assert said.index("domogate init") < said.index("domogate user password-link olga@example.com --data")
    assert "trusted_proxies" not in said


def test_the_address_of_the_port_and_the_url_for_clients_are_both_named(tmp_path: Path) -> None:
    settings = {"DOMOGATE_PUBLIC_URL": "https://gateway.example.com:8443", "DOMOGATE_TRUSTED_PROXIES": "127.0.0.1"}
    with running(start("serve", tmp_path, settings)) as gateway:
        said = gateway.log
    assert re.search(r"Listening on 127\.0\.0\.1:\d+; clients use https://gateway\.example\.com:8443\n", said)
    assert "Serving on" not in said


def test_a_stop_has_a_line_at_its_begin_and_at_its_end(tmp_path: Path) -> None:
    with running(start("serve", tmp_path)) as gateway:
        assert "the gateway stops" not in gateway.log
        gateway.process.terminate()
        assert gateway.process.wait(PATIENCE) == 0
        said = gateway.log
    assert (said.count("the gateway stops"), said.count("the gateway has stopped")) == (1, 1)
    assert said.index("the gateway stops") < said.index("the gateway has stopped")


def test_https_without_a_known_proxy_is_told_once(tmp_path: Path) -> None:
    with running(start("serve", tmp_path, {"DOMOGATE_PUBLIC_URL": "https://gateway.example.com"})) as gateway:
        said = gateway.log
    assert said.count("Set trusted_proxies to the address of the proxy") == 1
