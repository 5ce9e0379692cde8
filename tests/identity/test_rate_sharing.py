"""Gateways of a cluster count rates together. Messages are delivered by the test, to all gateways, as NATS does."""

import asyncio

import msgspec
import pytest

from domogate.identity import rate_sharing
from domogate.identity.rate_sharing import INTERVAL, RateSharing
from domogate.identity.rates import RateWindows, parse_rate
from support.clocks import ManualClock

pytestmark = pytest.mark.usefixtures("virtual_time")

RATE = parse_rate("10/minute")


class Network:
    """Connects the gateways. While it is cut, messages are lost."""

    def __init__(self, gateways: int) -> None:
        self.is_cut = False
        self.messages: list[bytes] = []
        clock = ManualClock()
        self.now = clock.now
        self.windows = [RateWindows() for _ in range(gateways)]
        self.sharing = [RateSharing(windows, clock, self._publish) for windows in self.windows]

    def _publish(self, content: bytes) -> None:
        self.messages.append(content)
        if not self.is_cut:
            for sharing in self.sharing:
                sharing.receive(content)

    def admit(self, gateway: int, times: int, key: str = "key") -> int:
        """Send requests to a gateway. Return how many it admits."""
        windows = self.windows[gateway]
        return sum(windows.admit(windows.find(key, RATE), self.now()) for _ in range(times))

    async def pass_interval(self) -> None:
        await asyncio.sleep(INTERVAL)


async def test_requests_at_other_gateways_count_after_the_interval_and_own_ones_once() -> None:
    network = Network(3)
    assert network.admit(0, 4) == 4
    await network.pass_interval()
    assert network.admit(1, 9) == 6
    await network.pass_interval()
    assert [network.admit(gateway, 5) for gateway in range(3)] == [0, 0, 0]
    assert len(network.messages) == 2, "one message for all requests of an interval"


async def test_the_overshoot_is_what_the_others_admit_within_an_interval() -> None:
    network = Network(3)
    admitted = 0
    for _ in range(20):
        admitted += sum(network.admit(gateway, 1) for gateway in range(3))
        await network.pass_interval()
    assert 10 <= admitted <= 10 + 2 * 1


async def test_without_messages_each_gateway_counts_alone() -> None:
    network = Network(2)
    network.is_cut = True
    assert network.admit(0, 20) == 10
    await network.pass_interval()
    assert network.admit(1, 20) == 10


async def test_a_gateway_that_stops_still_tells_what_it_admitted() -> None:
    network = Network(2)
    network.admit(0, 7)
    network.sharing[0].stop()
    assert network.admit(1, 9) == 3


async def test_many_keys_are_told_in_several_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_sharing, "_MOST_IN_A_MESSAGE", 3)
    network = Network(2)
    keys = [f"key {number}" for number in range(8)]
    for key in keys:
        network.admit(0, 10, key)
    await network.pass_interval()
    assert len(network.messages) == 3
    assert [network.admit(1, 1, key) for key in keys] == [0] * 8


@pytest.mark.parametrize("content", [b"", b"\x93", b'["x", [["key", "10/minute", 5]]]', b"\xff" * 100])
async def test_a_message_that_is_not_valid_is_ignored(content: bytes) -> None:
    network = Network(1)
    network.sharing[0].receive(content)
    assert network.admit(0, 20) == 10


@pytest.mark.parametrize(
    ("sender", "ignored", "remaining"), [("x" * 36, b"", 5), ("x" * 37, b"", 10), ("x" * 36, bytes(1 << 20), 10)]
)
async def test_a_message_that_is_too_large_or_has_a_long_sender_is_ignored(sender: str, ignored: bytes, remaining: int) -> None:
    """A decoder ignores more fields than it knows, so only the size of the message limits them."""
    network = Network(1)
    network.sharing[0].receive(msgspec.msgpack.encode([sender, [["key", str(RATE), 5]], ignored]))
    assert network.admit(0, 20) == remaining


async def test_counts_for_another_rate_of_the_key_are_ignored() -> None:
    """The rate was changed, and one of the gateways does not know it yet."""
    network = Network(2)
    network.admit(0, 10)
    other = parse_rate("100/hour")
    assert network.windows[1].admit(network.windows[1].find("key", other), network.now())
    await network.pass_interval()
    assert network.windows[1].find("key", other).count(network.now()) == 1
