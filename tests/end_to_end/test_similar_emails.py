"""Addresses that Unicode folding would make equal are different people, at every door (Decision 0061).

The long s (U+017F) folds to s: `ſam@example.com` is not `sam@example.com`.
"""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from domogate.domain.ids import new_id
from support.certification import Browser
from support.forms import forms_of
from support.gateway import Gateway, eventually, run_command, running, serve_estate
from support.identity import AUDIENCE
from support.issuer import HttpIssuer, IssuerKey, serve_issuer
from support.smtp_sink import SmtpSink, smtp_sink
from support.spec_operations import E6
from support.store_access import add_credentials

pytestmark = pytest.mark.slow

KEY = "key-of-similar-people"
SAM, LONG_S, OSCAR, OWNER = "sam@example.com", "\u017fam@example.com", "oscar@example.com", "owner@example.com"
LONG_OSCAR = "o\u017fcar@example.com"
PASSWORD = {
    SAM: "the password of Sam",
    LONG_S: "the password of long s",
    OSCAR: "the password of Oscar",
    OWNER: "the owner's own",
}
HOUSE = str(new_id())
ISSUER_KEY = IssuerKey("k1")


@dataclass
class Outside:
    """A mail server and an issuer of tokens, in a thread of their own."""

    mail: SmtpSink = field(default_factory=SmtpSink)
    issuer: HttpIssuer = field(default_factory=HttpIssuer)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _started: threading.Event = field(default_factory=threading.Event)

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self._run)
        thread.start()
        assert self._started.wait(30)
        return thread

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        async with AsyncExitStack() as opened:
            self.mail = await opened.enter_async_context(smtp_sink())
            self.issuer = await opened.enter_async_context(serve_issuer(ISSUER_KEY))
            self._started.set()
            await self._stop.wait()

    def token_for(self, email: str) -> str:
        """An id token of the issuer, for the person with this verified address."""
        now = int(time.time())
        claims = {"iss": self.issuer.url, "sub": email.encode().hex(), "aud": "their-app", "nonce": "n", "iat": now}
        return ISSUER_KEY.sign({**claims, "exp": now + 600, "email": email, "email_verified": True}).decode()


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    servers = Outside()
    thread = servers.start()
    yield servers
    servers.stop()
    thread.join()


def estate() -> dict[str, Any]:
    return {
        "users": [{"email": email, "password": password} for email, password in PASSWORD.items()],
        "subscriptions": [{"name": "similar", "key": KEY}],
        "clients": [{"id": "app", "name": "App", "scopes": ["topology.read"]}],
        "plants": [{"id": HOUSE, "name": "House", "type": "house", "owner": OWNER}],
    }


@pytest.fixture(scope="module")
def gateway(outside: Outside, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """The estate file has both people: the import takes them for two."""
    issuer = {
        "url": outside.issuer.url,
        "audiences": [AUDIENCE],
        "clients": {"their-app": "app"},
        "default_scopes": ["topology.read"],
    }
    settings = {
        "DOMOGATE_ISSUERS": json.dumps([issuer]),
        "DOMOGATE_SMTP_HOST": "127.0.0.1",
        "DOMOGATE_SMTP_PORT": str(outside.mail.port),
        "DOMOGATE_SMTP_SECURITY": "none",
        "DOMOGATE_SMTP_SENDER": "gateway@example.com",
    }
    with running(serve_estate(estate(), tmp_path_factory.mktemp("similar"), settings)) as started:
        yield add_credentials(started, KEY)


def log_in(gateway: Gateway, email: str, password: str) -> str | None:
    """The e-mail on the account page after the login, or None if it failed."""
    answer = Browser(gateway, email, password).go("/auth/login")
    if answer.url.path != "/auth/account":
        assert answer.status_code == 403
        return None
    return next(one for one in PASSWORD if one in answer.text)


def plants_of(gateway: Gateway, token: str) -> int:
    answer = gateway.api.send(E6, token=token)
    return {200: 1, 204: 0, 401: -1}[answer.status_code]


def test_a_login_opens_only_the_account_with_exactly_this_address(gateway: Gateway) -> None:
    for email, password in ((SAM, PASSWORD[SAM]), (LONG_S, PASSWORD[LONG_S]), (SAM.upper(), PASSWORD[SAM])):
        assert log_in(gateway, email, password) == (LONG_S if email == LONG_S else SAM)
    assert log_in(gateway, SAM, PASSWORD[LONG_S]) is None
    assert log_in(gateway, LONG_S, PASSWORD[SAM]) is None
    assert log_in(gateway, LONG_OSCAR, PASSWORD[OSCAR]) is None


def test_an_invitation_and_a_withdrawal_reach_only_the_person_with_exactly_this_address(gateway: Gateway) -> None:
    tokens = {email: gateway.people[email].id_token for email in (SAM, LONG_S)}
    gateway.domogate("plant", "invite", HOUSE, LONG_S)
    try:
        assert {email: plants_of(gateway, token) for email, token in tokens.items()} == {SAM: 0, LONG_S: 1}
        done = run_command(["plant", "withdraw", HOUSE, SAM, "--data", str(gateway.data)], gateway.environment)
        assert done.returncode != 0
        assert plants_of(gateway, tokens[LONG_S]) == 1
    finally:
        gateway.domogate("plant", "withdraw", HOUSE, LONG_S)


def test_a_token_of_another_issuer_is_for_exactly_this_address(gateway: Gateway, outside: Outside) -> None:
    gateway.domogate("plant", "invite", HOUSE, LONG_S)
    try:
        assert plants_of(gateway, outside.token_for(LONG_S)) == 1
        assert plants_of(gateway, outside.token_for(SAM)) == 0
        assert plants_of(gateway, outside.token_for(LONG_OSCAR)) == -1, "nobody has this address"
    finally:
        gateway.domogate("plant", "withdraw", HOUSE, LONG_S)


def test_a_link_for_a_forgotten_password_goes_only_to_exactly_this_address(gateway: Gateway, outside: Outside) -> None:
    outside.mail.receivers.clear()
    for email in (LONG_OSCAR, OSCAR.upper()):
        browser = Browser(gateway, email, "")
        page = browser.open("/auth/login/forgotten")
        form = next(one for one in forms_of(page.text) if one.action == "/auth/login/forgotten")
        assert browser.send(page, form, {"email": email}).status_code == 200
    eventually(lambda: bool(outside.mail.receivers), "the link is mailed")
    assert outside.mail.receivers == [OSCAR]


def test_an_estate_file_with_two_spellings_of_one_address_is_refused(gateway: Gateway, tmp_path: Path) -> None:
    file = tmp_path / "estate.yaml"
    file.write_text(json.dumps({"users": [{"email": SAM}, {"email": "SAM@Example.com"}]}))
    done = run_command(["estate", "check", str(file)], gateway.environment)
    assert done.returncode != 0
    file.write_text(json.dumps({"users": [{"email": SAM}, {"email": LONG_S}]}))
    assert run_command(["estate", "check", str(file)], gateway.environment).returncode == 0
