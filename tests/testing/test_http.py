"""The HTTP client of the test kit."""

import os
import resource
import socket
from threading import Thread

import pytest

from domogate.testing.http import HttpClient

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class TestIdleConnections:
    def test_a_connection_that_the_server_closed_is_opened_again(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            closed: list[None] = []

            def serve() -> None:
                for _ in range(2):
                    connection, _ = server.accept()
                    connection.recv(65_536)
                    connection.sendall(ANSWER)
                    connection.close()
                    closed.append(None)

            thread = Thread(target=serve)
            thread.start()
            client = HttpClient(f"http://127.0.0.1:{server.getsockname()[1]}")
            assert client.send("GET", "/", {}).json() == {}
            while not closed:
                pass
            assert client.send("POST", "/", {}, {"a": 1}).json() == {}
            thread.join()
            client.close()

    def test_it_works_in_a_process_with_many_open_files(self) -> None:
        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2_000:
            pytest.skip("the process may not open 2,000 files")
        with socket.create_server(("127.0.0.1", 0)) as server:

            def serve() -> None:
                connection, _ = server.accept()
                with connection:
                    for _ in range(2):
                        connection.recv(65_536)
                        connection.sendall(ANSWER)

            thread = Thread(target=serve)
            thread.start()
            files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1_100)]
            client = HttpClient(f"http://127.0.0.1:{server.getsockname()[1]}")
            try:
                assert [client.send("GET", "/", {}).json() for _ in range(2)] == [{}, {}]
            finally:
                client.close()
                for file in files:
                    os.close(file)
                thread.join()
