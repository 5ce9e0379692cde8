"""docs/extending/driver.md builds a driver that works, and touches as many files as the page says."""

import asyncio
import re
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
import yaml

from support.extending import copy_package
from support.extension_operations import X2
from support.gateway import eventually, running, start
from support.spec_operations import ALL_SCOPES, E8
from support.store_access import add_credentials

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending" / "driver.md").read_text("utf-8")
NUMBERS = {"three": 3, "four": 4, "five": 5}
PAGE_ADDRESS = "192.0.2.10:7000"
OWNER, KEY = "owner@example.com", "line-lamp-only-0123456789"
PLANT, ROOM, LAMP = (str(uuid.uuid5(uuid.NAMESPACE_URL, word)) for word in ("lines/plant", "lines/room", "lines/lamp"))
ESTATE = {
    "users": [{"email": OWNER, "name": "Owner", "password": "a good long password"}],
    "subscriptions": [{"name": "lines", "key": KEY}],
    "clients": [
        {"id": "app", "name": "App", "scopes": [*ALL_SCOPES], "redirectUris": ["http://localhost/cb"]},
    ],
    "plants": [
        {
            "id": PLANT,
            "name": "House",
            "type": "house",
            "owner": OWNER,
            "ambients": [
                {
                    "id": ROOM,
                    "name": "Kitchen",
                    "type": "kitchen",
                    "modules": [
                        {"id": LAMP, "name": "Lamp", "kind": "light", "driver": "linelamp", "options": {"lamp": "kitchen"}}
                    ],
                }
            ],
        }
    ],
}


