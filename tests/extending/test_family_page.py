"""Builds the example family of docs/extending/family.md and calls it over HTTP."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.extending import copy_package
from support.gateway import Gateway, eventually, running, start
from support.http import PATIENCE
from support.page_blocks import read_blocks
from support.restartable import clean_environment

ROOT = Path(__file__).resolve().parents[2]
PAGE_FILE = ROOT / "docs" / "extending" / "family.md"
PAGE = PAGE_FILE.read_text()

pytestmark = pytest.mark.slow


def changes() -> dict[str, list[tuple[str, str]]]:
    """The code blocks of the page with their kind, by the file they belong to."""
    found: dict[str, list[tuple[str, str]]] = {}
    file = ""
    for named, kind, block in re.findall(r"^(?:New file|[^\n]*Change) `([^`]+)`:$|^```(\w+)\n(.*?)^```$", PAGE, re.M | re.S):
        if named:
            file = named
        elif kind in ("python", "diff"):
            found.setdefault(file, []).append((kind, block))
    return found


def apply_diff(text: str, diff: str) -> str:
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert text.count(before) == 1, f"the file has not exactly one such place:\n{before}"
    return text.replace(before, after)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the changes of the page."""
    folder = tmp_path_factory.mktemp("project")
    copy_package(folder / "src" / "domogate")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for file, blocks in changes().items():
        path = folder / file
        for kind, block in blocks:
            path.write_text(block if kind == "python" else apply_diff(path.read_text(), block))
    return folder


@pytest.fixture(scope="module")
def gateway(tree: Path) -> Iterator[Gateway]:
    """The demo, started from the changed copy."""
    with running(start("demo", tree / "demo", {"PYTHONPATH": str(tree / "src")}, new_interpreter=True)) as demo:
        yield demo


@pytest.fixture
def client(gateway: Gateway) -> Iterator[httpx.Client]:
    token = gateway.ready["users"][0]["id_token"]
    headers = {"Ocp-Apim-Subscription-Key": gateway.subscription_key, "Authorization": token}
    with httpx.Client(base_url=gateway.base_url, headers=headers, timeout=PATIENCE) as client:
        yield client


@pytest.fixture
def blind(client: httpx.Client) -> str:
    """The URL of a shutter of the demo's first user."""
    for plant in client.get("/homeauto/v1.0/plants").json()["plants"]:
        topology = client.get(f"/homeauto/v1.0/plants/{plant['id']}/topology")
        match = re.search(r'"device":"Automation","system":"Automation","id":"([^"]+)"', topology.text)
        if match:
            return f"/blinds/v1.0/plants/{plant['id']}/blinds/{match[1]}"
    raise AssertionError("the demo has no shutter")


class TestThePage:
    def test_names_as_many_files_as_it_says(self) -> None:
        said = re.search(r"you add or change \*\*(\d+) files\*\*", PAGE)
        assert said is not None
        assert len(changes()) == int(said[1])

    def test_only_the_first_file_is_new(self) -> None:
        assert [(ROOT / file).exists() for file in changes()] == [False, True, True]

    def test_keeps_the_import_rules(self, tree: Path) -> None:
        lint = Path(sys.executable).parent / "lint-imports"
        environment = clean_environment({"PYTHONPATH": str(tree / "src")})
        done = subprocess.run([lint, "--no-cache"], cwd=tree, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


class TestTheFamily:
    def test_answers_the_command_of_the_page(self, gateway: Gateway, client: httpx.Client, blind: str) -> None:
        (command,) = [block.text for block in read_blocks(PAGE_FILE) if "curl" in block.text]
        _, plant, _, module = blind.removeprefix("/blinds/v1.0/").split("/")
        variables = {"BASE": gateway.base_url, "KEY": gateway.subscription_key, "ID_TOKEN": client.headers["Authorization"]}
        script = command.replace("PLANT", plant).replace("MODULE", module)
        done = subprocess.run(
            ["bash", "-c", script], env=clean_environment(variables), capture_output=True, text=True, check=False
        )
        assert json.loads(done.stdout) == client.get(blind).json()

    def test_moves_a_blind_and_reads_it(self, client: httpx.Client, blind: str) -> None:
        assert client.post(blind, json={"position": 30}).status_code == 200
        eventually(lambda: client.get(blind).json() == {"position": 30}, "the shutter is at 30")

    def test_refuses_a_position_out_of_range(self, client: httpx.Client, blind: str) -> None:
        answer = client.post(blind, json={"position": 101})
        assert answer.status_code == 400
        assert answer.json() == {"statusCode": 400, "message": "position must be within 0..100"}

    def test_has_an_openapi_document(self, client: httpx.Client) -> None:
        document = client.get("/openapi/blinds.json").json()
        assert {described["x-operation"] for described in document["paths"].popitem()[1].values()} == {"X101", "X102"}

    def test_refuses_a_call_without_a_key(self, client: httpx.Client, blind: str) -> None:
        assert client.get(blind, headers={"Ocp-Apim-Subscription-Key": ""}).status_code == 401
