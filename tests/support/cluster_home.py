"""A home of a running cluster: it is commanded through one gateway or the other, and moves between them."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import LiteralString

import httpx
import psycopg

from domogate.domain.ids import Id
from domogate.domain.shards import choose_member, shard_of
from support.cluster import Cluster, Member

PLANT = "ca5a0001-0000-4000-8000-000000000000"
_E1 = (
    "/homectl/api/v1.0/plug/energy/addressLocation/plants/{plant}/ambients/parameter/id/value/ca5a0001000a40008000000000000001"
)
SWITCH_PLUGS = _E1.format(plant=PLANT.replace("-", ""))
SHARD = shard_of(Id(PLANT))
PATIENCE = 200.0
_APP = {"client_id": "demo-app", "client_secret": "demo-app-secret-0001"}


def wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def wait_for_more(statuses: list[str]) -> None:
    """Wait for the answers to three more requests."""
    wanted = len(statuses) + 3
    wait_until(lambda: len(statuses) >= wanted)


class Home:
    """Commands the plugs of a room, and finds out which gateway drives the home."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        token = cluster.ready["users"][0]["access_token"]
        key = cluster.ready["subscription_key"]
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {token}", "Ocp-Apim-Subscription-Key": key}, timeout=120, trust_env=False
        )
        self._database = f"host={cluster.postgres.socket.parent} user=postgres dbname=postgres"

    def switch(self, member: Member, on: bool) -> str:
        """Return "200", or the status and the fault."""
        answer = self._client.post(member.base_url + SWITCH_PLUGS, json={"status": "on" if on else "off"})
        return "200" if answer.status_code == 200 else str(answer.json()["errors"][0]["internalMessage"])

    def is_switched(self, member: Member, on: bool) -> bool:
        return self.switch(member, on) == "200"

    def read_through(self, base_url: str) -> int:
        """Read the plants of the user."""
        return self._client.get(f"{base_url}/homectl/api/v1.0/plants").status_code

    def ask_own_api(self, member: Member, path: str = "/webhooks") -> httpx.Response:
        """Ask an API that is not in the specification."""
        return self._client.get(member.base_url + path)

    def refresh(self, member: Member) -> httpx.Response:
        """Ask for a new token of the user."""
        token = self.cluster.ready["users"][0]["refresh_token"]
        form = {"grant_type": "refresh_token", "refresh_token": token, **_APP}
        return self._client.post(f"{member.base_url}/auth/token", data=form)

    def administer(self, *statements: LiteralString) -> None:
        with psycopg.connect(self._database) as connection:
            for statement in statements:
                connection.execute(statement)

    def close(self) -> None:
        self._client.close()

    def find_holder(self) -> tuple[str, int] | None:
        """The name of the living gateway that drives the home, and the epoch."""
        living = "lease_until > extract(epoch FROM clock_timestamp())"
        with psycopg.connect(self._database) as connection:
            found = connection.execute(
                f"SELECT name, epoch FROM shards JOIN leases ON id = holder WHERE shard = {SHARD} AND {living}"
            ).fetchone()
        return None if found is None else (found[0], found[1])

    def wait_for_holder(self, is_wanted: Callable[[Member, int], bool]) -> tuple[Member, int]:
        deadline = time.monotonic() + PATIENCE
        while True:
            if (found := self.find_holder()) is not None:
                name, epoch = found
                holder = next(member for member in self.cluster.members if name.endswith(f":{member.port}"))
                if is_wanted(holder, epoch):
                    return holder, epoch
            assert time.monotonic() < deadline, found
            time.sleep(0.2)  # each look is a new connection, for which the server starts a process

    def is_settled(self) -> bool:
        """Whether all gateways are members, and the home will not move by itself."""
        with psycopg.connect(self._database) as connection:
            living = connection.execute("SELECT id FROM leases WHERE lease_until > extract(epoch FROM clock_timestamp())")
            ids = [member_id for (member_id,) in living.fetchall()]
            held = connection.execute(f"SELECT holder FROM shards WHERE shard = {SHARD}").fetchone()
        return len(ids) == len(self.cluster.members) and held == (choose_member(SHARD, ids),)

    def find_holder_and_other(self) -> tuple[Member, Member, int]:
        wait_until(self.is_settled)
        holder, epoch = self.wait_for_holder(lambda _holder, _epoch: True)
        other = next(member for member in self.cluster.members if member is not holder)
        return holder, other, epoch

    @contextmanager
    def switching(self, member: Member) -> Iterator[list[str]]:
        """Command the home through this gateway all the time. Yields the statuses."""
        statuses: list[str] = []
        stop = threading.Event()

        def run() -> None:
            on = False
            while not stop.is_set():
                on = not on
                statuses.append(self.switch(member, on))

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield statuses
        finally:
            stop.set()
            thread.join()


def start_again(member: Member) -> None:
    member.spawn("demo")
    member.wait_ready()
