"""Two gateways on one PostgreSQL and one NATS server: plants move when a gateway stops, dies or is frozen."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import httpx
import psycopg
import pytest

from domogate.domain.ids import Id
from domogate.domain.shards import choose_member, shard_of
from support.cluster import Cluster, Member, running_cluster
from support.restartable import is_ready

pytestmark = pytest.mark.slow

PLANT = "ca5a0001-0000-4000-8000-000000000000"
_E1 = (
    "/homectl/api/v1.0/plug/energy/addressLocation/plants/{plant}/ambients/parameter/id/value/ca5a0001000a40008000000000000001"
)
SWITCH_PLUGS = _E1.format(plant=PLANT.replace("-", ""))
SHARD = shard_of(Id(PLANT))
PATIENCE = 200.0
NOT_ANSWERED = "gateways do not answer; writes do not wait for them"


def wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


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
            time.sleep(0.05)

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


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    # Requests wait longer than a lease, so that no request fails while a plant moves.
    # A busy machine reads changes late; that is not tested here.
    with running_cluster(2, {"DOMOGATE_DEVICE_DEADLINE": "60", "DOMOGATE_KNOWLEDGE_BOUND": "60"}) as cluster:
        home = Home(cluster)
        yield home
        home.close()


def start_again(member: Member) -> None:
    member.spawn("demo")
    member.wait_ready()


class TestAHomeOfACluster:
    def test_is_commanded_through_every_gateway(self, home: Home) -> None:
        assert [home.switch(member, on) for on in (True, False) for member in home.cluster.members] == ["200"] * 4

    def test_moves_without_an_error_when_its_gateway_is_stopped(self, home: Home) -> None:
        holder, other, epoch = home.find_holder_and_other()
        with home.switching(other) as statuses:
            holder.terminate()
            home.wait_for_holder(lambda member, later: member is other and later > epoch)
            wait_for_more(statuses)
            start_again(holder)
        assert set(statuses) == {"200"}

    def test_moves_without_an_error_when_its_gateway_is_killed(self, home: Home) -> None:
        holder, other, epoch = home.find_holder_and_other()
        with home.switching(other) as statuses:
            wait_for_more(statuses)
            holder.kill()
            home.wait_for_holder(lambda member, later: member is other and later > epoch)
            wait_for_more(statuses)
            start_again(holder)
        # At most one order was on its way to the killed gateway. Whether the device got it is not known, so it is not repeated.
        failed = [status for status in statuses if status != "200"]
        assert len(failed) <= 1
        assert set(failed) <= {"500 DeviceTimeout"}

    def test_moves_when_only_its_gateway_is_cut_off_from_nats(self, home: Home) -> None:
        holder, other, epoch = home.find_holder_and_other()
        waited = other.log.read_text().count(NOT_ANSWERED)
        holder.cut(database=False)
        try:
            home.wait_for_holder(lambda member, later: member is other and later > epoch)
            assert home.switch(other, True) == "200"
            assert other.log.read_text().count(NOT_ANSWERED) == waited, "a write waited for the gateway that is cut off"
            wait_until(lambda: not is_ready(holder.port))
        finally:
            holder.heal()
        wait_until(lambda: is_ready(holder.port))
        for member in home.cluster.members:
            wait_until(partial(home.is_switched, member, False))

    def test_is_not_changed_by_a_gateway_that_was_frozen(self, home: Home) -> None:
        holder, other, epoch = home.find_holder_and_other()
        holder.freeze()
        try:
            home.wait_for_holder(lambda member, later: member is other and later > epoch)
            wait_until(partial(home.is_switched, other, True))
        finally:
            holder.thaw()
        wait_until(lambda: "joins the cluster again" in holder.log.read_text())
        for member in home.cluster.members:
            for on in (True, False):
                # On a slow machine, a lease can end once more before the plants have moved back.
                wait_until(partial(home.is_switched, member, on))
