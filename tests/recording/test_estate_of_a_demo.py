"""Reads of a demo are recorded, `domogate replay --estate` makes an estate file, and a new gateway serves this file."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from domogate.testing import Estate
from domogate.testing import Gateway as NewGateway
from recording.test_a_recorded_demo import running
from support.estate_view import read_yaml
from support.examples import is_long
from support.gateway import START_DEADLINE, Gateway, run_command, start
from support.http import Api
from support.spec_operations import E2, E3, E4, E6, E7, E8, E9, E10, E12, E13, E16, E17, E18, E19, Operation, Target

pytestmark = pytest.mark.slow

LISTS, TOPOLOGIES = (E6, E10, E17), (E3, E7, E9)
STATES = (E2, E4, E8, E12, E13, E16, E18, E19)
MEASURED = frozenset(
    ("time", "timeStamp", "timestamp", "thermometer", "hygrometer", "lastStatusUpdate", "lastAlertUpdate", "loadState")
)
"""Fields that the simulator changes with time."""
MOST_CASES = 12
"""Of each operation. The hotel has hundreds of similar modules."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    gateway = start("demo", tmp_path_factory.mktemp("estate"), {"DOMOGATE_DEVICE_DEADLINE": "3"})
    yield gateway
    gateway.stop()


def still(value: Any) -> Any:
    """The value without fields that change with time, and without the order of lists that show modules of several rooms."""
    if isinstance(value, dict):
        moving = MEASURED | {"value"} if str(value.get("unit")).startswith("watt") else MEASURED
        return {name: still(one) for name, one in value.items() if name not in moving}
    if isinstance(value, list):
        return sorted((still(one) for one in value), key=lambda one: str(one.get("id", "")) if isinstance(one, dict) else "")
    return value


def print_lines(body: Any) -> list[str]:
    """The body in lines, so that a failure shows the line that differs."""
    return json.dumps(still(body), indent=1, sort_keys=True).splitlines()


def read_everything(demo: Gateway, address: str) -> list[tuple[Operation, Target]]:
    api = Api(address, demo.subscription_key)
    asked = []
    for operation in (*LISTS, *TOPOLOGIES, *STATES):
        cases = demo.cases(operation)
        for who, target in cases if is_long() else cases[:MOST_CASES]:
            answer = api.send(operation, target, token=demo.people[who].token_for(operation))
            if answer.status_code == 200 and operation not in LISTS:
                asked.append((operation, target))
    api.close()
    return asked


def test_the_new_gateway_answers_as_the_recorded_one(demo: Gateway, tmp_path: Path) -> None:
    recording, file = tmp_path / "home.jsonl", tmp_path / "home.yaml"
    with running(demo, tmp_path, "record", "--upstream", demo.base_url, "--out", str(recording)) as address:
        asked = read_everything(demo, address)
    assert {operation for operation, _ in asked} == {*TOPOLOGIES, *STATES}
    done = run_command(["replay", str(recording), "--estate", str(file)], demo.environment)
    assert done.returncode == 0, done.stderr
    assert re.search(r"Steps of \d+ scenes: the contract does not show them", done.stderr), done.stderr
    done = run_command(["estate", "import", str(file), "--data", str(tmp_path / "data")], demo.environment)
    assert done.returncode == 0, done.stderr

    estate = Estate()
    estate.record = read_yaml(file.read_text())
    owners = {plant["id"]: plant["owner"] for plant in estate.record["plants"]}
    with (
        running(demo, tmp_path, "replay", str(recording)) as address,
        NewGateway.start(estate, seconds=START_DEADLINE) as new,
        httpx.Client(base_url=address, trust_env=False, timeout=START_DEADLINE) as replayed,
    ):
        for operation, target in asked:
            path = operation.url(target)
            who = owners[target["plant"]] if "plant" in target else next(iter(owners.values()))
            headers = new.headers(who, kind="access" if operation.token == "access" else "id")
            expected = replayed.get(path)
            answer = new.request("GET", path, headers=headers)
            assert answer.status == expected.status_code, path
            assert print_lines(answer.json()) == print_lines(expected.json()), path