def blocks() -> dict[str, tuple[str, str]]:
    """The language and the content of each code block that follows the path of a file."""
    found = re.findall(r"^`((?:src|docs)/[\w/.]+)`[^\n]*\n\n```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return {path: (language, content) for path, language, content in found}


def page_commands() -> list[list[str]]:
    """The words of each command of `domogate` on the page, without `domogate`."""
    (block,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [line.removeprefix("$ domogate ").split() for line in block.splitlines()]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources to which the page is applied."""
    tree = tmp_path_factory.mktemp("tree")
    copy_package(tree / "src" / "domogate")
    (tree / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "settings.md", tree / "docs" / "settings.md")
    for path, (language, content) in blocks().items():
        file = tree / path
        if language == "diff":
            apply(file, content)
        else:
            assert not file.exists()
            file.parent.mkdir(exist_ok=True)
            file.write_text(content, "utf-8")
    return tree


def apply(file: Path, diff: str) -> None:
    """Replace each removed line with the added line that follows it; added lines without a removed one go to the end."""
    text, removed = file.read_text("utf-8"), ""
    for line in diff.splitlines():
        if line.startswith("-"):
            removed = line[1:]
            assert text.count(removed) == 1, f"{file.name} does not have the line {removed!r}"
        elif removed:
            text, removed = text.replace(removed, line[1:]), ""
        else:
            text += f"{line[1:]}\n"
    file.write_text(text, "utf-8")


ORDER_BEFORE_THE_CONNECTION = """
import asyncio
from domogate.app.parts import SystemClock
from domogate.domain.commands import Order, SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import FirstState
from domogate.domain.faults import Fault
from domogate.domain.ids import new_id
from domogate.domain.plants import Module
from domogate.drivers.linelamp import DRIVER, LineLampSettings
from domogate.ports import AttachedModule

async def connect(host, port):
    await asyncio.Event().wait()

async def main():
    asyncio.open_connection = connect
    clock, plant = SystemClock(), new_id()
    lamp = Module(new_id(), new_id(), "Lamp", DeviceKind.LIGHT, driver="linelamp", options={"lamp": "kitchen"})
    driver = DRIVER.build(clock, LineLampSettings())
    await driver.start(None)
    await driver.attach(plant, [AttachedModule(lamp, FirstState(lamp.id))])
    await asyncio.sleep(0)
    try:
        await driver.execute(Order(new_id(), plant, lamp.id, SetLight(on=True), clock.now() + 1))
    except Fault as fault:
        print(type(fault).__name__)
    await driver.stop()

asyncio.run(main())
"""


class Controller:
    """The lamp controller of the page."""

    def __init__(self) -> None:
        self.lamps = {"kitchen": "off"}
        self.connections = 0
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        self.connections += 1
        while line := (await reader.readline()).decode().strip():
            lamp, state = line.split()
            self.lamps[lamp] = self.lamps[lamp] if state == "?" else state
            writer.write(f"{lamp} {self.lamps[lamp]}\n".encode())
        writer.close()
        await writer.wait_closed()
        self.connections -= 1

    def switch_by_hand(self, lamp: str, state: str) -> None:
        self.lamps[lamp] = state
        for writer in self._writers:
            writer.write(f"{lamp} {state}\n".encode())


def test_the_page_says_how_many_files_it_touches() -> None:
    said = re.search(r"It adds or changes (\w+) files", PAGE)
    assert said is not None
    assert len(blocks()) == NUMBERS[said[1]]


def test_its_settings_are_declared_in_one_place_and_documented(tree: Path) -> None:
    code = "from domogate.settings.declared import DECLARED as d; print(*(f'{n}\\t{d[n].setting.help}' for n in d), sep='\\n')"
    declared = dict(line.split("\t") for line in domogate_python(tree, "-c", code).splitlines())
    table = (tree / "docs" / "settings.md").read_text()
    rows = dict(re.findall(r"^\| `DOMOGATE_([A-Z_]+)` \|.*\| (.*) \|$", table, re.MULTILINE))
    assert set(declared) == {name.lower() for name in rows}
    assert rows["LINELAMP_ADDRESS"] == declared["linelamp_address"]
    assert "--linelamp-address" in domogate_python(tree, "-m", "domogate.cli", "serve", "--help")


def test_an_order_before_the_first_connection_is_refused_as_offline(tree: Path) -> None:
    assert domogate_python(tree, "-c", ORDER_BEFORE_THE_CONNECTION).split() == ["DeviceOffline"]


async def test_a_gateway_with_it_switches_a_lamp(tree: Path, tmp_path: Path) -> None:
    controller = Controller()
    server = await asyncio.start_server(controller.serve, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        await asyncio.to_thread(use_gateway, tree, tmp_path, controller, address, asyncio.get_running_loop())
        async with asyncio.timeout(120):
            while controller.connections:
                await asyncio.sleep(0.01)


def use_gateway(tree: Path, folder: Path, controller: Controller, address: str, loop: asyncio.AbstractEventLoop) -> None:
    """Run the commands of the page with an estate file, then switch its lamp over HTTP."""
    (tree / "estate.yaml").write_text(yaml.safe_dump(ESTATE, sort_keys=False))
    *prepare, serve = page_commands()
    for command in prepare:
        domogate_python(tree, "-m", "domogate.cli", *command, DOMOGATE_DATA=str(folder / "run" / "data"))
    name, *flags = [address if word == PAGE_ADDRESS else word for word in serve]
    assert address in flags
    settings = {"PYTHONPATH": str(tree / "src"), "DOMOGATE_DEVICE_DEADLINE": "30"}
    with running(start(name, folder / "run", settings, new_interpreter=True, flags=flags)) as gateway:
        add_credentials(gateway, KEY)
        target = {"plant": PLANT, "module": LAMP}

        def status() -> str | None:
            answer = gateway.send(E8, target, who=OWNER)
            return str(answer.json()["lights"][0]["status"]) if answer.status_code == 200 else None

        eventually(lambda: status() == "off", "the lamp is read")
        answer = gateway.send(X2, target, who=OWNER, body=b'{"status": "on"}')
        assert answer.status_code == 200, answer.text
        assert controller.lamps == {"kitchen": "on"}
        assert status() == "on"
        loop.call_soon_threadsafe(controller.switch_by_hand, "kitchen", "off")
        eventually(lambda: status() == "off", "the switch on the wall is seen")


def domogate_python(tree: Path, *arguments: str, **settings: str) -> str:
    """Run Python with the sources of the tree; its standard output."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={"PYTHONPATH": str(tree / "src"), "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", **settings},
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
