"""A write is answered when the other gateways know it. On virtual time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial

import pytest

from domogate.domain.ids import Id
from domogate.services.cluster import Propagation
from support.cluster_setup import loop_time

pytestmark = pytest.mark.usefixtures("virtual_time")

BOUND = 2.0


class Node:
    """A gateway with its positions in the feed. Reading the feed takes `feed_seconds`."""

    def __init__(self, name: str, network: "Network") -> None:
        self.id = Id(name)
        self.written = 0
        self.applied = 0
        self.feed_seconds = 0.003
        self._network = network
        self.propagation = Propagation(self, self, self.list_others, lambda: self.id, BOUND)

    def list_others(self) -> list[Id]:
        return [other for other in self._network.living if other != self.id]

    def write(self) -> None:
        self._network.newest += 1
        self.written = self.applied = self._network.newest

    async def write_and_wait(self, seconds: float | None = None) -> float:
        """Return the seconds that the answer to the write took."""
        start = loop_time()
        self.write()
        await self.propagation.wait(seconds)
        return loop_time() - start

    def poll_now(self) -> None:
        asyncio.get_running_loop().call_later(self.feed_seconds, self._apply, self._network.newest)

    def _apply(self, cursor: int) -> None:
        self.applied = max(self.applied, cursor)

    def ask(self, cursor: int) -> None:
        for other in self._network.nodes.values():
            if other is not self:
                self._network.send(self, other, partial(other.propagation.on_question, self.id, cursor))

    def answer(self, asker: str, member_id: Id, cursor: int) -> None:
        other = self._network.nodes[asker]
        self._network.send(self, other, partial(other.propagation.on_answer, member_id, cursor))


class Network:
    """Carries messages between nodes. `cut` nodes get none and send none. `losses`: how many messages are lost next."""

    def __init__(self) -> None:
        self.newest = 0
        self.nodes = {name: Node(name, self) for name in ("a", "b", "c")}
        self.living = {node.id for node in self.nodes.values()}
        self.cut: set[str] = set()
        self.losses = 0
        self.sent = 0

    def send(self, sender: Node, receiver: Node, deliver: Callable[[], None]) -> None:
        self.sent += 1
        if self.losses > 0:
            self.losses -= 1
        elif not self.cut & {sender.id, receiver.id}:
            asyncio.get_running_loop().call_later(0.001, deliver)


@pytest.fixture
async def network(virtual_time: None) -> AsyncIterator[Network]:
    network = Network()
    yield network
    for node in network.nodes.values():
        await node.propagation.stop()


@pytest.fixture
def a(network: Network) -> Node:
    return network.nodes["a"]


class TestAWrite:
    async def test_is_answered_when_all_others_have_applied_it(self, network: Network, a: Node) -> None:
        assert await a.write_and_wait() < 0.02
        assert [node.applied for node in network.nodes.values()] == [a.written] * 3

    async def test_that_all_know_needs_no_messages(self, network: Network, a: Node) -> None:
        await a.write_and_wait()
        before = network.sent
        await a.propagation.wait()
        assert network.sent == before

    async def test_shares_its_questions_with_other_writes(self, network: Network, a: Node) -> None:
        await asyncio.gather(*(a.write_and_wait() for _ in range(100)))
        assert network.sent <= 8, "a question and an answer for each of the others, twice at most"

    async def test_survives_lost_messages(self, network: Network, a: Node) -> None:
        network.losses = 2
        assert await a.write_and_wait() < 0.5
        assert {node.applied for node in network.nodes.values()} == {a.written}

    async def test_needs_no_timer_if_a_gateway_joins_in_the_meantime(self, network: Network, a: Node) -> None:
        """C answers before A knows that it is a member."""
        network.nodes["b"].feed_seconds = 0.1
        network.living.remove(Id("c"))
        writing = asyncio.create_task(a.write_and_wait())
        await asyncio.sleep(0.05)
        network.living.add(Id("c"))
        a.propagation.on_members()
        assert await writing < 0.15

    async def test_waits_for_a_slow_gateway(self, network: Network, a: Node) -> None:
        network.nodes["b"].feed_seconds = 1.5
        assert await a.write_and_wait() >= 1.5

    async def test_is_answered_earlier_if_its_time_is_over(self, network: Network, a: Node) -> None:
        network.cut = {"b"}
        assert await a.write_and_wait(0.3) == pytest.approx(0.3)


class TestAGatewayThatDoesNotAnswer:
    async def test_delays_writes_by_the_bound_and_then_no_more(self, network: Network, a: Node) -> None:
        network.cut = {"b"}
        assert BOUND <= await a.write_and_wait() < BOUND + 0.3
        assert await a.write_and_wait() < 0.02
        assert network.nodes["c"].applied == a.written

    async def test_is_waited_for_again_when_it_answers_again(self, network: Network, a: Node) -> None:
        network.cut = {"b"}
        await a.write_and_wait()
        network.cut = set()
        await a.write_and_wait()
        await asyncio.sleep(0.1)
        network.nodes["b"].feed_seconds = 0.5
        assert await a.write_and_wait() >= 0.5

    async def test_is_not_waited_for_if_it_is_no_member_any_more(self, network: Network, a: Node) -> None:
        network.cut = {"b"}
        writing = asyncio.create_task(a.write_and_wait())
        await asyncio.sleep(0.1)
        network.living.discard(Id("b"))
        a.propagation.on_members()
        assert await writing == pytest.approx(0.1)

    async def test_is_not_told_that_a_gateway_without_a_lease_knows_a_change(self, network: Network, a: Node) -> None:
        """A gateway that has lost its lease is not in the list of members, so it does not answer."""
        b = network.nodes["b"]
        b.propagation = Propagation(b, b, b.list_others, lambda: None, BOUND)
        assert await a.write_and_wait() >= BOUND
