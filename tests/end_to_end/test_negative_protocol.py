"""Wrong methods, paths and HTTP that no correct client sends."""

import http.client
import json
import select
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from support.gateway import Gateway
from support.http import (
    KEY_HEADER,
    PATIENCE,
    RawAnswer,
    case,
    connect,
    expect_refusal,
    host_of,
    raw_call,
    raw_exchange,
    read_answer,
    request_bytes,
)
from support.spec_operations import E1, E6, E8, E10, E12, OPERATIONS, PREFIXES, Operation
from support.spec_schemas import check_error

pytestmark = pytest.mark.slow

BROWSER_ACCEPTS = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=str)


def ask(gateway: Gateway, operation: Operation, path: str, method: str | None = None) -> RawAnswer:
    who, _ = gateway.case(operation)
    return raw_call(gateway.api, operation, path, token=gateway.people[who].token_for(operation), method=method)


class TestMethods:
    @every_operation
    def test_another_method_is_405_and_told_which_are_allowed(self, demo: Gateway, operation: Operation) -> None:
        _, target = demo.case(operation)
        others = {"GET", "POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"} - {operation.method}
        if operation in (E8, E12):
            others.remove("POST")  # an extension has this method on their paths
        for method in sorted(others):
            with case(method):
                answer = ask(demo, operation, operation.url(target), method)
                expect_refusal(operation, answer, 405)
                allowed = [name.strip() for name in answer.headers["allow"].split(",")]
                assert operation.method in allowed
                assert method not in allowed

    @pytest.mark.parametrize("method", ["FOO", "get", "GETT", "G E T", ""])
    def test_a_method_that_is_none_is_refused(self, demo: Gateway, method: str) -> None:
        with suppress(http.client.HTTPException, ConnectionError):  # a closed connection is a refusal too
            assert ask(demo, E6, E6.path, method).status_code in (400, 405)

    def test_trace_never_echoes_the_request(self, demo: Gateway) -> None:
        answer = ask(demo, E6, E6.path, "TRACE")
        assert demo.subscription_key not in answer.text
        assert "Authorization" not in answer.text

    def test_head_on_a_post_is_405(self, demo: Gateway) -> None:
        _, target = demo.case(E1)
        assert ask(demo, E1, E1.url(target), "HEAD").status_code == 405


WRONG_PATHS: dict[str, Callable[[str], str]] = {
    "a trailing slash": lambda path: path + "/",
    "a doubled slash inside": lambda path: "/" + path[1:].replace("/", "//", 1),
    "another word at its end": lambda path: path + "/more",
    "a missing last segment": lambda path: path.rsplit("/", 1)[0],
    "upper case": lambda path: path.split("/")[0] + "/" + "/".join(part.upper() for part in path.split("/")[1:]),
    "dot segment": lambda path: path.rsplit("/", 1)[0] + "/./" + path.rsplit("/", 1)[1],
    "dot dot segment": lambda path: path.rsplit("/", 1)[0] + "/x/../" + path.rsplit("/", 1)[1],
    "encoded dots": lambda path: path.rsplit("/", 1)[0] + "/x/%2e%2e/" + path.rsplit("/", 1)[1],
    "encoded dots and slash": lambda path: path.rsplit("/", 1)[0] + "/x%2f%2e%2e%2f" + path.rsplit("/", 1)[1],
    "an encoded slash": lambda path: "%2f".join(path.rsplit("/", 1)),
    "NUL at its end": lambda path: path + "%00",
    "NUL and a suffix": lambda path: path + "%00.json",
    "a parameter": lambda path: path + ";x=1",
    "a backslash": lambda path: "\\".join(path.rsplit("/", 1)),
    "an encoded space": lambda path: path + "%20",
    "bad UTF-8": lambda path: path + "%ff%fe",
}


