"""Clients of three gateways send requests without pause while the gateways are stopped one after the other: none is lost."""

import http.client
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from support.cluster import Cluster, running_cluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PATIENCE = 200.0
_PLANT = "ca5a0001000040008000000000000000"
_AMBIENT = "ca5a0001000a40008000000000000001"
COMMAND = f"/homectl/api/v1.0/plug/energy/addressLocation/plants/{_PLANT}/ambients/parameter/id/value/{_AMBIENT}"
READ = "/homectl/api/v1.0/plants"


class Client:
    """Sends requests without pause, alternately a command and a read. It counts the answers."""

    def __init__(self, cluster: Cluster, ports: Sequence[int], *, keeps_connection: bool) -> None:
        self.answers: Counter[str] = Counter()
        self._headers = {
            "Authorization": f"Bearer {cluster.ready['users'][0]['access_token']}",
            "Ocp-Apim-Subscription-Key": cluster.ready["subscription_key"],
            "Content-Type": "application/json",
        }
        self._ports = itertools.cycle(ports)
        self._keeps_connection = keeps_connection
        self._connection: http.client.HTTPConnection | None = None

    def run(self, stop: threading.Event) -> None:
        for number in itertools.count():
            if stop.is_set():
                break
            try:
                self.answers[self._ask(number)] += 1
            except (OSError, http.client.HTTPException) as error:
                self.answers[f"{number % 2}: {error!r}"] += 1
                self._forget()
        self._forget()

    def _ask(self, number: int) -> str:
        connection = self._connection or self._connect()
        if number % 2:
            connection.request("GET", READ, headers=self._headers)
        else:
            content = json.dumps({"status": ("on", "off")[number // 2 % 2]})
            connection.request("POST", COMMAND, content, self._headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.will_close or not self._keeps_connection:
            self._forget()
        return str(answer.status) if answer.status == 200 else f"{number % 2}: {answer.status} {body!r}"

    def _connect(self) -> http.client.HTTPConnection:
        """Connect to the next port. A client that is refused has sent nothing, so it uses another port."""
        while True:
            self._connection = http.client.HTTPConnection("127.0.0.1", next(self._ports), timeout=PATIENCE)
            try:
                self._connection.connect()
            except ConnectionRefusedError:
                time.sleep(0.01)
            else:
                return self._connection

    def _forget(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def running_clients(clients: Sequence[Client]) -> Iterator[None]:
    stop = threading.Event()
    threads = [threading.Thread(target=client.run, args=(stop,)) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    # A busy machine reads changes late; that is not tested here.
    with running_cluster(3, {"DOMOGATE_DEVICE_DEADLINE": "60", "DOMOGATE_KNOWLEDGE_BOUND": "60"}) as cluster:
        yield cluster


def wait_for_more(clients: Sequence[Client]) -> None:
    """Wait for a hundred more answers."""
    wanted = sum(client.answers["200"] for client in clients) + 100
    deadline = time.monotonic() + PATIENCE
    while sum(client.answers["200"] for client in clients) < wanted:
        assert time.monotonic() < deadline, [client.answers for client in clients]
        time.sleep(0.05)


def test_every_request_is_answered_while_members_stop_one_after_the_other(cluster: Cluster) -> None:
    ports = [member.port for member in cluster.members]
    clients = [
        Client(cluster, chosen, keeps_connection=keeps)
        for chosen in ([cluster.port], *(ports[at:] + ports[:at] for at in range(3)))
        for keeps in (True, False)
    ]
    with running_clients(clients):
        # A gateway is not started again here: on a busy machine, its start can fail while the clients send requests.
        for member in cluster.members[:2]:
            wait_for_more(clients)
            member.terminate()
        wait_for_more(clients)
    assert [dict(client.answers) for client in clients] == [{"200": client.answers["200"]} for client in clients]
    assert all(client.answers["200"] for client in clients)
