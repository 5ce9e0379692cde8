"""Two gateways on one PostgreSQL and one NATS server answer as one: what happens at one of them counts at the other."""

import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from support.clocks import avoid_midnight
from support.cluster import Member
from support.cluster_gateway import ClusterGateway, start_cluster
from support.command_line import CommandLine, domogate
from support.event_client import EventClient
from support.forms import the_form
from support.gateway import running
from support.http import Api
from support.restartable import is_ready
from support.spec_operations import E1, E6, E7

pytestmark = pytest.mark.slow

__all__ = ["domogate"]

PATIENCE = 200.0
BOUND = 20
OWNER, GUESSED, REVOKED = "anna@example.com", "bruno@example.com", "dario@example.com"
HOUSE = "ca5a0001-0000-4000-8000-000000000000"
APP = {"client_id": "demo-app", "client_secret": "demo-app-secret-0001"}
LOGOUT = "/auth/account/logout"
ALLOWED_LOGINS = 5
"""After this number of failed logins, the next attempt has to wait (services/people/login_throttle.py)."""


def wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Pair:
    """The two gateways, and a browser that opens pages of both."""

    def __init__(self, gateway: ClusterGateway) -> None:
        self.gateway = gateway
        self.members = gateway.cluster.members
        self.apis = [Api(member.base_url, gateway.subscription_key) for member in self.members]
        self.browser = httpx.Client(trust_env=False, timeout=PATIENCE)

    def close(self) -> None:
        self.browser.close()
        for api in self.apis:
            api.close()

    def token_of(self, email: str) -> str:
        """The token with which a person lists plants."""
        return self.gateway.people[email].token_for(E6)

    def list_plants(self, number: int, token: str, key: str = "") -> int:
        return self.apis[number].send(E6, token=token, key=key).status_code

    def show_house(self, token: str) -> list[int]:
        """The statuses of both gateways."""
        return [api.send(E7, {"plant": HOUSE}, token=token).status_code for api in self.apis]

    def wait_for(self, token: str, status: int) -> None:
        """Wait until both gateways answer this to the token."""
        wait_until(lambda: [self.list_plants(number, token) for number in range(2)] == [status] * 2)

    def log_in(self, member: Member, email: str, password: str) -> httpx.Response:
        form = the_form(self.browser.get(f"{member.base_url}/auth/login").text, "/auth/login")
        fields = {**form.fields, "email": email, "password": password}
        return self.browser.post(f"{member.base_url}/auth/login", data=fields)

    def is_logged_in(self, member: Member) -> bool:
        return self.browser.get(f"{member.base_url}/auth/account").status_code == 200

    def refresh(self, number: int) -> str:
        """Let a gateway issue a token with which the owner lists plants."""
        ready = next(user for user in self.gateway.ready["users"] if user["email"] == OWNER)
        form = {"grant_type": "refresh_token", "refresh_token": ready["refresh_token"], **APP}
        answer = self.apis[number].http.post("/auth/token", data=form)
        assert answer.status_code == 200, answer.text
        token: str = answer.json()[f"{E6.token}_token"]
        ready["refresh_token"] = answer.json()["refresh_token"]
        return token

    def revoke(self, number: int, token: str) -> None:
        assert self.apis[number].http.post("/auth/revoke", data={"token": token, **APP}).status_code == 200


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    settings = {"DOMOGATE_KNOWLEDGE_BOUND": str(BOUND)}
    with running(start_cluster("demo", tmp_path_factory.mktemp("pair"), settings, gateways=2)) as gateway:
        assert isinstance(gateway, ClusterGateway)
        pair = Pair(gateway)
        yield pair
        pair.close()


