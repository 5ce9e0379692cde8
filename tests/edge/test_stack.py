"""The edge: request ids, CORS, HEAD, health, metrics, unexpected errors and the access log."""

import asyncio
import io
import json
from typing import Any

import pytest

from domogate.edge.metrics import Metrics
from domogate.edge.request_ids import current_request_id, next_request_id
from domogate.edge.stack import OPERATION, REQUEST_ID, Edge
from domogate.ports import StoreUnavailable
from support.edge_server import raw_connection, serving

FRIEND = b"https://app.example"


async def is_friend(origin: bytes) -> bool:
    return origin == FRIEND


class EchoApp:
    """A surface that answers with its request."""

    def __init__(self) -> None:
        self.scopes: list[dict[str, Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        if scope["path"] == "/boom":
            raise ZeroDivisionError("secret inside")
        if scope["path"] == "/unavailable":
            raise StoreUnavailable
        if scope["path"] == "/half":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            raise ZeroDivisionError("secret inside")
        if scope["path"] == "/nothing":
            return
        if scope["path"].startswith("/homeauto"):
            scope[OPERATION] = "E8"
        body = json.dumps({"method": scope["method"], "id": scope[REQUEST_ID], "context": current_request_id.get()}).encode()
        headers = ((b"content-length", b"%d" % len(body)), (b"etag", b'"1"'))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body[:5], "more_body": True})
        await send({"type": "http.response.body", "body": body[5:]})


class EdgeClient:
    """An edge around an inner app, called in process."""

    def __init__(self, *, ready: bool = True, access_log: bool = False) -> None:
        self.inner = EchoApp()
        self.ready = ready
        self.warnings: dict[str, str] = {}
        self.metrics = Metrics()
        self.edge = Edge(
            self.inner,
            is_allowed_origin=is_friend,
            is_ready=lambda: self.ready,
            metrics=self.metrics,
            access_log=access_log,
            surfaces=frozenset({"auth"}),
            find_warnings=lambda: self.warnings,
            gateway_id="this one",
        )

    async def __call__(self, path: str = "/x", method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
        sent: list[Any] = []
        fields = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
        scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "headers": fields}
        scope["query_string"], scope["client"] = b"subscription-key=hidden", ("192.0.2.1", 5)

        async def send(message: Any) -> None:
            sent.append(message)

        await asyncio.create_task(self.edge(scope, None, send))
        start, *bodies = sent
        joined: dict[str, str] = {}
        for name, value in start["headers"]:
            key = name.decode()
            joined[key] = f"{joined[key]}, {value.decode()}" if key in joined else value.decode()
        assert not bodies[-1].get("more_body")
        return start["status"], joined, b"".join(message["body"] for message in bodies)

    def count(self, operation: str, status: int) -> float | None:
        labels = {"api": operation, "operation": operation, "status": str(status)}
        return self.metrics.registry.get_sample_value("domogate_requests_total", labels)


class TestRequestIds:
    async def test_every_answer_has_its_own_and_the_inner_app_knows_it(self) -> None:
        ask = EdgeClient()
        answers = [await ask() for _ in range(3)]
        ids = [headers["x-request-id"] for _, headers, _ in answers]
        assert len(set(ids)) == 3
        for request_id, (_, _, body) in zip(ids, answers, strict=True):
            assert json.loads(body)["id"] == json.loads(body)["context"] == request_id

    @pytest.mark.parametrize("given", ["a", "5f3c-00", "A.b_c-9", "x" * 64])
    async def test_a_harmless_one_is_taken_over(self, given: str) -> None:
        assert (await EdgeClient()(x_request_id=given))[1]["x-request-id"] == given

    @pytest.mark.parametrize("given", ["", "x" * 65, "a b", "a\r\nb", "a\n", "-a", "<script>", "é", "a,b", "../x", "$(x)"])
    async def test_any_other_is_not(self, given: str) -> None:
        request_id = (await EdgeClient()(x_request_id=given))[1]["x-request-id"]
        assert request_id != given
        assert request_id.isascii()

    def test_they_never_repeat(self) -> None:
        assert len({next_request_id() for _ in range(10_000)}) == 10_000


