"""E20 and its HTTP backend: the requests it gets, and the answers to its failures."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.gateway import QUICK, Gateway, running, start
from support.http import KEY_HEADER, PATIENCE, expect_refusal
from support.spec_operations import E20

pytestmark = pytest.mark.slow


class Backend(ThreadingHTTPServer):
    """An echo service that can be set to fail."""

    daemon_threads = True
    behaviour = "well"
    heard: list[tuple[dict[str, str], bytes]]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.heard = []
        self.given_up_on = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Some tests expect that the gateway closes the connection."""


class Answer(BaseHTTPRequestHandler):
    server: Backend

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.heard.append(({name.lower(): value for name, value in self.headers.items()}, body))
        behaviour = self.server.behaviour
        if behaviour == "slow":
            self.server.given_up_on.wait(PATIENCE)
        if behaviour == "hangs up":
            self.connection.close()
            return
        statuses = {"fails": 500, "redirects": 302, "is busy": 503}
        self.send_response(statuses.get(behaviour, 200))
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        if behaviour == "redirects":
            self.send_header("Location", "http://127.0.0.1:9/")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    server = Backend()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def gateway(backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    where = {"DOMOGATE_ECHO_URL": f"http://127.0.0.1:{backend.server_address[1]}/echo", "DOMOGATE_ECHO_DEADLINE": "3"}
    with running(start("demo", tmp_path_factory.mktemp("echo"), {**QUICK, **where})) as started:
        yield started


class TestABackendOfOnesOwn:
    def test_it_is_sent_xml_and_none_of_the_callers_credentials(self, backend: Backend, gateway: Gateway) -> None:
        backend.behaviour, backend.heard[:] = "well", []
        answer = gateway.send(E20)
        assert answer.status_code == 200
        ((headers, body),) = backend.heard
        assert ElementTree.fromstring(body).findtext("vehicleType") == "train"
        assert headers["content-type"].split(";")[0] == "application/xml"
        assert not {"authorization", KEY_HEADER.lower(), "cookie"} & headers.keys()
        assert answer.content == body

    @pytest.mark.parametrize(
        ("behaviour", "status"),
        [("fails", 502), ("is busy", 502), ("redirects", 502), ("hangs up", 502), ("slow", 504)],
    )
    def test_its_failures_are_told_apart_from_ours(
        self, backend: Backend, gateway: Gateway, behaviour: str, status: int
    ) -> None:
        backend.given_up_on.clear()
        backend.behaviour = behaviour
        expect_refusal(E20, gateway.send(E20), status)
        backend.given_up_on.set()
        backend.behaviour = "well"
        assert gateway.send(E20).status_code == 200

    def test_a_refused_request_never_reaches_it(self, backend: Backend, gateway: Gateway) -> None:
        backend.behaviour, backend.heard[:] = "well", []
        gateway.send(E20, body=b"[]")
        gateway.send(E20, token=None)
        gateway.send(E20, key=None)
        assert not backend.heard


def test_a_backend_that_is_not_there_is_502(tmp_path: Path) -> None:
    with running(start("demo", tmp_path, {"DOMOGATE_ECHO_URL": "http://127.0.0.1:9/echo"})) as gateway:
        expect_refusal(E20, gateway.send(E20), 502)
