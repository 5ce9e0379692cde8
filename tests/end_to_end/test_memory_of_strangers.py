"""Data that clients without credentials send does not stay in memory, in the database or in the log."""

import gc
import re
import secrets
import sqlite3
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.routing import Route

from domogate import app
from domogate.console.surface import PATHS
from domogate.edge.stack import ASGIApp
from domogate.settings import Settings
from support.auth_setup import open_auth_setup
from support.examples import is_long
from support.gateway import Gateway, eventually
from support.http import PATIENCE, case, connect, host_of, read_answer, request_bytes
from support.strangers import MARK, Filler, StrangerRequest, build, list_requests

pytestmark = pytest.mark.slow

MB = 1_000_000
LONG_PATHS = ("/homeauto/v1.0/plants/{}/topology", "/emergency-lighting/module/{}/spare-parts")
ROUNDS = 3 if is_long() else 1
LONG_REQUESTS = 2_000 if is_long() else 1_000
"""Their paths are longer than the memory that the gateway may take for them."""
REPEATS = 6
KEPT_BY_DESIGN = 3_000
"""Bytes that the gateway may keep of each request: hashes and counts. Each value that is sent has 8,000."""
MAX_BODY, PIECE = 65_536, 10_000
FILLED_BY_DEVICES = {"changes", "hourly_readings", "orders", "recent_readings", "series", "states"}
BOUNDED = {"attempts": ROUNDS * 3, "audit": 20}
"""Tables that strangers can fill, but only to a limit, with the number of rows that they may get here.

A login counts for the account, the IP address and both. Refusals of the same kind have one entry in a minute.
"""


def resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:"))


def count_rows(folder: Path) -> dict[str, int]:
    file = (folder / "domogate.sqlite3").as_uri()
    with closing(sqlite3.connect(f"{file}?mode=ro", uri=True, timeout=PATIENCE)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}


class TestPathsThatAreRefused:
    def test_long_ones_over_one_connection_take_no_memory(self, demo: Gateway) -> None:
        with connect(demo.base_url, timeout=30) as connection:
            before = resident(demo.process.pid)
            for number in range(LONG_REQUESTS):
                path = LONG_PATHS[number % 2].format(secrets.token_hex(15_000))
                connection.sendall(request_bytes("GET", path, [("Host", host_of(demo.base_url))]))
                assert read_answer(connection).status_code == 401
            assert resident(demo.process.pid) - before < 20 * MB


class TestEveryRoute:
    async def test_the_lists_are_whole(self, tmp_path: Path) -> None:
        """A new route that a stranger can call belongs into a list of support/strangers.py."""
        listed = {(request.method, request.path.partition("?")[0]) for request in list_requests()}
        async with open_auth_setup(tmp_path) as auth:
            routes = [route for route in auth.app().routes if isinstance(route, Route)]
        served = {
            (method, re.sub(r"\{\w+\}", "{}", it.path)) for it in routes for method in it.methods or () if method != "HEAD"
        }
        assert {it for it in served - listed if it[0] != "HEAD"} == set()
        assert {path.split("/")[1] for _, path in listed} >= PATHS

    def test_a_stranger_leaves_nothing_behind(self, workshop: Gateway, web: httpx.Client) -> None:
        web.base_url = workshop.base_url
        eventually(lambda: count_rows(workshop.data)["usages"] > 0, "the earlier use of the key is written")
        self._send_all(web)  # The first requests fill what every process keeps, such as documents and templates.
        rows, log, memory = count_rows(workshop.data), len(workshop.log), resident(workshop.process.pid)
        for _ in range(ROUNDS):
            self._send_all(web)
        grown = {name: now - rows[name] for name, now in count_rows(workshop.data).items() if name not in FILLED_BY_DEVICES}
        assert {name: more for name, more in grown.items() if more > BOUNDED.get(name, 0)} == {}
        assert [file.name for file in workshop.data.rglob("*") if file.is_file() and MARK.encode() in file.read_bytes()] == []
        assert workshop.log[log:] == ""
        assert resident(workshop.process.pid) - memory < 8 * MB

    @staticmethod
    def _send_all(web: httpx.Client) -> None:
        filler, login = Filler(), web.get("/auth/login")
        web.cookies.clear()
        for request in list_requests():
            sent = build(request, filler, login)
            with case(request):
                answer = web.request(sent.method, sent.target, headers=sent.headers, content=sent.content)
                assert answer.status_code < 500, answer.text
            web.cookies.clear()


@asynccontextmanager
async def open_application(folder: Path) -> AsyncIterator[ASGIApp]:
    """A whole gateway in this process, without its HTTP server."""
    gateway = app.Gateway(Settings(data=folder, port=49_152))
    served = await gateway.start()
    try:
        yield served
    finally:
        await gateway.stop()


@pytest.fixture
async def application(tmp_path: Path) -> AsyncIterator[ASGIApp]:
    async with open_application(tmp_path) as opened:
        yield opened


async def open_login_page(application: ASGIApp) -> httpx.Response:
    transport = httpx.ASGITransport(application, client=("192.0.2.7", 4711))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:49152") as web:
        return await web.get("/auth/login")


class TestOneProcess:
    async def test_reads_only_the_beginning_of_a_long_body(self, application: ASGIApp) -> None:
        filler, login, read = Filler(), await open_login_page(application), dict[str, int]()
        for request in list_requests():
            if request.method != "GET":
                sent = build(request, filler, login)._replace(content=b"x" * PIECE)
                read[str(request)] = await sent.call(application, pieces=100)
        assert {name: size for name, size in read.items() if size > MAX_BODY + PIECE} == {}
        assert max(read.values()) > MAX_BODY, "no request reached the limit"

    async def test_notes_repeated_refusals_only_once(self, tmp_path: Path) -> None:
        redeem = StrangerRequest("POST", "/tickets/redeem", json='{"ticket": "{}"}')
        async with open_application(tmp_path) as application:
            filler, login = Filler(), await open_login_page(application)
            for _ in range(60):
                await build(redeem, filler, login).call(application)
        assert 1 <= count_rows(tmp_path)["audit"] < 20

    async def test_keeps_no_value_of_a_request_in_memory(self, application: ASGIApp) -> None:
        filler, login, kept = Filler(6_000), await open_login_page(application), dict[str, int]()
        memory = 0

        async def measure(request: StrangerRequest) -> int:
            nonlocal memory
            before = memory
            for _ in range(REPEATS):
                await build(request, filler, login).call(application)
            memory = _traced_memory()
            return memory - before

        gc.collect()
        gc.freeze()  # Without this, each collection looks at the objects of all modules.
        tracemalloc.start()
        memory = _traced_memory()
        try:
            for request in list_requests(own=2):
                # Some tasks of the gateway run at any time, and the first request fills what every process keeps.
                tries = [await measure(request)]
                while min(tries) > REPEATS * KEPT_BY_DESIGN and len(tries) < 3:
                    tries.append(await measure(request))
                kept[str(request)] = min(tries)
        finally:
            tracemalloc.stop()
            gc.unfreeze()
        assert {name: size for name, size in kept.items() if size > REPEATS * KEPT_BY_DESIGN} == {}


def _traced_memory() -> int:
    cast(Any, urlsplit).cache_clear()  # Python keeps the last 128 URLs that it parsed.
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
