"""The same kind of read in other programs: Home Assistant, Prism and json-server, in one run with the gateway.

The programs of Node are installed into `.dev/peers`, with the versions of the lock file in this folder. Home Assistant has its
own environment, which the tests of the integration use too.
"""

import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.load import Load, request
from benchmarks.scenarios import Row, Scenario, Work, get, light_path, ratios, take_rounds
from benchmarks.servers import Running, fill, running
from integrations.homeassistant import environment
from integrations.homeassistant.environment import NotInstalled, run_or_fail

_OWN = Path(__file__).parent
_DEV = _OWN.parent.parent / ".dev"
_START = 120.0
"""Seconds in which a program must answer after its start."""
_USUAL = {"User-Agent": "bench/1", "Accept": "application/json"}


class _Ready(msgspec.Struct):
    port: int
    pid: int
    access_token: str


def _install_node_programs() -> Path:
    """Install the programs, if they are not installed. Returns the folder with their commands."""
    folder = _DEV / "peers"
    done = folder / "installed.lock"
    if not done.exists() or done.read_bytes() != (_OWN / "package-lock.json").read_bytes():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("package-lock.json", "package.json", ".npmrc"):
            shutil.copy(_OWN / name, folder / name)
        npm = shutil.which("npm") or _DEV / "nodejs" / "bin" / "npm"
        run_or_fail(npm, "ci", "--no-progress", "--loglevel=error", cwd=folder)
        shutil.copy(folder / "package-lock.json", done)
    return folder / "node_modules" / ".bin"


@contextmanager
def _home_assistant(folder: Path) -> Iterator[Work]:
    data, ready, port = folder / "home-assistant", folder / "ready.json", _free_port()
    data.mkdir()
    with _started(environment.command(data, ready, port, ["api"])) as process:
        _wait(process, ready.exists)
        found = msgspec.json.decode(ready.read_bytes(), type=_Ready)
        _wait(process, lambda: _answers(port))
        headers = {**_USUAL, "Authorization": f"Bearer {found.access_token}"}
        paths = [f"/api/states/light.number_{number}" for number in range(80)]
        connection = HTTPConnection("127.0.0.1", port)
        for number, path in enumerate(paths):
            state = {"state": "on", "attributes": {"brightness": 60, "friendly_name": f"Light {number}"}}
            connection.request("POST", path, json.dumps(state), headers)
            connection.getresponse().read()
        connection.close()
        yield Work(Running(found.port, found.pid), [request("GET", path, headers) for path in paths])


@contextmanager
def _prism(folder: Path, light: bytes) -> Iterator[Work]:
    """Prism checks that a token is there, and answers with the example of the document."""
    media = {"application/json": {"example": json.loads(light)}}
    parameter = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    responses = {"200": {"description": "the light", "content": media}, "401": {"description": "no token"}}
    operation = {"security": [{"token": []}], "parameters": [parameter], "responses": responses}
    document = {
        "openapi": "3.0.3",
        "info": {"title": "lights", "version": "1"},
        "paths": {"/lights/{id}": {"get": operation}},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }
    file, port = folder / "prism.json", _free_port()
    file.write_text(json.dumps(document))
    headers = {**_USUAL, "Authorization": "Bearer token"}
    program = _install_node_programs() / "prism"
    with _listening([program, "mock", "-h", "127.0.0.1", "-p", str(port), "-v", "error", file], port) as server:
        yield Work(server, [request("GET", f"/lights/{number}", headers) for number in range(80)])


@contextmanager
def _json_server(folder: Path, light: bytes) -> Iterator[Work]:
    """json-server has no tokens."""
    file, port = folder / "json-server.json", _free_port()
    file.write_text(json.dumps({"lights": [{"id": number, **json.loads(light)} for number in range(80)]}))
    program = _install_node_programs() / "json-server"
    with _listening([program, "--host", "127.0.0.1", "--port", str(port), "--quiet", file], port) as server:
        yield Work(server, [request("GET", f"/lights/{number}", _USUAL) for number in range(80)])


@contextmanager
def _listening(command: Sequence[str | Path], port: int) -> Iterator[Running]:
    with _started(command) as process:
        _wait(process, lambda: _answers(port))
        yield Running(port, process.pid)


@contextmanager
def _started(command: Sequence[str | Path]) -> Iterator["subprocess.Popen[bytes]"]:
    nothing = subprocess.DEVNULL
    environment = {**os.environ, "PATH": f"{_DEV / 'nodejs' / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _START
    while not is_ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise NotInstalled("it was installed, but it did not start")
        time.sleep(0.1)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


async def peers() -> AsyncIterator[Row]:
    """One row for each program: its requests per CPU-second, also as a share of stock uvicorn."""
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        await fill(folder / "data", plants=1, modules=100)
        gateway = stack.enter_context(running("gateway", data=folder / "data"))
        body = get(gateway, light_path(0, 0))[0]
        light = folder / "light.json"
        light.write_bytes(body)
        lights = [request("GET", light_path(0, number), gateway.headers()) for number in range(80)]
        constant = Work(stack.enter_context(running("stock", body=light)), lights)
        works = {
            "stock uvicorn, constant bytes": constant,
            "Domogate, E8": Work(gateway, lights),
            "the floor, constant bytes": Work(stack.enter_context(running("floor", body=light)), lights),
        }
        others: dict[str, AbstractContextManager[Work]] = {
            "Home Assistant 2024.3.3, a state": _home_assistant(folder),
            "Prism 5.16.0, an example": _prism(folder, body),
            "json-server 0.17.4, a record, without a token": _json_server(folder, body),
        }
        for peer, starting in others.items():
            try:
                works[peer] = stack.enter_context(starting)
            except NotInstalled as reason:
                yield Row(f"Peers: {peer}", f"not measured: {reason}")
        loads = dict(zip(works, await take_rounds(list(works.values())), strict=True))
        for what, own in loads.items():
            yield Row(f"Peers: {what}", _compared(own, loads["stock uvicorn, constant bytes"]))


def _compared(own: Sequence[Load], stock: Sequence[Load]) -> str:
    found = ratios(own, stock)
    rate = statistics.median(load.per_cpu_second for load in own)
    shares = f"{statistics.median(found):.2f} of stock uvicorn, {min(found):.2f} to {max(found):.2f}"
    return f"{rate:,.0f} per CPU-second ({shares})"


PEERS: dict[str, Scenario] = {"peers": peers}
