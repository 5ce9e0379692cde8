"""A small estate with one device of several kinds, for tests of the commands about devices."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from domogate.app import Tools, open_tools
from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.settings import Settings
from support.command_line import CommandLine

T = TypeVar("T")

PLANT = Id("7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a01")
PLUG = Id("7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a02")
REMOTE = Id("7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a03")
SHUTTER = Id("7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a04")
METER = Id("7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a05")
CONTROLLER = Id("7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a06")
LANTERN = Id("7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a07")
OTHER_PLANT = Id("7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a11")
OTHER_PLUG = Id("7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a12")
ESTATE = f"""\
users:
  - {{email: ada@example.com, name: Ada}}
plants:
  - id: {PLANT}
    name: Home
    type: house
    owner: ada@example.com
    driver: simulator
    ambients:
      - id: 7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a09
        name: Kitchen
        type: kitchen
        modules:
          - {{id: {PLUG}, name: Kettle, kind: plug}}
    modules:
      - {{id: {REMOTE}, name: Remote, kind: remote, state: {{battery: full}}}}
      - {{id: {SHUTTER}, name: Shutter, kind: automation, state: {{position: 30}}}}
      - {{id: {METER}, name: Meter, kind: energymeter}}
      - id: {CONTROLLER}
        name: Controller
        kind: emergency controller
        units:
          - {{id: {LANTERN}, name: Lantern, failures: [BLOCK.OK]}}
  - id: {OTHER_PLANT}
    name: Shed
    type: house
    owner: ada@example.com
    driver: simulator
    modules:
      - {{id: {OTHER_PLUG}, name: Shutter, kind: plug}}
"""


@pytest.fixture(scope="session")
def imported_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the estate, to be copied, because importing takes longer than most tests."""
    data = tmp_path_factory.mktemp("home") / "data"
    CommandLine(data).good("estate", "import", "-", input=ESTATE)
    return data


@pytest.fixture
def home(domogate: CommandLine, imported_home: Path) -> CommandLine:
    shutil.copytree(imported_home, domogate.data)
    return domogate


def run_with_tools(domogate: CommandLine, act: Callable[[Tools], Awaitable[T]]) -> T:
    async def run() -> T:
        async with open_tools(Settings(data=domogate.data)) as tools:
            return await act(tools)

    return asyncio.run(run())


def report(domogate: CommandLine, *reports: Report) -> None:
    run_with_tools(domogate, lambda tools: tools.store.record(reports))