class TestPaths:
    @every_operation
    def test_a_path_that_is_not_quite_an_operations_leads_nowhere(self, demo: Gateway, operation: Operation) -> None:
        _, target = demo.case(operation)
        for what, change in WRONG_PATHS.items():
            path = change(operation.url(target))
            if path == E12.url(target):
                continue  # E13 without its last segment is E12
            with case(f"{what}: {path}"):
                answer = ask(demo, operation, path)
                assert answer.status_code in (400, 404)
                if path.startswith(f"{operation.prefix}/"):
                    expect_refusal(operation, answer, 400, 404)
                elif answer.status_code == 404:
                    assert answer.json()

    @pytest.mark.parametrize("way", ["/..", "/%2e%2e", "/.%2e", "/..%2f", "/%2e%2e%2f", "/..;", "//.."])
    def test_there_is_no_way_from_one_family_into_another(self, demo: Gateway, way: str) -> None:
        for prefix in PREFIXES:
            path = prefix + way * (prefix.count("/")) + E10.path
            answer = ask(demo, E10, path)
            assert answer.status_code in (400, 404), path

    @pytest.mark.parametrize("prefix", PREFIXES)
    def test_an_unknown_url_under_a_prefix_is_404_in_the_familys_shape_without_any_credentials(
        self, demo: Gateway, prefix: str
    ) -> None:
        operation = next(operation for operation in OPERATIONS if operation.prefix == prefix)
        for path in (f"{prefix}/nowhere", f"{prefix}/", prefix):
            expect_refusal(operation, demo.api.http.get(path), 404)

    @pytest.mark.parametrize("path", ["/nowhere", "/homeauto/v2.0/plants", "/homeautomation/v1.0/plants", "/.git/config"])
    def test_what_belongs_to_no_family_is_404_in_shape_b(self, demo: Gateway, path: str) -> None:
        answer = demo.api.http.get(path)
        assert answer.status_code == 404
        check_error("B", 404, answer.json())

    @pytest.mark.parametrize("path", ["/nowhere", "/hommes/1", "/auth/acount", "/.git/config"])
    def test_a_browser_gets_a_page_with_a_way_home_in_its_language(self, demo: Gateway, path: str) -> None:
        answer = demo.api.http.get(path, headers={"accept": BROWSER_ACCEPTS, "accept-language": "de-CH, en;q=0.5"})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "<h1>Hier ist keine Seite</h1>" in answer.text
        assert 'href="/"' in answer.text
        head = demo.api.http.head(path, headers={"accept": BROWSER_ACCEPTS})
        assert (head.status_code, head.content) == (404, b"")

    @pytest.mark.parametrize("method", ["POST", "DELETE"])
    def test_only_reading_gets_the_page(self, demo: Gateway, method: str) -> None:
        answer = demo.api.http.request(method, "/nowhere", headers={"accept": BROWSER_ACCEPTS})
        check_error("B", 404, answer.json())

    @pytest.mark.parametrize("accept", ["*/*", "application/json", "application/problem+json, text/html;q=0.9", "text/plain"])
    def test_a_client_that_takes_json_gets_json(self, demo: Gateway, accept: str) -> None:
        check_error("B", 404, demo.api.http.get("/nowhere", headers={"accept": accept}).json())

    @pytest.mark.parametrize("root", [*(prefix.split("/")[1] for prefix in PREFIXES), "manage", "home", "developer", "openapi"])
    def test_an_api_never_answers_with_a_page(self, demo: Gateway, root: str) -> None:
        answer = demo.api.http.get(f"/{root}/nowhere", headers={"accept": BROWSER_ACCEPTS})
        assert answer.status_code in (401, 404)
        assert "html" not in answer.headers["content-type"]


def plain_headers(gateway: Gateway, *hosts: str) -> list[tuple[str, str]]:
    who, _ = gateway.case(E6)
    return [
        *(("Host", host) for host in hosts),
        (KEY_HEADER, gateway.subscription_key),
        ("Authorization", gateway.people[who].id_token),
        ("Connection", "close"),
    ]


