"""The servers that are measured, each in a separate process: the gateway, stock uvicorn and the floor.

Stock uvicorn has nothing of the gateway, and answers with constant bytes. The floor is the least that a Python server does: it
parses the request with httptools and answers with constant bytes in one write.
"""

import asyncio
import hashlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast

import httptools
import msgspec
import uvicorn
from sqlalchemy import Connection

from benchmarks.estates import CLIENT, CLIENT_SECRET, KEY, PASSWORD, USER, build_estate
from benchmarks.load import run_first
from domogate import stores
from domogate.app import Gateway, open_tools, serve
from domogate.domain.authorization import RefreshToken
from domogate.domain.ids import new_id
from domogate.domain.people import Grant, GrantType, Scope, TokenKind
from domogate.drivers import make_settings
from domogate.edge import server
from domogate.settings import Settings
from domogate.stores import SqlStore
from domogate.stores.direct import Write

_TOKEN_LIFE = 86_400.0


class Code(NamedTuple):
    """A copy of the project: its Python, and its folder. None is the folder of this process."""

    python: str
    folder: Path | None = None


OWN = Code(sys.executable)


class Running(msgspec.Struct, frozen=True):
    """A running server."""

    port: int
    pid: int
    access_token: str = ""
    id_token: str = ""
    refresh_tokens: list[str] = []
    commits_file: str = ""
    started_in: float = 0.0
    start_cpu: float = 0.0
    """The CPU-seconds of the process until it was ready."""

    def headers(self, kind: TokenKind = TokenKind.ID) -> dict[str, str]:
        token = self.id_token if kind is TokenKind.ID else self.access_token
        return {
            "User-Agent": "bench/1",
            "Accept": "application/json",
            "Ocp-Apim-Subscription-Key": KEY,
            "Authorization": f"Bearer {token}",
        }

    def commits(self) -> int:
        """The number of commits so far. With `count_commits`, the gateway writes it to a file ten times a second."""
        return int(Path(self.commits_file).read_text())


async def fill(data: Path, *, plants: int, modules: int, large: bool = False, **changed: Any) -> None:
    settings = Settings(data=data, **changed)
    async with open_tools(settings) as tools:
        hashed = {secret: hashlib.sha256(secret.encode()).hexdigest() for secret in (KEY, CLIENT_SECRET)}
        hashed[PASSWORD] = await tools.hasher.hash_password(PASSWORD)
        await tools.store.import_estate(build_estate(plants, modules, hashed, large=large), prune=False)


def running(what: str, **arguments: Any) -> AbstractContextManager[Running]:
    """Start `python -m benchmarks.servers WHAT` of this code, and wait until it answers."""
    return running_code(OWN, what, **arguments)


@contextmanager
def running_code(code: Code, what: str, **arguments: Any) -> Iterator[Running]:
    with TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        arguments = {key: str(value) if isinstance(value, Path) else value for key, value in arguments.items()}
        started = time.perf_counter()
        command = [code.python, "-m", "benchmarks.servers", what, str(ready), json.dumps(arguments)]
        process = subprocess.Popen(command, cwd=code.folder, stdin=subprocess.DEVNULL)
        try:
            while not ready.exists():
                if process.poll() is not None:
                    raise RuntimeError(f"the {what} server did not start")
                time.sleep(0.01)
            found = msgspec.json.decode(ready.read_bytes(), type=Running)
            yield msgspec.structs.replace(found, started_in=time.perf_counter() - started)
        finally:
            process.terminate()
            process.wait(30)


# --- inside the server's process ----------------------------------------------------------------------------------------


def _write(path: str, text: bytes) -> None:
    draft = Path(f"{path}.draft")
    draft.write_bytes(text)
    draft.rename(path)