@pytest.fixture
def command_line(pair: Pair, domogate: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line on the database of the cluster."""
    folder = pair.gateway.cluster.postgres.socket.parent
    for name, value in pair.gateway.cluster.environment.items():
        if name.startswith("DOMOGATE_SECRET"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("DOMOGATE_DATABASE", f"postgresql+psycopg://postgres@/postgres?host={folder}")
    return domogate


class TestLogins:
    def test_a_session_of_one_gateway_is_valid_at_the_other_until_it_ends_there(self, pair: Pair) -> None:
        first, second = pair.members
        password = pair.gateway.people[OWNER].password
        assert not pair.is_logged_in(second)
        assert pair.log_in(first, OWNER, password).is_redirect
        assert pair.is_logged_in(second)
        page = pair.browser.get(f"{second.base_url}/auth/account").text
        pair.browser.post(f"{second.base_url}{LOGOUT}", data=the_form(page, LOGOUT).fields)
        wait_until(lambda: not pair.is_logged_in(first))

    def test_failed_logins_are_counted_together(self, pair: Pair) -> None:
        """Each gateway alone would allow all of these attempts."""
        pair.browser.cookies.clear()
        for attempt in range(2 * ALLOWED_LOGINS):
            if pair.log_in(pair.members[attempt % 2], GUESSED, "a wrong guess").status_code == 429:
                assert attempt >= ALLOWED_LOGINS
                return
        raise AssertionError("no attempt had to wait")


class TestRights:
    def test_a_right_that_is_withdrawn_counts_at_both(self, pair: Pair, command_line: CommandLine) -> None:
        token = pair.token_of(GUESSED)
        wait_until(lambda: pair.show_house(token) == [200, 200])  # A gateway refuses tokens while its knowledge is too old.
        command_line.good("plant", "withdraw", HOUSE, GUESSED)
        wait_until(lambda: pair.show_house(token) == [403, 403])
        command_line.good("plant", "allow", HOUSE, GUESSED)
        wait_until(lambda: pair.show_house(token) == [200, 200])

    def test_a_token_that_is_revoked_at_one_is_refused_by_the_other(self, pair: Pair) -> None:
        token = pair.token_of(REVOKED)
        wait_until(lambda: pair.list_plants(1, token) == 200)
        pair.revoke(0, pair.gateway.people[REVOKED].access_token)
        wait_until(lambda: pair.list_plants(1, token) == 401)

    def test_a_gateway_that_is_cut_off_is_not_ready_and_refuses(self, pair: Pair) -> None:
        token, member = pair.token_of(OWNER), pair.members[1]
        wait_until(lambda: pair.list_plants(1, token) == 200)
        member.cut(nats=False)
        try:
            wait_until(lambda: not is_ready(member.port))
            wait_until(lambda: pair.list_plants(1, token) == 500)
            wait_until(lambda: pair.list_plants(0, token) == 200)
        finally:
            member.heal()
        wait_until(lambda: is_ready(member.port) and pair.list_plants(1, token) == 200)


class TestLimits:
    def test_the_rate_and_the_quota_of_a_key_count_at_both(self, pair: Pair, command_line: CommandLine) -> None:
        """Each gateway alone would admit as many requests as the limit."""
        token, limit = pair.token_of(OWNER), 15
        for flags in (("--rate", f"{limit}/hour"), ("--daily-quota", str(limit))):
            avoid_midnight()
            key = command_line.good("key", "issue", "limited", *flags).strip()
            assert [pair.list_plants(0, token, key) for _ in range(limit + 1)] == [200] * limit + [429]
            admitted = 0
            while pair.list_plants(1, token, key) == 200:
                admitted += 1
                assert admitted < limit
                time.sleep(1.5)  # longer than a gateway takes to tell the other
            assert pair.list_plants(0, token, key) == 429


class TestStreams:
    def test_a_stream_goes_on_at_the_other_gateway_without_gap_or_repetition(self, pair: Pair) -> None:
        gateway = pair.gateway
        who, target = gateway.case(E1)
        token, key = gateway.people[who].access_token, gateway.subscription_key
        switched = 0

        def switch(times: int) -> None:
            nonlocal switched
            for _ in range(times):
                switched += 1
                body = b'{"status": "%s"}' % (b"on" if switched % 2 else b"off")
                assert pair.apis[switched // 2 % 2].send(E1, target, token=token, body=body).status_code == 200

        with EventClient(pair.members[0].base_url, key, token) as steady:
            with EventClient(pair.members[0].base_url, key, token) as first:
                wait_until(lambda: bool(steady.connections and first.connections))
                switch(6)
                wait_until(lambda: len(first.ids) >= 6)
            switch(4)
            with EventClient(pair.members[1].base_url, key, token, last_id=first.last_id) as second:
                switch(6)
                wait_until(lambda: len(steady.ids) >= switched)
                last = steady.ids[-1]
                second.wait_for_event(last)
        start = first.ids[0]
        moved = [cursor for cursor in (*first.ids, *second.ids) if cursor <= last]
        assert moved == [cursor for cursor in steady.ids if start <= cursor <= last]


class TestSigningKeys:
    def test_a_new_key_signs_at_one_and_verifies_at_the_other(self, pair: Pair, command_line: CommandLine) -> None:
        """Last, because an emergency rotation makes all earlier tokens invalid."""
        old = pair.token_of(OWNER)
        command_line.good("signing-key", "rotate", "--emergency", "--yes")
        pair.wait_for(old, 401)
        for issuer in range(2):
            pair.wait_for(pair.refresh(issuer), 200)
