"""What clients without credentials send does not stay in memory, in the database or in the log."""

import re
import secrets
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.gateway import Gateway
from support.http import PATIENCE, case, connect, host_of, read_answer, request_bytes

pytestmark = pytest.mark.slow

MB = 1_000_000
PATHS = ("/homeauto/v1.0/plants/{}/topology", "/emergency-lighting/module/{}/spare-parts")
ROUNDS = 12
READ = (
    *("/?x={}", "/homes/{}", "/console/{}", "/developers/{}", "/signed-in?code={}", "/assets/{}", "/icon.svg?{}", "/{}"),
    *("/openapi?x={}", "/openapi/{}", "/home/v1/openapi.json?x={}", "/manage/v1/openapi.json?x={}"),
    *("/healthz?x={}", "/readyz?x={}", "/auth/.well-known/openid-configuration?x={}", "/auth/jwks?x={}", "/auth/{}"),
    *("/auth/pages/style.css?{}", "/auth/account", "/auth/account/email/confirm?token={}", "/auth/login?login_hint={}"),
    *("/auth/login?return_to=/auth/{}", "/auth/login/code?return_to=/auth/{}", "/auth/login/set-up?return_to=/auth/{}"),
    *("/auth/login/forgotten?return_to=/auth/{}", "/auth/password/{}", "/auth/password?token={}"),
    *("/auth/authorize?client_id={}", "/auth/logout?id_token_hint={}", "/auth/userinfo"),
    *("/home/v1/homes", "/home/v1/homes/{}", "/manage/v1/users", "/manage/v1/{}", "/events", "/webhooks/{}", "/tickets/{}"),
    *("/homeauto/v1.0/plants", "/homeauto/v1.0/plants/{}/topology", "/echo?x={}"),
)
"""Paths of GET requests. `{}` is different each time."""
POSTED = {
    "/auth/authorize": {"client_id": "{}"},
    "/auth/token": {"grant_type": "refresh_token", "refresh_token": "{}", "client_id": "{}"},
    "/auth/revoke": {"token": "{}", "client_id": "{}"},
    "/auth/introspect": {"token": "{}", "client_id": "{}", "client_secret": "{}"},
    "/auth/login/code": {"code": "{}"},
    "/auth/login/set-up": {"secret": "{}", "code": "{}"},
    "/auth/password": {"token": "{}", "password": "{}"},
    "/auth/logout": {"id_token_hint": "{}", "state": "{}"},
}
FROM_THE_LOGIN_PAGE = {
    "/auth/login": {"email": "{}@example.com", "password": "{}"},
    "/auth/login/passkey": {"answer": "{}"},
    "/auth/login/forgotten": {"email": "{}@example.com"},
}
"""Forms with the token of the login page, without which they have no effect."""
FILLED_BY_DEVICES = {"changes", "hourly_readings", "orders", "raw_readings", "series", "states"}
BOUNDED = {"attempts": ROUNDS * 3, "audit": 41 * 4}
"""Tables that strangers can fill, but only to a limit, with the number of rows that they may get here."""


def resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        pytest.skip("this system does not tell the memory of a process")
    return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmRSS:"))


def count_rows(gateway: Gateway) -> dict[str, int]:
    file = (gateway.data / "domogate.sqlite3").as_uri()
    with closing(sqlite3.connect(f"{file}?mode=ro", uri=True, timeout=PATIENCE)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}


class TestPathsThatAreRefused:
    def test_long_ones_over_one_connection_take_no_memory(self, demo: Gateway) -> None:
        with connect(demo.base_url, timeout=30) as connection:
            before = resident(demo.process.pid)
            for number in range(2_000):
                path = PATHS[number % 2].format(secrets.token_hex(15_000))
                connection.sendall(request_bytes("GET", path, [("Host", host_of(demo.base_url))]))
                assert read_answer(connection).status_code == 401
            assert resident(demo.process.pid) - before < 20 * MB


class TestRoutesWithoutCredentials:
    """A new route that a stranger can call belongs into one of the lists above."""

    def test_nothing_is_kept(self, workshop: Gateway, web: httpx.Client) -> None:
        web.base_url = workshop.base_url
        self._send_all(web)  # The first requests fill what every process keeps, such as documents and templates.
        rows, log, memory = count_rows(workshop), len(workshop.log), resident(workshop.process.pid)
        for _ in range(ROUNDS):
            self._send_all(web)
        grown = {name: now - rows[name] for name, now in count_rows(workshop).items() if name not in FILLED_BY_DEVICES}
        assert {name: more for name, more in grown.items() if more > BOUNDED.get(name, 0)} == {}
        assert workshop.log[log:] == ""
        assert resident(workshop.process.pid) - memory < 8 * MB

    def _send_all(self, web: httpx.Client) -> None:
        for path in READ:
            self._send(web, "GET", path)
        for path, form in POSTED.items():
            self._send(web, "POST", path, form)
        page = self._send(web, "GET", "/auth/login", cookies=False)
        hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.text))
        for path, form in FROM_THE_LOGIN_PAGE.items():
            self._send(web, "POST", path, {**hidden, **form}, cookies=False)
        web.cookies.clear()

    @staticmethod
    def _send(
        web: httpx.Client, method: str, path: str, form: Mapping[str, str] | None = None, *, cookies: bool = True
    ) -> httpx.Response:
        headers: dict[str, Any] = {
            "Authorization": f"Bearer {_filler()}.{_filler()}.{_filler()}",
            "Ocp-Apim-Subscription-Key": _filler(),
            "Origin": f"https://{secrets.token_hex(100)}.example",
            "X-Request-Id": _filler(),
            "User-Agent": _filler(),
            **({"Cookie": f"domogate_session={_filler()}; domogate_half_way={_filler()}"} if cookies else {}),
        }
        data = None if form is None else {name: value.replace("{}", _filler()) for name, value in form.items()}
        with case(f"{method} {path}"):
            answer = web.request(method, path.replace("{}", _filler()), headers=headers, data=data)
            assert answer.status_code < 500, answer.text
        return answer


def _filler() -> str:
    return secrets.token_urlsafe(2_000)