class TestHost:
    def test_no_host_is_400(self, demo: Gateway) -> None:
        assert raw_exchange(demo.base_url, request_bytes("GET", E6.path, plain_headers(demo))).status_code == 400

    @pytest.mark.parametrize("second", ["same", "other"])
    def test_two_hosts_are_400(self, demo: Gateway, second: str) -> None:
        host = host_of(demo.base_url)
        headers = plain_headers(demo, host, host if second == "same" else "evil.example")
        assert raw_exchange(demo.base_url, request_bytes("GET", E6.path, headers)).status_code == 400

    @pytest.mark.parametrize("host", ["", "a b", "evil.example/path", "user@evil.example"])
    def test_a_host_that_is_none_is_400(self, demo: Gateway, host: str) -> None:
        assert raw_exchange(demo.base_url, request_bytes("GET", E6.path, plain_headers(demo, host))).status_code == 400

    def test_no_answer_speaks_of_the_host_it_was_asked_by(self, demo: Gateway) -> None:
        answer = raw_exchange(demo.base_url, request_bytes("GET", "/auth/jwks", plain_headers(demo, "evil.example")))
        assert "evil.example" not in answer.text + str(answer.headers)


class TestFraming:
    """Requests that two servers would parse differently."""

    @pytest.mark.parametrize(
        "framing",
        [
            [("Content-Length", "16"), ("Transfer-Encoding", "chunked")],
            [("Content-Length", "16"), ("Content-Length", "17")],
            [("Content-Length", "+16")],
            [("Content-Length", "-1")],
            [("Content-Length", "16x")],
            [("Content-Length", "0x10")],
            [("Transfer-Encoding", "chunked, identity")],
            [("Transfer-Encoding", "xchunked")],
        ],
        ids=str,
    )
    def test_doubtful_lengths_are_refused_and_switch_nothing(self, demo: Gateway, framing: list[tuple[str, str]]) -> None:
        who, target = demo.case(E1)
        plant = demo.estate.plant(target["plant"])
        assert demo.send(E1, target, who=who, body=b'{"status": "off"}').status_code == 200
        before = demo.plug_states(plant)
        headers = [
            ("Host", host_of(demo.base_url)),
            (KEY_HEADER, demo.subscription_key),
            ("Authorization", demo.people[who].access_token),
            ("Content-Type", "application/json"),
            *framing,
        ]
        try:
            answer = raw_exchange(demo.base_url, request_bytes("POST", E1.url(target), headers, b'{"status": "on"}'))
        except (http.client.HTTPException, ConnectionError):
            pass  # a closed connection is a refusal too
        else:
            assert answer.status_code in (400, 411, 501)
        assert demo.plug_states(plant) == before

    @pytest.mark.parametrize("line", ["X-Bad : 1", "X-Bad\x00: 1", "X-Bad: a\x00b", " folded", "no colon"])
    def test_header_lines_that_are_none_are_400(self, demo: Gateway, line: str) -> None:
        good = request_bytes("GET", E6.path, plain_headers(demo, host_of(demo.base_url)))
        head, _, rest = good.partition(b"\r\n")
        request = head + b"\r\n" + line.encode("latin-1") + b"\r\n" + rest
        with suppress(http.client.HTTPException, ConnectionError):  # a closed connection is a refusal too
            assert raw_exchange(demo.base_url, request).status_code == 400

    def test_headers_over_the_limit_are_refused(self, demo: Gateway) -> None:
        headers = [*plain_headers(demo, host_of(demo.base_url)), ("X-Long", "x" * 40_000)]
        assert raw_exchange(demo.base_url, request_bytes("GET", E6.path, headers)).status_code in (400, 431)

    def test_very_many_small_headers_are_refused(self, demo: Gateway) -> None:
        headers = [*plain_headers(demo, host_of(demo.base_url)), *((f"X-{n}", "x") for n in range(6000))]
        with suppress(ConnectionError):
            assert raw_exchange(demo.base_url, request_bytes("GET", E6.path, headers)).status_code in (400, 431)

    def test_a_very_long_path_is_refused(self, demo: Gateway) -> None:
        request = request_bytes("GET", "/homeauto/v1.0/" + "x" * 70_000, plain_headers(demo, host_of(demo.base_url)))
        with suppress(ConnectionError):
            assert raw_exchange(demo.base_url, request).status_code in (400, 404, 414, 431)

    def test_two_requests_on_one_connection_are_two_answers_each_with_its_own_credentials(self, demo: Gateway) -> None:
        host = host_of(demo.base_url)
        good = [header for header in plain_headers(demo, host) if header[0] != "Connection"]
        bare = [("Host", host), ("Connection", "close")]
        with connect(demo.base_url) as connection:
            connection.sendall(request_bytes("GET", E6.path, good))
            first = read_answer(connection)
            connection.sendall(request_bytes("GET", E6.path, bare))
            second = read_answer(connection)
        assert (first.status_code, second.status_code) == (200, 401)


