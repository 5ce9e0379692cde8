"""The Python client logs a person in at a real gateway, and refreshes the tokens."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from domogate.app import Tools
from domogate.domain.people import Client as RegisteredClient
from domogate_client import (
    AsyncClient,
    Client,
    FileTokenStore,
    Session,
    Tokens,
    begin_login,
    finish_login,
    log_in,
    log_in_async,
)
from domogate_client.errors import LoginFailed, LoginRequired, NoAnswer
from domogate_client.faults import TokenRefused
from domogate_client.login import LoginAttempt
from domogate_client.models.homeauto import SceneOrder
from support.gateway import Gateway
from support.relying_party import PersonBrowser, Secrets
from support.scripted_server import Step, scripted
from support.store_access import run_with_tools

pytestmark = pytest.mark.slow

ANNA = "anna@example.com"
SCOPES = ["topology.read", "light.read"]
APP = "desktop-app"


@pytest.fixture
def app(demo: Gateway) -> str:
    async def register(tools: Tools) -> None:
        scopes = ("topology.read", "light.read", "home.use")
        await tools.store.save_client(RegisteredClient(APP, "Desktop app", None, ("http://127.0.0.1/callback",), scopes=scopes))

    run_with_tools(demo, register)
    return APP


@pytest.fixture
def browser(demo: Gateway) -> Iterator[PersonBrowser]:
    visitor = PersonBrowser(demo, ANNA, Secrets())
    yield visitor
    visitor.close()


def opener(browser: PersonBrowser, **how: Any) -> Callable[[str], None]:
    """Opens the login page as the browser of a person does, in another thread."""

    def visit(url: str) -> None:
        callback = browser.grant_access(url, **how)
        assert httpx.get(callback, trust_env=False).status_code == 200

    return lambda url: threading.Thread(target=visit, args=(url,)).start()


def begin(demo: Gateway, app: str) -> LoginAttempt:
    return begin_login(demo.base_url, app, SCOPES, redirect_uri="http://127.0.0.1:8099/callback")


class TestLogin:
    def test_a_person_logs_in_and_the_client_reads_plants(self, demo: Gateway, app: str, browser: PersonBrowser) -> None:
        session = log_in(demo.base_url, app, SCOPES, open_browser=opener(browser))
        assert session.tokens is not None
        assert set(session.tokens.scope.split()) == {"openid", *SCOPES}
        with Client(demo.base_url, demo.subscription_key, session=session) as client:
            assert client.homeauto.list_plants().plants

    async def test_the_same_with_asyncio(self, demo: Gateway, app: str, browser: PersonBrowser) -> None:
        session = await log_in_async(demo.base_url, app, SCOPES, open_browser=opener(browser))
        async with AsyncClient(demo.base_url, demo.subscription_key, session=session) as client:
            assert (await client.homeauto.list_plants()).plants

    def test_a_person_who_refuses(self, demo: Gateway, app: str, browser: PersonBrowser) -> None:
        with pytest.raises(LoginFailed) as raised:
            log_in(demo.base_url, app, SCOPES, open_browser=opener(browser, decision="deny"))
        assert raised.value.error == "access_denied"

    def test_a_person_who_does_nothing(self, demo: Gateway, app: str) -> None:
        with pytest.raises(LoginFailed, match="timeout"):
            log_in(demo.base_url, app, SCOPES, open_browser=lambda _: None, patience=0.2)

    def test_requests_of_other_programs_do_not_end_the_wait(self, demo: Gateway, app: str, browser: PersonBrowser) -> None:
        statuses: list[int] = []

        def visit(url: str) -> None:
            place = httpx.URL(url).params["redirect_uri"]
            statuses.extend(httpx.get(f"{place}{query}", trust_env=False).status_code for query in ("", "?state=x&code=y"))
            opener(browser)(url)

        def open_browser(url: str) -> None:
            threading.Thread(target=visit, args=(url,)).start()

        assert log_in(demo.base_url, app, SCOPES, open_browser=open_browser).tokens is not None
        assert statuses == [404, 404]

    @pytest.mark.parametrize("uri", ["https://127.0.0.1/callback", "http://gateway.example/callback", "http://0.0.0.0/"])
    def test_the_redirect_stays_on_this_machine(self, uri: str) -> None:
        with pytest.raises(LoginFailed, match="wrong_redirect_uri"):
            log_in("http://127.0.0.1:1", APP, SCOPES, redirect_uri=uri)

    @pytest.mark.parametrize(
        ("change", "error"),
        [({"state": "other"}, "wrong_state"), ({"iss": "https://other.example"}, "wrong_issuer"), ({"code": ""}, "no_code")],
    )
    def test_a_callback_of_somebody_else_is_refused(self, change: dict[str, str], error: str) -> None:
        attempt = begin_login("http://127.0.0.1:1", APP, SCOPES, redirect_uri="http://127.0.0.1:8099/callback")
        given = {"state": attempt.state, "iss": "http://127.0.0.1:1/auth", "code": "code", **change}
        with pytest.raises(LoginFailed, match=error):
            finish_login(attempt, str(httpx.URL("/callback", params=given)))

    def test_an_id_token_of_another_login_is_refused(self, demo: Gateway, app: str, browser: PersonBrowser) -> None:
        attempt = begin(demo, app)
        callback = browser.grant_access(attempt.url)
        with pytest.raises(LoginFailed, match="wrong_id_token"):
            finish_login(msgspec.structs.replace(attempt, nonce="other"), callback)

    def test_the_text_of_an_attempt_has_no_secret(self) -> None:
        attempt = begin_login("http://127.0.0.1:1", APP, SCOPES, redirect_uri="http://127.0.0.1:8099/callback")
        assert attempt.verifier not in repr(attempt)


class Store:
    """A store in memory that counts."""

    def __init__(self, tokens: Tokens) -> None:
        self.saved = [tokens]

    def load(self) -> Tokens:
        return self.saved[-1]

    def save(self, tokens: Tokens) -> None:
        self.saved.append(tokens)


class AsyncStore:
    """The same with coroutines."""

    def __init__(self, tokens: Tokens) -> None:
        self.saved = [tokens]

    async def load(self) -> Tokens:
        return self.saved[-1]

    async def save(self, tokens: Tokens) -> None:
        await asyncio.sleep(0)
        self.saved.append(tokens)


@pytest.fixture
def tokens(demo: Gateway, app: str, browser: PersonBrowser) -> Tokens:
    attempt = begin(demo, app)
    found = finish_login(attempt, browser.grant_access(attempt.url)).tokens
    assert found is not None
    return found


def expired(tokens: Tokens) -> Tokens:
    return msgspec.structs.replace(tokens, expires_at=time.time() - 1)


def damaged(tokens: Tokens) -> Tokens:
    """Tokens that the gateway does not accept, although they have not expired."""
    return msgspec.structs.replace(tokens, id_token=tokens.id_token[:-4] + "AAAA")


class TestRefresh:
    @pytest.mark.parametrize("make", [expired, damaged])
    def test_parallel_threads_refresh_once(self, demo: Gateway, tokens: Tokens, make: Callable[[Tokens], Tokens]) -> None:
        store = Store(make(tokens))
        session = Session(APP, store=store)
        with Client(demo.base_url, demo.subscription_key, session=session) as client, ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: client.homeauto.list_plants(), range(8)))
        assert all(answer.plants for answer in answers)
        assert len(store.saved) == 2
        assert store.saved[1].refresh_token != tokens.refresh_token
        assert session.tokens == store.saved[1]

    @pytest.mark.parametrize("make", [expired, damaged])
    async def test_parallel_tasks_refresh_once(self, demo: Gateway, tokens: Tokens, make: Callable[[Tokens], Tokens]) -> None:
        store = AsyncStore(make(tokens))
        async with AsyncClient(demo.base_url, demo.subscription_key, session=Session(APP, store=store)) as client:
            answers = await asyncio.gather(*(client.homeauto.list_plants() for _ in range(8)))
        assert all(answer.plants for answer in answers)
        assert len(store.saved) == 2

    async def test_a_cancelled_call_does_not_lose_the_new_tokens(self, demo: Gateway, tokens: Tokens) -> None:
        store = AsyncStore(expired(tokens))
        session = Session(APP, store=store)
        async with AsyncClient(demo.base_url, demo.subscription_key, session=session) as client:
            call = asyncio.create_task(client.homeauto.list_plants())
            while not session.lock.is_held:
                await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert (await client.homeauto.list_plants()).plants
        assert len(store.saved) == 2

    def test_tokens_that_another_process_stored_are_used(self, demo: Gateway, tokens: Tokens, tmp_path: Path) -> None:
        file = FileTokenStore(tmp_path / "tokens.json")
        file.save(expired(tokens))
        sessions = [Session(APP, store=file), Session(APP, store=file)]
        for session in sessions:
            with Client(demo.base_url, demo.subscription_key, session=session) as client:
                assert client.homeauto.list_plants().plants
        assert sessions[0].tokens == sessions[1].tokens == file.load()
        assert (tmp_path / "tokens.json").stat().st_mode & 0o077 == 0
        assert [path.name for path in tmp_path.iterdir()] == ["tokens.json"]

    def test_a_store_that_fails_once_gets_the_tokens_at_the_next_call(self, demo: Gateway, tokens: Tokens) -> None:
        class Failing(Store):
            fails = True

            def save(self, tokens: Tokens) -> None:
                if self.fails:
                    self.fails = False
                    raise OSError("the disk is full")
                super().save(tokens)

        store = Failing(expired(tokens))
        with Client(demo.base_url, demo.subscription_key, session=Session(APP, store=store)) as client:
            with pytest.raises(OSError, match="full"):
                client.homeauto.list_plants()
            assert client.homeauto.list_plants().plants
        assert len(store.saved) == 2

    def test_a_revoked_grant_needs_a_login(self, demo: Gateway, tokens: Tokens) -> None:
        httpx.post(f"{demo.auth_url}/revoke", data={"token": tokens.refresh_token, "client_id": APP}, trust_env=False)
        with (
            Client(demo.base_url, demo.subscription_key, session=Session(APP, tokens=tokens)) as client,
            pytest.raises(LoginRequired),
        ):
            client.homeauto.list_plants()

    def test_a_lost_answer_is_asked_for_again_with_the_same_refresh_token(self, tokens: Tokens) -> None:
        fresh = b'{"access_token":"a","id_token":"i","refresh_token":"r","expires_in":3600}'
        with scripted(Step(drop=True), Step(body=fresh), Step()) as server:
            session = Session(APP, tokens=expired(tokens))
            with Client(server.url, "key", session=session) as client:
                client.homeauto.list_plants()
        first, second, read = server.got
        assert first.body == second.body
        assert read.headers["authorization"] == "Bearer i"

    def test_a_token_endpoint_that_never_answers(self, tokens: Tokens) -> None:
        with (
            scripted(Step(drop=True)) as server,
            Client(server.url, "k", session=Session(APP, tokens=expired(tokens))) as client,
        ):
            with pytest.raises(NoAnswer) as raised:
                client.homeauto.list_plants()
            assert tokens.refresh_token not in str(raised.value)
        assert {request.path for request in server.got} == {"/auth/token"}

    def test_a_command_is_repeated_after_a_refused_token(self, tokens: Tokens) -> None:
        """The gateway refuses the token before it executes anything."""
        refused = Step(401, {"www-authenticate": 'Bearer realm="domogate", error="invalid_token"'}, b"{}")
        fresh = Step(body=b'{"access_token":"a","id_token":"i","refresh_token":"r","expires_in":3600}')
        with (
            scripted(refused, fresh, refused) as server,
            Client(server.url, "key", session=Session(APP, tokens=tokens)) as client,
            pytest.raises(TokenRefused),
        ):
            client.homeauto.run_scene("plant", "scene", SceneOrder())
        assert [request.path.split("/")[1] for request in server.got] == ["homeauto", "auth", "homeauto"]
