"""A part of a cluster fails: the rows of the table in docs/cluster.md that no other test has.

Each test ends when the cluster works again.
"""

import resource
from collections.abc import Iterator
from functools import partial

import httpx
import pytest

from support import shifted_gateway
from support.cluster import Member, running_cluster
from support.cluster_home import Home, start_again, wait_until
from support.processes import CLI
from support.restartable import is_ready

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

DAY = 86_400.0
FAIL = """
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$
"""


@pytest.fixture(scope="module")
def running() -> Iterator[Home]:
    # Requests wait longer than a lease. A busy machine reads changes late.
    with running_cluster(2, {"DOMOGATE_DEVICE_DEADLINE": "30", "DOMOGATE_KNOWLEDGE_BOUND": "8"}) as cluster:
        home = Home(cluster)
        yield home
        home.close()


@pytest.fixture
def home(running: Home) -> Home:
    wait_until(lambda: all_work(running))
    return running


def all_work(home: Home) -> bool:
    """Whether each gateway is ready and executes commands."""
    return all(is_ready(member.port) and home.is_switched(member, on=True) for member in home.cluster.members)


def is_not_ready(member: Member) -> bool:
    return not is_ready(member.port)


def is_unavailable(answer: httpx.Response) -> bool:
    """Whether the answer says that the gateway cannot reach its database, and when to try again."""
    return (answer.status_code, answer.headers.get("retry-after")) == (503, "1")


def lacks_its_database(home: Home, member: Member) -> bool:
    """Whether an API that is not in the specification says so. No other error is allowed."""
    answer = home.ask_own_api(member)
    assert answer.status_code in (200, 503), answer.text
    return is_unavailable(answer)


class TestTheDatabase:
    def test_that_stops_makes_all_gateways_not_ready_until_it_runs_again(self, home: Home) -> None:
        members = home.cluster.members
        home.cluster.postgres.kill()
        try:
            for member in members:
                wait_until(partial(is_not_ready, member))
                wait_until(partial(lacks_its_database, home, member))
                assert is_unavailable(home.refresh(member))
                assert home.switch(member, on=False).partition(" ")[0] in ("500", "404")
        finally:
            home.cluster.postgres.start_again()
        wait_until(lambda: all_work(home))

    def test_can_be_replaced_by_a_standby_with_the_same_address(self, home: Home) -> None:
        home.cluster.postgres.fail_over()
        wait_until(lambda: all_work(home))

    def test_that_has_no_space_refuses_commands_and_states_can_be_read(self, home: Home) -> None:
        members = home.cluster.members
        home.administer(FAIL, "CREATE TRIGGER full_disk BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION fail()")
        try:
            assert [home.switch(member, on=False) for member in members] == ["500 Internal"] * 2
            assert [home.read_through(member.base_url) for member in members] == [200] * 2
            assert all(is_ready(member.port) for member in members)
        finally:
            home.administer("DROP TRIGGER full_disk ON orders", "DROP FUNCTION fail")
        assert [home.switch(member, on=False) for member in members] == ["200"] * 2


class TestAGateway:
    @pytest.mark.parametrize("nats", [False, True], ids=["without the database", "in the other part of a split network"])
    def test_gives_its_plants_away_and_is_not_ready(self, home: Home, nats: bool) -> None:
        holder, other, epoch = home.find_holder_and_other()
        holder.cut(nats=nats)
        try:
            home.wait_for_holder(lambda member, later: member is other and later > epoch)
            wait_until(partial(home.is_switched, other, False))
            wait_until(partial(is_not_ready, holder))
            wait_until(partial(lacks_its_database, home, holder))
        finally:
            holder.heal()
        wait_until(lambda: all_work(home))

    def test_whose_disk_is_full_works(self, home: Home) -> None:
        member = home.cluster.members[0]
        member.terminate()
        member.spawn("demo", DOMOGATE_ACCESS_LOG="true")
        member.wait_ready()
        limits = resource.prlimit(member.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(member.pid, resource.RLIMIT_FSIZE, (1, limits[1]))  # From now on, each write to a file fails.
        before = member.log.stat().st_size
        try:
            assert [home.switch(member, on) for on in (False, True)] == ["200"] * 2
            assert member.log.stat().st_size == before
        finally:
            resource.prlimit(member.pid, resource.RLIMIT_FSIZE, limits)
        assert home.switch(member, on=False) == "200"
        wait_until(lambda: member.log.stat().st_size > before)

    def test_with_a_wrong_clock_uses_the_time_of_the_database(self, home: Home) -> None:
        member, file = home.cluster.members[0], home.cluster.members[0].folder / "clock-shift"
        shifted_gateway.write_shift(file, DAY)
        member.terminate()
        member.module = shifted_gateway.__name__
        try:
            member.spawn("demo", **{shifted_gateway.SHIFT: str(file)})
            member.wait_ready()
            # On the clock of the machine of this gateway, the token has expired.
            assert [home.switch(member, on) for on in (False, True)] == ["200"] * 2
        finally:
            member.terminate()
            member.module = CLI
            start_again(member)


class TestTheNetwork:
    def test_without_a_nats_server_each_gateway_drives_its_own_plants(self, home: Home) -> None:
        holder, other, epoch = home.find_holder_and_other()
        noticed = _count_noticed(other)
        home.cluster.nats.stop()
        try:
            wait_until(lambda: _count_noticed(other) > noticed)
            assert home.switch(holder, on=False) == "200"
            assert home.switch(other, on=True) in ("404 DeviceOffline", "500 DeviceOffline", "500 DeviceTimeout")
            assert [home.read_through(member.base_url) for member in home.cluster.members] == [200] * 2
            assert home.wait_for_holder(lambda _holder, _epoch: True) == (holder, epoch), "no plant moves"
        finally:
            home.cluster.nats.start()
        wait_until(lambda: all_work(home))

    def test_without_a_balancer_the_gateways_drive_their_plants(self, home: Home) -> None:
        assert home.read_through(home.cluster.base_url) == 200
        home.cluster.stop_balancer()
        try:
            with pytest.raises(httpx.ConnectError):
                home.read_through(home.cluster.base_url)
            assert [home.switch(member, on=False) for member in home.cluster.members] == ["200"] * 2
        finally:
            home.cluster.start_balancer()
        assert home.read_through(home.cluster.base_url) == 200


def _count_noticed(member: Member) -> int:
    return member.log.read_text().count("no connection to NATS")