async def _run_stock(ready: str, *, body: str) -> None:
    """Run uvicorn with uvloop and httptools, and without middleware."""
    constant = Path(body).read_bytes()
    headers = _constant_headers(constant)

    async def answer(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": constant})

    config = uvicorn.Config(
        answer,
        http="httptools",
        ws="none",
        interface="asgi3",
        lifespan="off",
        proxy_headers=False,
        access_log=False,
        log_level="warning",
    )
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    _tell_port(ready, listener)
    await uvicorn.Server(config).serve([listener])


async def _run_floor(ready: str, *, body: str) -> None:
    constant = Path(body).read_bytes()
    fields = b"".join(b"%b: %b\r\n" % header for header in _constant_headers(constant))
    answer = b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n" + constant
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    serving = await asyncio.get_running_loop().create_server(lambda: _FloorProtocol(answer), sock=listener)
    _tell_port(ready, listener)
    await serving.serve_forever()


class _FloorProtocol(asyncio.Protocol):
    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._parser = httptools.HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(self._answer)


def _constant_headers(body: bytes) -> list[tuple[bytes, bytes]]:
    return [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
    ]


def _tell_port(ready: str, listener: socket.socket) -> None:
    _write(ready, msgspec.json.encode({"port": listener.getsockname()[1], "pid": os.getpid()}))


async def _run_gateway(
    ready: str,
    *,
    data: str,
    one_commit_each: bool = False,
    fsync: float = 0.0,
    refresh_tokens: int = 0,
    named_drivers: bool = False,
    count_commits: bool = False,
    first: bool = False,
    **changed: Any,
) -> None:
    if first:
        run_first()
    _BenchStore.shared, _BenchStore.fsync = (1 if one_commit_each else 256), fsync
    vars(stores)["SqlStore"] = _BenchStore
    standing_still = make_settings({"simulator_tick": 3600.0})
    settings = Settings(data=Path(data), port=0, drivers=standing_still, **{"state_max_age": 86_400.0, **changed})

    async def tell(gateway: Gateway) -> None:
        start_cpu = time.process_time()
        commits_file = f"{ready}.commits"
        _write(commits_file, b"0")
        tokens = await _mint(gateway) | {"refresh_tokens": [await _mint_refresh_token(gateway) for _ in range(refresh_tokens)]}
        running = Running(gateway.settings.port, os.getpid(), commits_file=commits_file, start_cpu=start_cpu, **tokens)
        _write(ready, msgspec.json.encode(running))
        # Only on demand: while the database commits, the rename of a file can take some milliseconds.
        while count_commits:
            await asyncio.sleep(0.1)
            _write(commits_file, b"%d" % gateway.store.commits)

    await serve(settings, tell, named_drivers=named_drivers)


class _BenchStore(SqlStore):
    """A store with a configurable number of callers per commit and a configurable time for each commit."""

    shared = 256
    fsync = 0.0

    def __init__(self, url: str, **arguments: Any) -> None:
        super().__init__(url, **arguments, max_batch=self.shared)

    def commit(self, connection: Connection, last_writes: Sequence[Write] = (), *, has_written: bool = True) -> None:
        super().commit(connection, last_writes, has_written=has_written)
        if self.fsync:
            time.sleep(self.fsync)


async def _grant(gateway: Gateway) -> Grant:
    grant = Grant(new_id(), USER.id, CLIENT.id, tuple(Scope), GrantType.AUTHORIZATION_CODE, created_at=gateway.clock.now())
    await gateway.store.add_grant(grant)
    return grant


async def _mint_refresh_token(gateway: Gateway) -> str:
    grant, value, now = await _grant(gateway), secrets.token_urlsafe(32), gateway.clock.now()
    hashed = hashlib.sha256(value.encode()).hexdigest()
    await gateway.store.add_refresh_token(RefreshToken(hashed, grant.id, CLIENT.id, now, now + _TOKEN_LIFE))
    return value


async def _mint(gateway: Gateway) -> dict[str, Any]:
    grant = await _grant(gateway)
    return {f"{kind}_token": await gateway.signer.mint_token(kind, USER, CLIENT, grant, _TOKEN_LIFE) for kind in TokenKind}


if __name__ == "__main__":
    what, ready_path, arguments_json = sys.argv[1:]
    runs: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {
        "floor": _run_floor,
        "gateway": _run_gateway,
        "stock": _run_stock,
    }
    with asyncio.Runner(loop_factory=server.loop_factory()) as runner:
        runner.run(runs[what](ready_path, **json.loads(arguments_json)))
