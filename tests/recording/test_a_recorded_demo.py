"""`domogate record` before a demo while `domogate conformance` reads it, and the same reads from `domogate replay`."""

import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.gateway import Gateway, eventually, run_command, start
from support.http import PATIENCE
from support.processes import launch

pytestmark = pytest.mark.slow

ANNA, DARIO = "anna@example.com", "dario@example.com"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    gateway = start("demo", tmp_path_factory.mktemp("recorded"), {"DOMOGATE_DEVICE_DEADLINE": "3"})
    yield gateway
    gateway.stop()


@contextmanager
def running(gateway: Gateway, folder: Path, *arguments: str) -> Iterator[str]:
    """Run a command that serves on a free port until Ctrl-C. Yield its address."""
    said = folder / f"{arguments[0]}.txt"
    with said.open("wb") as stderr, (folder / "stdout").open("wb") as stdout:
        process = launch([*arguments, "--port", "0"], gateway.environment, stdout, stderr)
    try:
        eventually(lambda: "Ctrl-C" in said.read_text(), f"{arguments[0]} listens")
        (address,) = re.findall(r"^http://127.0.0.1:[0-9]+", said.read_text(), re.MULTILINE)
        yield address
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0, said.read_text()


def read_all(gateway: Gateway, address: str) -> tuple[int, str]:
    """Read everything as Anna, also without her rights. Return the exit code and the report."""
    anna, dario = gateway.people[ANNA], gateway.people[DARIO]
    flags = {
        "--base-url": address,
        "--key": gateway.subscription_key,
        "--token": anna.id_token,
        "--access-token": anna.access_token,
        "--other-token": dario.id_token,
        "--other-access-token": dario.access_token,
    }
    done = run_command(["conformance", *(part for flag in flags.items() for part in flag)], gateway.environment)
    return done.returncode, f"{done.stdout}{done.stderr}"


def test_a_replay_keeps_the_contract_and_contains_no_secret_and_no_person(demo: Gateway, tmp_path: Path) -> None:
    file = tmp_path / "home.jsonl"
    with running(demo, tmp_path, "record", "--upstream", demo.base_url, "--out", str(file)) as address:
        status, report = read_all(demo, address)
        assert status == 0, report
    text = file.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert {200, 401, 404} <= {line["status"] for line in lines}
    plants = next(line["body"]["plants"] for line in lines if line["status"] == 200 and "plants" in (line["body"] or ()))
    assert plants[0]["name"].startswith("Name ")
    anna = demo.people[ANNA]
    assert not [one for one in (demo.subscription_key, anna.id_token, anna.access_token, "anna@", "dario@") if one in text]
    with running(demo, tmp_path, "replay", str(file)) as address:
        status, report = read_all(demo, address)
    assert status == 0, report
