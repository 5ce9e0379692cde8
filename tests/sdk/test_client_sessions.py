"""One session for threads, tasks and event loops of the Python client: it refreshes once, and blocks no event loop."""

import asyncio
import base64
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from domogate_client import AsyncClient, Client, FileTokenStore, Session, Tokens
from domogate_client import tokens as token_module
from domogate_client._lock import SharedLock
from domogate_client.errors import DeadlineExceeded, LoginFailed, LoginRequired, NoAnswer
from support.both_clients import QUICK, Ask, both_clients
from support.scripted_server import ScriptedServer, Step, scripted

OLD = Tokens(access_token="old", id_token="old", refresh_token="refresh-1", expires_at=1.0)
NEW = b'{"access_token":"new","id_token":"new","refresh_token":"refresh-2","expires_in":3600}'
REFUSED = Step(400, body=b'{"error":"invalid_grant","error_description":"Used before."}')
PATIENCE = 60.0


def list_plants(client: Any) -> Any:
    return client.homeauto.list_plants()


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, an attempt of a refresh can take longer than usual. Then the client repeats it."""
    monkeypatch.setattr(token_module, "_LONGEST_ATTEMPT", PATIENCE)


def refreshes(server: ScriptedServer) -> int:
    return sum(request.path == "/auth/token" for request in server.got)


class TestSharing:
    async def test_threads_and_tasks_refresh_once(self) -> None:
        session = Session(tokens=OLD)
        with scripted(Step(body=NEW, pause=0.3), Step()) as server, ThreadPoolExecutor(4) as pool:
            with Client(server.url, "key", session=session) as blocking:
                async with AsyncClient(server.url, "key", session=session) as awaiting:
                    loop = asyncio.get_running_loop()
                    threads = [loop.run_in_executor(pool, blocking.homeauto.list_plants) for _ in range(4)]
                    await asyncio.gather(*threads, *(awaiting.homeauto.list_plants() for _ in range(4)))
            assert refreshes(server) == 1

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"access_token":1}', b"\xff\xfe"])
    def test_a_damaged_file_asks_for_a_login(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "tokens.json"
        path.write_bytes(content)
        store = FileTokenStore(path)
        with (
            Client("http://127.0.0.1:1", session=Session(store=store)) as client,
            pytest.raises(LoginRequired, match=r"tokens\.json does not contain tokens; log in again"),
        ):
            client.homeauto.list_plants()
        store.save(OLD)
        assert store.load() == OLD

    def test_a_session_outlives_an_event_loop(self) -> None:
        session = Session(tokens=OLD)

        async def call_twice(url: str) -> None:
            async with AsyncClient(url, "key", session=session) as client:
                await asyncio.gather(client.homeauto.list_plants(), client.homeauto.list_plants())

        # Tokens that expire at once: every call waits for the lock.
        with scripted(Step(body=b'{"plants":[],"access_token":"a","expires_in":0}')) as server:
            asyncio.run(call_twice(server.url))
            asyncio.run(call_twice(server.url))
        assert refreshes(server) == 4

    async def test_a_call_that_blocks_does_not_wait_for_a_task_of_its_own_thread(self) -> None:
        session = Session(tokens=OLD)
        with (
            scripted(Step(body=NEW, pause=0.3), Step(body=NEW), Step()) as server,
            Client(server.url, "key", session=session, deadline=PATIENCE) as blocking,
        ):
            async with AsyncClient(server.url, "key", session=session) as awaiting:
                task = asyncio.create_task(awaiting.homeauto.list_plants())
                while not server.got:
                    await asyncio.sleep(0.01)
                assert blocking.homeauto.list_plants().plants == []
                assert (await task).plants == []

    async def test_a_store_that_blocks_does_not_block_the_event_loop(self) -> None:
        loop_ran = threading.Event()

        class Slow:
            ran: list[bool] = []

            def load(self) -> Tokens:
                self.ran.append(loop_ran.wait(PATIENCE))
                return Tokens(id_token="stored")

            def save(self, tokens: Tokens) -> None:
                raise AssertionError("nothing is saved")

        store = Slow()
        with scripted(Step()) as server:
            async with AsyncClient(server.url, "key", session=Session(store=store)) as client:
                call = asyncio.create_task(client.homeauto.list_plants())
                while not store.ran and not call.done() and not loop_ran.is_set():
                    await asyncio.sleep(0.01)
                    loop_ran.set()
                await call
        assert store.ran == [True]

    @both_clients
    def test_waiting_for_the_lock_ends_at_the_deadline(self, ask: Ask) -> None:
        session = Session(tokens=OLD)
        turn = session.lock.acquire(PATIENCE)
        with scripted(Step()) as server, pytest.raises(DeadlineExceeded) as raised:
            ask(server.url, list_plants, session=session, deadline=0.2)
        assert not raised.value.may_be_done
        session.lock.release(turn)
        assert not session.lock.is_held
        assert server.got == []

    async def test_a_late_refresh_is_stored_when_the_client_closes(self) -> None:
        session = Session(tokens=OLD)
        with scripted(Step(body=NEW, pause=0.5)) as server:
            async with AsyncClient(server.url, "key", session=session, deadline=0.2) as client:
                with pytest.raises(DeadlineExceeded):
                    await client.homeauto.list_plants()
        assert session.tokens is not None
        assert session.tokens.refresh_token == "refresh-2"
        assert not session.lock.is_held


class TestLock:
    async def test_a_cancelled_task_leaves_the_queue(self) -> None:
        lock = SharedLock()
        first = await lock.acquire_async(PATIENCE)
        waiting = [asyncio.create_task(lock.acquire_async(PATIENCE)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        lock.release(first)
        waiting[1].cancel()
        turn = await waiting[2]
        assert lock.is_held
        lock.release(turn)
        assert not lock.is_held

    def test_many_threads_and_tasks_hold_it_one_by_one(self) -> None:
        lock, holders, most = SharedLock(), 0, 0

        def enter() -> None:
            nonlocal holders, most
            holders += 1
            most = max(most, holders)

        def leave() -> None:
            nonlocal holders
            holders -= 1

        def in_a_thread() -> None:
            for _ in range(50):
                turn = lock.acquire(PATIENCE)
                enter()
                time.sleep(0)
                leave()
                lock.release(turn)

        async def in_a_task() -> None:
            for _ in range(50):
                turn = await lock.acquire_async(PATIENCE)
                enter()
                await asyncio.sleep(0)
                leave()
                lock.release(turn)

        async def tasks() -> None:
            await asyncio.gather(*(in_a_task() for _ in range(3)))

        work: list[Callable[[], None]] = [in_a_thread, in_a_thread, lambda: asyncio.run(tasks()), lambda: asyncio.run(tasks())]
        with ThreadPoolExecutor(len(work)) as pool:
            for done in [pool.submit(one) for one in work]:
                done.result()
        assert most == 1
        assert not lock.is_held


@both_clients
class TestRefusedRefresh:
    def test_it_is_one_request_and_one_error_for_all_calls(self, ask: Ask) -> None:
        session = Session(tokens=OLD)
        with scripted(REFUSED) as server:
            for _ in range(3):
                with pytest.raises(LoginRequired, match="invalid_grant: Used before"):
                    ask(server.url, list_plants, session=session)
            assert refreshes(server) == 1

    @pytest.mark.parametrize("status", [429, 502, 503, 504])
    def test_a_refresh_is_repeated_while_the_gateway_is_not_available(self, ask: Ask, status: int) -> None:
        with scripted(Step(status), Step(body=NEW), Step()) as server:
            ask(server.url, list_plants, session=Session(tokens=OLD), retries=QUICK)
        assert refreshes(server) == 2

    def test_a_gateway_that_stays_away_is_no_failed_login(self, ask: Ask) -> None:
        with scripted(Step(503)) as server, pytest.raises(NoAnswer, match="status 503"):
            ask(server.url, list_plants, session=Session(tokens=OLD))
        assert refreshes(server) == 3

    @pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"access_token":""}'])
    def test_an_answer_without_a_token_does_not_replace_the_tokens(self, ask: Ask, body: bytes) -> None:
        session = Session(tokens=OLD)
        with scripted(Step(body=body)) as server, pytest.raises(LoginFailed, match="no_token"):
            ask(server.url, list_plants, session=session)
        assert session.tokens == OLD

    @pytest.mark.parametrize(
        "answer",
        [
            *({"access_token": "a", "expires_in": lifetime} for lifetime in (None, "soon", [1])),
            {"id_token": "e30." + base64.urlsafe_b64encode(b'{"exp":"late","iat":[]}').decode()},
            {"access_token": "a"},
        ],
    )
    def test_tokens_without_a_lifetime_are_used_until_they_are_refused(self, ask: Ask, answer: dict[str, Any]) -> None:
        with scripted(Step(body=json.dumps(answer).encode()), Step()) as server:
            ask(server.url, list_plants, times=2, session=Session(tokens=OLD))
        assert refreshes(server) == 1