class TestSlowClients:
    """The workshop's limits are 3 s for headers, 4 s for bodies, 8 s for idle connections, not 10 s, 30 s, 75 s."""

    def drip(self, gateway: Gateway, head: bytes, drop: bytes) -> bytes:
        """Send a byte from time to time until the server closes the connection. Returns its answer."""
        with connect(gateway.base_url) as connection:
            deadline = time.monotonic() + PATIENCE
            try:
                connection.sendall(head)
                while time.monotonic() < deadline:
                    answered, _, _ = select.select([connection], [], [], 0.25)
                    if answered:
                        return connection.recv(4096)
                    connection.sendall(drop)
            except ConnectionError:
                return b""
        raise AssertionError("the connection was kept open")

    def test_slow_headers_are_cut_off(self, workshop: Gateway) -> None:
        heard = self.drip(workshop, b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"x")
        assert not heard.startswith(b"HTTP/1.1 2")

    def test_a_connection_that_says_nothing_at_all_is_cut_off(self, workshop: Gateway) -> None:
        heard = self.drip(workshop, b"", b"")
        assert not heard.startswith(b"HTTP/1.1 2")

    def test_a_slow_body_is_cut_off_and_switches_nothing(self, workshop: Gateway) -> None:
        who, target = workshop.case(E1)
        plant = workshop.estate.plant(target["plant"])
        assert workshop.send(E1, target, who=who, body=b'{"status": "off"}').status_code == 200
        before = workshop.plug_states(plant)
        headers = [
            ("Host", host_of(workshop.base_url)),
            (KEY_HEADER, workshop.subscription_key),
            ("Authorization", workshop.people[who].access_token),
            ("Content-Length", "400"),
        ]
        heard = self.drip(workshop, request_bytes("POST", E1.url(target), headers, b'{"status": "on"'), b" ")
        assert not heard.startswith(b"HTTP/1.1 2")
        assert workshop.plug_states(plant) == before

    def test_many_slow_clients_do_not_keep_others_waiting(self, workshop: Gateway) -> None:
        slow = [connect(workshop.base_url) for _ in range(50)]
        try:
            for connection in slow:
                connection.sendall(b"GET / HTTP/1.1\r\n")
            who, target = workshop.case(E8)
            assert workshop.send(E8, target, who=who).status_code == 200
        finally:
            for connection in slow:
                connection.close()

    def test_a_client_that_leaves_in_the_middle_harms_nobody(self, workshop: Gateway) -> None:
        for request in (
            b"GET ",
            b"POST /echo/resource HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
            b"\r\n\r\n",
            b"\x16\x03\x01",
        ):
            with connect(workshop.base_url) as connection:
                connection.sendall(request)
        assert json.loads(workshop.api.http.get("/auth/jwks").content)["keys"]
