"""Which gateway of a cluster runs a bridge, and what happens when the plant moves to another gateway."""

import asyncio

import pytest

from domogate.domain.shards import shard_of
from support.bridge_setup import LIGHT, BridgeSetup
from support.full_plant import FULL_PLANT

pytestmark = pytest.mark.slow

SHARD = shard_of(FULL_PLANT.id)
OTHERS = [shard for shard in range(SHARD + 3) if shard != SHARD]


class TestShards:
    async def test_a_member_of_a_cluster_runs_only_the_bridges_of_its_shards(self, setup: BridgeSetup) -> None:
        bridges = setup.build(holds=lambda _: True)
        await bridges.start()
        bridges.start_shards(OTHERS)
        assert not bridges.running
        bridges.start_shards([SHARD])
        await setup.until(lambda: setup.state(LIGHT) is not None, "the light is published")

    async def test_a_shard_that_was_lost_at_once_is_not_started(self, setup: BridgeSetup) -> None:
        bridges = setup.build(holds=lambda _: False)
        bridges.start_shards([SHARD])
        assert not bridges.running

    async def test_a_hand_over_leaves_the_modules_available(self, setup: BridgeSetup) -> None:
        old, new = (setup.build(holds=lambda _: True) for _ in range(2))
        old.start_shards([SHARD])
        await setup.until(lambda: setup.state(LIGHT) is not None, "the old gateway publishes")
        await old.hand_over(OTHERS)
        assert old.running
        await old.hand_over([SHARD])
        assert not old.running
        setup.client.received.clear()
        new.start_shards([SHARD])
        await setup.until(lambda: setup.state(LIGHT) is not None, "the new gateway publishes")
        assert b"offline" not in [payload for topic, payload, _ in setup.client.received if topic == setup.topic("bridge")]
        assert setup.retained()[setup.topic("bridge")] == b"online"

    async def test_the_last_gateway_says_that_the_modules_are_not_available(self, setup: BridgeSetup) -> None:
        last = setup.build(holds=lambda _: True)
        last.start_shards([SHARD])
        await setup.until(lambda: setup.state(LIGHT) is not None, "the gateway publishes")
        setup.has_successor = False
        await last.hand_over([SHARD])
        assert setup.retained()[setup.topic("bridge")] == b"offline"
        last.start_shards([SHARD])
        await setup.until(lambda: setup.newest(setup.topic("bridge")) == b"online", "the bridge runs again")

    async def test_a_dropped_shard_stops_at_once(self, setup: BridgeSetup) -> None:
        bridges = setup.build(holds=lambda _: True)
        bridges.start_shards([SHARD])
        await setup.until(lambda: setup.state(LIGHT) is not None, "the light is published")
        bridges.drop_shards([SHARD])
        assert not bridges.running

    async def test_a_dropped_shard_that_comes_back_at_once_takes_commands(self, setup: BridgeSetup) -> None:
        """The lease ended, and this gateway got the shard again before the earlier run of the bridge had ended."""
        bridges = setup.build(setup.plan(commands=True), holds=lambda _: True)
        bridges.start_shards([SHARD])
        await setup.until(lambda: setup.state(LIGHT) is not None, "the light is published")
        for level in (30, 40):
            bridges.drop_shards([SHARD])
            setup.client.received.clear()
            bridges.start_shards([SHARD])
            await setup.until(lambda: setup.newest(setup.topic("bridge")) == b"online", "the bridge is connected again")
            setup.answer_level(level)
            assert (await setup.command(LIGHT, {"do": "set light", "level": level}))["outcome"] == "confirmed"

    async def test_a_bridge_that_fails_starts_again(self, setup: BridgeSetup, monkeypatch: pytest.MonkeyPatch) -> None:
        from domogate.services.bridges import bridges as bridges_file

        monkeypatch.setattr(bridges_file, "_RETRY", 0.01)
        built = setup.build()
        (bridge,) = built._bridges
        run, failures = bridge.run, iter([OSError("broken")])

        async def fail_once() -> None:
            for failure in failures:
                raise failure
            await run()

        monkeypatch.setattr(bridge, "run", fail_once)
        await built.start()
        await setup.until(lambda: setup.state(LIGHT) is not None, "the bridge runs")
        await asyncio.sleep(0)
