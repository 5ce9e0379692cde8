"""`python -m benchmarks.trace E1`: which files one request passes in a running gateway, and how often it moves between them.

The demo gateway runs in this process. The request is sent several times over HTTP; only the last one is traced, in all threads.
A move is a call from a function in one file of the package to a function in another.
"""

import asyncio
import json
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any
from urllib.request import Request, urlopen

import domogate
from domogate.cli.demo import demo
from domogate.drivers import make_settings
from domogate.edge.server import loop_factory
from domogate.settings import Settings

_PACKAGE = str(Path(domogate.__file__).parent)
_WARM_UP = 5
_HOUSE = "ca5a0001000040008000000000000000"
_LIVING_ROOM = "ca5a0001000a40008000000000000002"


class Trace:
    """Calls between files of the package, while `active`."""

    def __init__(self) -> None:
        self.active = False
        self.files: dict[str, int] = {}
        """Calls into each file, in the order of the first call."""
        self.moves = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not self.active:
            return
        called = frame.f_code.co_filename
        if not called.startswith(_PACKAGE):
            return
        self.files[called] = self.files.get(called, 0) + 1
        caller = frame.f_back.f_code.co_filename if frame.f_back is not None else ""
        if caller != called and caller.startswith(_PACKAGE):
            self.moves += 1


def switch_plugs(ready: dict[str, Any], *, on: bool) -> Request:
    """E1 on a room with one plug."""
    path = f"/homectl/api/v1.0/plug/energy/addressLocation/plants/{_HOUSE}/ambients/parameter/id/value/{_LIVING_ROOM}"
    headers = {
        "Content-Type": "application/json",
        "Ocp-Apim-Subscription-Key": ready["subscription_key"],
        "Authorization": f"Bearer {ready['users'][0]['access_token']}",
    }
    body = json.dumps({"status": "on" if on else "off"}).encode()
    return Request(f"{ready['base_url']}{path}", data=body, headers=headers, method="POST")


REQUESTS: dict[str, Callable[..., Request]] = {"E1": switch_plugs}


def _send(request: Request) -> None:
    with urlopen(request, timeout=10) as answer:
        answer.read()


async def _trace(trace: Trace, make_request: Callable[..., Request], data: Path) -> None:
    ready_file = data / "ready.json"
    # Simulated devices stand still: only the request is to be seen.
    settings = Settings(data=data, port=0, drivers=make_settings({"simulator_tick": 3600.0}))
    serving = asyncio.ensure_future(demo(settings, frozenset({"data"}), ready_file))
    while not ready_file.exists() and not serving.done():
        await asyncio.sleep(0.05)
    if not serving.done():
        try:
            ready = json.loads(ready_file.read_text())
            for number in range(_WARM_UP):
                await asyncio.to_thread(_send, make_request(ready, on=number % 2 == 1))
            await asyncio.sleep(1.0)
            trace.active = True
            await asyncio.to_thread(_send, make_request(ready, on=_WARM_UP % 2 == 1))
            trace.active = False
        finally:
            signal.raise_signal(signal.SIGTERM)
    await serving


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in REQUESTS:
        print(f"usage: python -m benchmarks.trace {'|'.join(REQUESTS)}", file=sys.stderr)
        return 2
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    with TemporaryDirectory() as folder, asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_trace(trace, REQUESTS[arguments[0]], Path(folder)))
    sys.setprofile(None)
    for file, calls in trace.files.items():
        print(f"{calls:4} {Path(file).relative_to(_PACKAGE)}")
    print(f"{arguments[0]}: {len(trace.files)} files, {trace.moves} moves")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
