"""`python -m benchmarks.trace E1`: counts the files that one request passes in a running gateway, and the moves between them.

The demo gateway runs in this process. After a warm-up, the same request is sent several times over one HTTP connection and
traced in all threads. Files that are not in every trace do not count, because they did other work of the gateway. A move is
a call from a function in one file of the package to a function in another file; the fewest moves of a trace count.
"""

import asyncio
import json
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from http.client import HTTPResponse
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import domogate
from benchmarks.load import request
from domogate.cli.demo import demo
from domogate.drivers import make_settings
from domogate.edge.server import loop_factory
from domogate.settings import Settings
from domogate.stores import SqlStore

_PACKAGE = str(Path(domogate.__file__).parent)
_WARM_UP, _TRACED = 4, 8
_HOUSE = "ca5a0001000040008000000000000000"
_LIVING_ROOM = "ca5a0001000a40008000000000000002"


class Trace:
    """The calls of one request."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        """Calls into each file, in the order of the first call."""
        self.moves = 0

    def add(self, frame: FrameType) -> None:
        called = frame.f_code.co_filename
        if not called.startswith(_PACKAGE):
            return
        self.files[called] = self.files.get(called, 0) + 1
        caller = frame.f_back.f_code.co_filename if frame.f_back is not None else ""
        if caller != called and caller.startswith(_PACKAGE):
            self.moves += 1


class Profiler:
    """Passes the calls of all threads to the current trace."""

    def __init__(self) -> None:
        self.trace: Trace | None = None

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and self.trace is not None:
            self.trace.add(frame)


def switch_plugs(ready: dict[str, Any], number: int) -> bytes:
    """E1 for a room with one plug."""
    path = f"/homectl/api/v1.0/plug/energy/addressLocation/plants/{_HOUSE}/ambients/parameter/id/value/{_LIVING_ROOM}"
    headers = {
        "Ocp-Apim-Subscription-Key": ready["subscription_key"],
        "Authorization": f"Bearer {ready['users'][0]['access_token']}",
    }
    body = json.dumps({"status": "on" if number % 2 else "off"}).encode()
    return request("POST", path, headers, body)


REQUESTS: dict[str, Callable[[dict[str, Any], int], bytes]] = {"E1": switch_plugs}


def _send(connection: socket.socket, request: bytes) -> None:
    """Send the request in one packet, as most clients do. A body that comes later takes another path through the gateway."""
    connection.sendall(request)
    with HTTPResponse(connection) as answer:
        answer.begin()
        assert answer.status == 200, (answer.status, answer.read())
        answer.read()


async def _trace(operation: str, profiler: Profiler, data: Path) -> list[Trace]:
    ready_file = data / "ready.json"
    # Simulated devices do not change, so that only the request is traced.
    settings = Settings(data=data, port=0, drivers=make_settings({"simulator_tick": 3600.0}))
    serving = asyncio.ensure_future(demo(settings, frozenset({"data"}), ready_file))
    while not ready_file.exists() and not serving.done():
        await asyncio.sleep(0.05)
    if serving.done():
        await serving
    traces = []
    try:
        ready = json.loads(ready_file.read_text())
        address = urlsplit(ready["base_url"])
        connection = socket.create_connection((address.hostname, address.port), timeout=10)
        for number in range(_WARM_UP + _TRACED):
            trace = Trace()
            profiler.trace = trace if number >= _WARM_UP else None
            await asyncio.to_thread(_send, connection, REQUESTS[operation](ready, number))
            profiler.trace = None
            traces.append(trace)
            await asyncio.sleep(0.3)
        connection.close()
    finally:
        signal.raise_signal(signal.SIGTERM)
        await serving
    return traces[_WARM_UP:]


def trace_request(operation: str) -> Trace:
    """The files that are in all traces, and the fewest moves."""
    profiler = Profiler()
    threading.setprofile(profiler)
    sys.setprofile(profiler)
    try:
        # A traced request takes so long that a read of the change feed, which a timer starts ten times a second, would be in
        # nearly every trace.
        rare_reads = patch.dict(SqlStore.__init__.__kwdefaults__, poll=3600.0)
        with TemporaryDirectory() as folder, rare_reads, asyncio.Runner(loop_factory=loop_factory()) as runner:
            traces = runner.run(_trace(operation, profiler, Path(folder)))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    common = min(traces, key=lambda trace: trace.moves)
    common.files = {file: calls for file, calls in common.files.items() if all(file in trace.files for trace in traces)}
    return common


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in REQUESTS:
        print(f"usage: python -m benchmarks.trace {'|'.join(REQUESTS)}", file=sys.stderr)
        return 2
    with redirect_stdout(sys.stderr):  # The demo prints its greeting.
        trace = trace_request(arguments[0])
    for file, calls in trace.files.items():
        print(f"{calls:4} {Path(file).relative_to(_PACKAGE)}")
    print(f"{arguments[0]}: {len(trace.files)} files, {trace.moves} moves")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
