"""A gateway is recorded over HTTP, and its answers are served again."""

import json
import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from threading import Thread

import httpx
import pytest

from domogate.recording import exchanges
from domogate.recording.exchanges import BadRecording, RecordingFile, read_recording
from domogate.recording.recorder import Recorder
from domogate.recording.replayer import Replayer
from domogate.recording.server import LARGEST_REQUEST, Answer, Request, Responder, ToolServer
from support.small_disk import limit_files

FAMILIES = ("homeauto", "echo")
JSON = [("Content-Type", "application/json"), ("X-Request-Id", "1")]


class Upstream(Responder):
    """A gateway that remembers the requests, and answers as it is told."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.reply: Callable[[Request], Answer] = lambda _: Answer(200, JSON, b'{"status": "on", "name": "Anna"}')

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        return self.reply(request)


@contextmanager
def served(responder: Responder) -> Iterator[httpx.Client]:
    with ToolServer("127.0.0.1", 0, responder) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            with httpx.Client(base_url=server.url, trust_env=False, timeout=30) as client:
                yield client
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def upstream() -> Iterator[tuple[Upstream, str]]:
    responder = Upstream()
    with served(responder) as client:
        yield responder, str(client.base_url)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home.jsonl"


@contextmanager
def recording(url: str, path: Path) -> Iterator[httpx.Client]:
    with closing(RecordingFile(path)) as file, served(Recorder(url, file, FAMILIES)) as client:
        yield client


def replaying(path: Path) -> AbstractContextManager[httpx.Client]:
    return served(Replayer(read_recording(path)))


class TestRecorder:
    def test_a_request_is_forwarded_whole_and_kept_without_secrets(self, upstream: tuple[Upstream, str], file: Path) -> None:
        responder, url = upstream
        headers = {"Authorization": "Bearer hidden-token", "Ocp-Apim-Subscription-Key": "hidden-key"}
        with recording(url, file) as client:
            answer = client.post("/homeauto/v1.0/x?a=1", headers=headers, json={"hidden": "body"})
        assert (answer.status_code, answer.json()["name"], answer.headers["X-Request-Id"]) == (200, "Anna", "1")
        (request,) = responder.requests
        assert (request.method, request.target, json.loads(request.body)) == (
            "POST",
            "/homeauto/v1.0/x?a=1",
            {"hidden": "body"},
        )
        assert request.headers["authorization"] == "Bearer hidden-token"
        assert "hidden" not in file.read_text()
        assert "Anna" not in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600

    def test_only_answers_of_families_are_kept(self, upstream: tuple[Upstream, str], file: Path) -> None:
        with recording(upstream[1], file) as client:
            assert client.post("/auth/token", data={"code": "x"}).status_code == 200
        assert file.read_bytes() == b""

    def test_an_odd_target_or_status_is_forwarded_and_not_kept(self, upstream: tuple[Upstream, str], file: Path) -> None:
        many = "&".join(f"f{number}=1" for number in range(60))
        with recording(upstream[1], file) as client:
            assert client.get(f"/echo?{many}").status_code == 200
            upstream[0].reply = lambda _: Answer(799, [], b"")
            assert client.get("/echo").status_code == 799
        assert file.read_bytes() == b""
        with replaying(file) as client:
            assert client.get(f"/echo?{many}").status_code == 404

    def test_a_gateway_without_an_answer_is_502(self, file: Path) -> None:
        with recording("http://127.0.0.1:1", file) as client:
            assert client.get("/homeauto/v1.0/plants").status_code == 502
        assert file.read_bytes() == b""

    def test_a_full_recording_still_forwards(
        self, upstream: tuple[Upstream, str], file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(exchanges, "LARGEST_RECORDING", 300)
        with closing(RecordingFile(file)) as kept:
            told: list[str] = []
            with served(Recorder(upstream[1], kept, FAMILIES, tell=told.append)) as client:
                assert {client.get(f"/echo/{number}").status_code for number in range(9)} == {200}
        assert len(file.read_bytes()) <= 300
        assert len(told) == 1

    def test_a_disk_without_space_ends_the_recording_and_the_reason_is_told_once(
        self, upstream: tuple[Upstream, str], file: Path
    ) -> None:
        body = json.dumps({"value": [1] * 40_000}).encode()
        upstream[0].reply = lambda _: Answer(200, JSON, body)
        told: list[str] = []
        with closing(RecordingFile(file)) as kept, served(Recorder(upstream[1], kept, FAMILIES, tell=told.append)) as client:
            limit_files(os.getpid(), 100_000)
            try:
                answers = [client.get(f"/echo/{number}").content for number in range(4)]
            finally:
                limit_files(os.getpid(), None)
            assert client.get("/echo/later").content == body
        assert answers == [body] * 4
        assert told == ["The recording ends here: File too large. Further answers are forwarded, but not kept."]
        assert [exchange.target for exchange in read_recording(file)] == ["/echo/0"]
        assert kept.count == 1

    def test_a_text_that_is_not_unicode_is_forwarded(self, upstream: tuple[Upstream, str], file: Path) -> None:
        upstream[0].reply = lambda _: Answer(200, JSON, rb'{"id": "a\ud800b"}')
        with recording(upstream[1], file) as client:
            assert client.get("/echo").content == rb'{"id": "a\ud800b"}'
        assert [exchange.body for exchange in read_recording(file)] == [None]

    def test_an_answer_to_head_names_the_length_of_the_body(self, upstream: tuple[Upstream, str], file: Path) -> None:
        with recording(upstream[1], file) as client:
            assert client.head("/echo").headers["Content-Length"] == client.get("/echo").headers["Content-Length"] == "32"

    def test_an_answer_that_ends_too_early_is_502_and_not_kept(self, upstream: tuple[Upstream, str], file: Path) -> None:
        upstream[0].reply = lambda _: Answer(200, [*JSON, ("Content-Length", "9"), ("Connection", "close")], b"[1,2]")
        with recording(upstream[1], file) as client:
            answer = client.get("/echo")
        assert (answer.status_code, answer.text) == (502, "The gateway gave no answer: the answer ended after 5 of 9 bytes")
        assert file.read_bytes() == b""

    def test_an_existing_file_is_not_replaced(self, file: Path) -> None:
        file.write_text("precious")
        with pytest.raises(FileExistsError):
            RecordingFile(file)

    @pytest.mark.parametrize("url", ["ftp://x", "nonsense", "http://user:word@x"])
    def test_an_upstream_that_is_no_plain_url_is_refused(self, url: str, file: Path) -> None:
        with closing(RecordingFile(file)) as kept, pytest.raises(ValueError, match="is not a URL"):
            Recorder(url, kept, FAMILIES)


class TestServer:
    def test_a_large_body_and_a_body_without_a_length_are_refused(self, upstream: tuple[Upstream, str]) -> None:
        responder, url = upstream
        assert httpx.post(url, content=b"x" * (LARGEST_REQUEST + 1), trust_env=False).status_code == 413
        assert httpx.post(url, content=iter([b"x"]), trust_env=False).status_code == 411
        assert not responder.requests

    def test_a_request_whose_client_ends_the_connection_is_dropped(self, upstream: tuple[Upstream, str]) -> None:
        """The first part of a body can be a whole command too."""
        responder, url = upstream
        with socket.create_connection((httpx.URL(url).host, httpx.URL(url).port or 0), timeout=30) as connection:
            connection.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{}")
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(100) == b""
        assert not responder.requests


class TestReplayer:
    def test_equal_requests_get_their_answers_in_order_and_the_last_repeats(
        self, upstream: tuple[Upstream, str], file: Path
    ) -> None:
        levels = iter([10, 20])
        upstream[0].reply = lambda _: Answer(200, JSON, json.dumps({"level": next(levels)}).encode())
        with recording(upstream[1], file) as client:
            assert [client.get("/homeauto/x?b=2&a=1").json()["level"] for _ in range(2)] == [10, 20]
        with replaying(file) as client:
            assert [client.get("/homeauto/x?a=1&b=2").json()["level"] for _ in range(3)] == [10, 20, 20]

    @pytest.mark.parametrize(
        ("answer", "body"),
        [
            (Answer(204, [], b""), b""),
            (Answer(408, JSON, b"null"), b"null"),
            (Answer(200, [("Content-Type", "image/png")], b"picture"), b""),
            (Answer(200, JSON, b""), b""),
            (Answer(200, JSON, b"{broken"), b"null"),
        ],
    )
    def test_statuses_and_bodies(self, upstream: tuple[Upstream, str], file: Path, answer: Answer, body: bytes) -> None:
        upstream[0].reply = lambda _: answer
        with recording(upstream[1], file) as client:
            assert client.get("/echo").content == answer.body
        with replaying(file) as client:
            replayed = client.get("/echo")
        assert (replayed.status_code, replayed.content) == (answer.status, body)

    def test_a_request_that_was_not_recorded_is_404_and_named(self, file: Path) -> None:
        file.write_bytes(b"")
        with replaying(file) as client:
            answer = client.get("/homeauto/anna@home.example")
        assert (answer.status_code, answer.json()["message"]) == (404, "the recording has no answer for GET /homeauto/*")

    @pytest.mark.parametrize("line", [b"{", b"[]", b"\xff", b'{"method": "GET", "target": "x", "status": 200}', b"[" * 9999])
    def test_a_file_that_is_no_recording_is_refused_with_its_line(self, file: Path, line: bytes) -> None:
        file.write_bytes(b'{"method": "GET", "target": "/", "status": 200}\n' + line)
        with pytest.raises(BadRecording, match="line 2"):
            list(read_recording(file))
