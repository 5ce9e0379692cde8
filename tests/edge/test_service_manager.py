"""A service manager opens the port, keeps it open between two gateways, and hears when the gateway is ready."""

import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from domogate.edge.service_manager import tell
from support.http import PATIENCE
from support.service_manager import listen, start_serve

pytestmark = pytest.mark.slow

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


@pytest.fixture
def messages() -> Iterator[socket.socket]:
    """The socket for messages of the gateway, with an abstract address."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(f"\0domogate-{secrets.token_hex(8)}")
        receiver.settimeout(PATIENCE)
        yield receiver


def address_of(receiver: socket.socket) -> dict[str, str]:
    return {"NOTIFY_SOCKET": f"@{receiver.getsockname()[1:].decode()}"}


def read_answer(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(4096), b""))


class TestManagedPort:
    def test_a_request_between_two_gateways_waits_for_the_second_one(self, tmp_path: Path, messages: socket.socket) -> None:
        with listen() as port:
            for _ in range(2):
                # In the first round no gateway has run; in the second round the first one has stopped.
                with socket.create_connection(port.getsockname(), timeout=PATIENCE) as client:
                    client.sendall(REQUEST)
                    with start_serve([port], tmp_path, environment=address_of(messages)) as gateway:
                        assert messages.recv(100) == b"READY=1"
                        assert read_answer(client).startswith(b"HTTP/1.1 200 ")
                        gateway.terminate()
                        output = gateway.communicate(timeout=PATIENCE)[0]
                assert gateway.returncode == 0
                assert f"Serving on http://127.0.0.1:{port.getsockname()[1]}\n" in output

    def test_ports_for_another_process_are_not_used(self, tmp_path: Path, messages: socket.socket) -> None:
        with listen() as port:
            gateway = start_serve([port], tmp_path, "--port", "0", environment=address_of(messages), pid=str(os.getpid()))
            with gateway:
                assert messages.recv(100) == b"READY=1"
                gateway.terminate()
                output = gateway.communicate(timeout=PATIENCE)[0]
            assert f":{port.getsockname()[1]}\n" not in output
            assert "Serving on http://127.0.0.1:" in output

    @pytest.mark.parametrize(
        ("flags", "code", "problem"),
        [
            ((), 2, "tokens and passwords would cross the network unencrypted"),
            (("--processes", "2"), 2, "disable the socket unit, or use one process"),
        ],
    )
    def test_a_port_that_the_settings_do_not_allow_is_refused(
        self, tmp_path: Path, flags: tuple[str, ...], code: int, problem: str
    ) -> None:
        with listen() as inside, listen("0.0.0.0") as outside, start_serve([inside, outside], tmp_path, *flags) as gateway:
            assert problem in gateway.communicate(timeout=PATIENCE)[0]
            assert gateway.returncode == code

    def test_a_socket_that_is_no_tcp_port_is_refused(self, tmp_path: Path) -> None:
        with socket.socket(socket.AF_UNIX) as local:
            local.bind(f"\0domogate-{secrets.token_hex(8)}")
            local.listen()
            with start_serve([local], tmp_path) as gateway:
                told = gateway.communicate(timeout=PATIENCE)[0]
                assert told.endswith(
                    "domogate: the socket unit must have only ListenStream= lines with an address and a port, and Accept=no.\n"
                )
                assert gateway.returncode == 1


class TestMessages:
    def test_a_service_manager_that_is_gone_is_no_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
        tell("READY=1")

    def test_a_socket_in_a_folder_gets_the_message(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.chdir(tmp_path)  # The path of a socket must be short.
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
            receiver.bind("messages")
            receiver.settimeout(PATIENCE)
            monkeypatch.setenv("NOTIFY_SOCKET", f"/proc/self/cwd/{receiver.getsockname()}")
            tell("READY=1")
            assert receiver.recv(100) == b"READY=1"