class TestCors:
    async def test_a_preflight_of_a_friend_is_answered_before_anybody_else(self) -> None:
        ask = EdgeClient()
        status, headers, body = await ask(
            "/homeauto/v1.0/plants", "OPTIONS", origin=FRIEND.decode(), access_control_request_method="POST"
        )
        assert (status, body) == (204, b"")
        assert ask.inner.scopes == []
        assert headers["access-control-allow-origin"] == FRIEND.decode()
        assert "POST" in headers["access-control-allow-methods"]
        for name in ("Authorization", "Ocp-Apim-Subscription-Key", "Content-Type", "If-None-Match"):
            assert name in headers["access-control-allow-headers"]
        for name in ("Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"):
            assert name in headers["vary"]
        assert "content-length" not in headers

    async def test_a_preflight_of_a_stranger_gets_no_permission(self) -> None:
        ask = EdgeClient()
        status, headers, body = await ask("/x", "OPTIONS", origin="https://evil.example", access_control_request_method="GET")
        assert (status, body) == (204, b"")
        assert ask.inner.scopes == []
        assert not [name for name in headers if name.startswith("access-control")]
        assert "Origin" in headers["vary"]

    async def test_a_friend_may_read_the_answer_and_its_headers(self) -> None:
        _, headers, _ = await EdgeClient()(origin=FRIEND.decode())
        assert headers["access-control-allow-origin"] == FRIEND.decode()
        exposed = headers["access-control-expose-headers"].split(", ")
        assert {"ETag", "X-Request-Id", "Retry-After", "Deprecation", "Sunset", "Link", "WWW-Authenticate", "X-Fault"} <= set(
            exposed
        )
        assert {"RateLimit", "RateLimit-Policy", "X-RateLimit-Remaining", "X-Quota-Remaining"} <= set(exposed)
        assert headers["vary"] == "Origin"

    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "*", "https://app.example.evil.example", ""])
    async def test_a_stranger_may_not(self, origin: str) -> None:
        status, headers, _ = await EdgeClient()(origin=origin)
        assert status == 200
        assert not [name for name in headers if name.startswith("access-control")]
        assert headers["vary"] == "Origin"

    @pytest.mark.parametrize("origin", [FRIEND.decode(), "https://evil.example"])
    async def test_never_a_wildcard_and_never_credentials(self, origin: str) -> None:
        for method, wanted in (("GET", {}), ("OPTIONS", {"access_control_request_method": "GET"})):
            _, headers, _ = await EdgeClient()("/x", method, origin=origin, **wanted)
            assert headers.get("access-control-allow-origin") != "*"
            assert "access-control-allow-credentials" not in headers

    async def test_an_answer_without_origin_says_that_it_varies(self) -> None:
        _, headers, _ = await EdgeClient()()
        assert headers["vary"] == "Origin"
        assert "access-control-allow-origin" not in headers

    @pytest.mark.parametrize("headers", [{"origin": FRIEND.decode()}, {"access_control_request_method": "GET"}, {}])
    async def test_another_options_request_goes_to_the_app(self, headers: dict[str, str]) -> None:
        ask = EdgeClient()
        await ask("/x", "OPTIONS", **headers)
        assert ask.inner.scopes[0]["method"] == "OPTIONS"

    async def test_even_a_failure_can_be_read_by_a_friend(self) -> None:
        status, headers, _ = await EdgeClient()("/boom", origin=FRIEND.decode())
        assert status == 500
        assert headers["access-control-allow-origin"] == FRIEND.decode()


class TestHead:
    async def test_it_is_get_with_the_same_headers_and_no_body(self) -> None:
        ask = EdgeClient()
        status, get_headers, body = await ask(x_request_id="same")
        head_status, head_headers, nothing = await ask(method="HEAD", x_request_id="same")
        assert (status, get_headers) == (head_status, head_headers)
        assert body
        assert nothing == b""
        assert ask.inner.scopes[1]["method"] == "GET"

    async def test_its_operation_is_counted(self) -> None:
        ask = EdgeClient()
        await ask("/homeauto/x", "HEAD")
        assert ask.count("E8", 200) == 1

    async def test_on_the_wire_the_next_answer_follows_at_once(self) -> None:
        async with serving(EdgeClient().edge) as bound, raw_connection(bound.port) as connection:
            await connection.send(b"HEAD /x HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            head = await connection.reader.readuntil(b"\r\n\r\n")
            assert b"content-length: " in head
            assert (await connection.read_answer())[3] == b'{"status":"alive"}'

    @pytest.mark.parametrize("path", ["/healthz", "/readyz", "/boom"])
    async def test_the_edge_s_own_answers_have_no_body_either_on_the_wire(self, path: str) -> None:
        async with serving(EdgeClient().edge) as bound, raw_connection(bound.port) as connection:
            await connection.send(b"HEAD %b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % path.encode())
            assert (await connection.read_all()).endswith(b"\r\n\r\n")


class TestHealth:
    async def test_alive_is_alive_even_when_not_ready(self) -> None:
        status, headers, body = await EdgeClient(ready=False)("/healthz")
        assert (status, json.loads(body)) == (200, {"status": "alive"})
        assert headers["cache-control"] == "no-store"

    async def test_ready_says_when_it_is_and_when_it_is_not(self) -> None:
        ask = EdgeClient(ready=False)
        assert (await ask("/readyz"))[0] == 503
        ask.ready = True
        assert (await ask("/readyz"))[0] == 200

    async def test_ready_names_the_gateway_in_a_header(self) -> None:
        for ready in (True, False):
            assert (await EdgeClient(ready=ready)("/readyz"))[1]["x-gateway-id"] == "this one"

    async def test_a_stranger_learns_the_kinds_of_warnings_and_not_their_texts(self) -> None:
        ask = EdgeClient()
        assert (await ask("/readyz"))[2] == b'{"status":"ready"}'
        ask.warnings = {"writes": "/srv/data/domogate.sqlite3 cannot be written", "backup": "/srv/backups is full"}
        status, _, body = await ask("/readyz")
        assert (status, json.loads(body)) == (200, {"status": "ready", "warnings": ["writes", "backup"]})

    async def test_another_method_is_405(self) -> None:
        status, headers, _ = await EdgeClient()("/readyz", "POST")
        assert (status, headers["allow"]) == (405, "GET, HEAD")


class TestLastResort:
    async def test_an_app_that_fails_is_a_plain_500_that_tells_nothing(self, caplog: pytest.LogCaptureFixture) -> None:
        status, headers, body = await EdgeClient()("/boom")
        assert status == 500
        assert json.loads(body)["statusCode"] == 500
        assert b"secret" not in body
        assert b"ZeroDivision" not in body
        assert headers["content-type"] == "application/json"
        assert headers["x-request-id"]

    async def test_without_its_database_it_is_a_503_that_says_when_to_try_again(self) -> None:
        status, headers, body = await EdgeClient()("/unavailable")
        assert (status, headers["retry-after"], json.loads(body)["statusCode"]) == (503, "1", 503)

    async def test_one_that_fails_half_way_is_cut_off(self) -> None:
        async with serving(EdgeClient().edge) as bound, raw_connection(bound.port) as connection:
            await connection.send(b"GET /half HTTP/1.1\r\nHost: a\r\n\r\n")
            everything = await connection.read_all()
            assert b"200 OK" in everything
            assert not everything.endswith(b"0\r\n\r\n")

    async def test_one_that_answers_nothing_is_a_500_and_counted_as_gone(self) -> None:
        ask = EdgeClient()
        assert (await ask("/nothing"))[0] == 500
        assert ask.count("other", 499) == 1


class TestCounting:
    async def test_requests_are_counted_by_operation_surface_or_other(self) -> None:
        ask = EdgeClient()
        for path in ("/homeauto/v1.0/x", "/auth/jwks", "/auth", "/wp-admin.php", "/", "/boom", "/readyz"):
            await ask(path)
        assert ask.count("E8", 200) == 1
        assert ask.count("auth", 200) == 2
        assert ask.count("other", 200) == 2
        assert ask.count("other", 500) == 1
        assert ask.count("readyz", 200) == 1

    async def test_labels_do_not_grow_with_what_strangers_ask(self) -> None:
        ask = EdgeClient()
        for number in range(200):
            await ask(f"/{number}", f"M{number}", origin=f"https://{number}.example")
        assert ask.count("other", 200) == 200

    async def test_durations_are_kept(self) -> None:
        ask = EdgeClient()
        await ask("/homeauto/x")
        read, labels = ask.metrics.registry.get_sample_value, {"api": "E8", "operation": "E8"}
        assert read("domogate_request_seconds_count", labels) == 1
        assert read("domogate_request_seconds_bucket", {**labels, "le": "+Inf"}) == 1

    async def test_none_are_in_flight_afterwards(self) -> None:
        ask = EdgeClient()
        await ask("/boom")
        await ask()
        assert ask.metrics.registry.get_sample_value("domogate_requests_in_flight") == 0

    @pytest.mark.parametrize("fails", [False, True])
    async def test_an_open_stream_is_not_in_flight(self, fails: bool) -> None:
        metrics, seen = Metrics(), []

        async def stream(scope: Any, _receive: Any, send: Any) -> None:
            scope["domogate.stream"] = True
            seen.append(metrics.in_flight)
            if fails:
                raise ZeroDivisionError
            await send({"type": "http.response.start", "status": 200, "headers": []})
            seen.append(metrics.in_flight)
            await send({"type": "http.response.body", "body": b""})

        edge = Edge(stream, is_allowed_origin=is_friend, is_ready=lambda: True, metrics=metrics, access_log=False)
        async with serving(edge) as bound, raw_connection(bound.port) as connection:
            await connection.send(b"GET /events HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            await connection.read_all()
        assert (seen, metrics.in_flight) == ([1] if fails else [1, 0], 0)

    async def test_it_works_without_metrics(self) -> None:
        edge = Edge(EchoApp(), is_allowed_origin=is_friend, is_ready=lambda: True, metrics=Metrics(), access_log=False)
        async with serving(edge) as bound, raw_connection(bound.port) as connection:
            await connection.send(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
            assert (await connection.read_answer())[0] == 200


class TestLogging:
    async def test_a_request_is_one_line_without_query_and_headers(self, json_log: io.StringIO) -> None:
        ask = EdgeClient(access_log=True)
        await ask("/homeauto/x%0Ay", authorization="Bearer hidden", x_request_id="mine")
        (line,) = [json.loads(line) for line in json_log.getvalue().splitlines()]
        assert line["event"] == "request"
        assert (line["method"], line["path"], line["status"]) == ("GET", "/homeauto/x%0Ay", 200)
        assert (line["client"], line["operation"], line["request_id"]) == ("192.0.2.1", "E8", "mine")
        assert "hidden" not in json_log.getvalue()

    async def test_a_long_path_is_cut(self, json_log: io.StringIO) -> None:
        await EdgeClient(access_log=True)("/homeauto/" + "x" * 30_000)
        assert len(json_log.getvalue()) < 1_000

    async def test_by_default_there_is_none(self, json_log: io.StringIO) -> None:
        await EdgeClient()()
        assert json_log.getvalue() == ""

    async def test_a_failure_is_logged_with_its_traceback_and_the_id_of_the_answer(self, json_log: io.StringIO) -> None:
        _, headers, _ = await EdgeClient()("/boom")
        (line,) = [json.loads(line) for line in json_log.getvalue().splitlines()]
        assert "ZeroDivisionError" in line["exception"]
        assert line["request_id"] == headers["x-request-id"]
