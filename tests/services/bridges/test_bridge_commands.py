"""Commands to a bridge: the same checks as for the home API, and bounds on what a broker can send."""

import json

import pytest

from domogate.domain.faults import Internal
from domogate.domain.ids import new_id
from domogate.services.bridges import bridge as bridge_file
from support.bridge_setup import LIGHT, LOCK, SCENE, BridgeSetup
from support.full_plant import FULL_PLANT
from support.stores import ANNA

pytestmark = pytest.mark.slow


class TestCommands:
    async def test_a_command_is_executed_answered_and_in_the_audit_log(self, setup: BridgeSetup) -> None:
        await setup.start(setup.plan(commands=True))
        setup.answer_level(11)
        result = await setup.command(LIGHT, {"id": "mine", "do": "set light", "level": 11})
        assert result == {"outcome": "confirmed", "id": "mine"}
        await setup.until(lambda: setup.state(LIGHT)["state"]["level"] == 11, "the new state")
        audit = setup.api.env.audit
        await audit.flush()
        whats = [one.entry.what for one in await audit.list(limit=100) if one.entry.action == "command"]
        assert whats == [f"home set light:{LIGHT} by client:mqtt-bridge"]

    async def test_a_scene_is_started(self, setup: BridgeSetup) -> None:
        await setup.start(setup.plan(commands=True))
        assert await setup.command(SCENE, {"do": "run scene"}) == {"outcome": "started"}

    async def test_doors_need_the_right_for_doors(self, setup: BridgeSetup) -> None:
        await setup.start(setup.plan(commands=True))
        assert (await setup.command(LOCK, {"do": "open lock"}))["outcome"] == "refused"

    async def test_doors_open_with_this_right(self, setup: BridgeSetup) -> None:
        await setup.start(setup.plan(commands=True, doors=True))
        assert await setup.command(LOCK, {"do": "open lock"}) == {"outcome": "confirmed"}

    @pytest.mark.parametrize(
        ("payload", "says"),
        [
            (b"{", "is not JSON"),
            (b"\xff\x00", "is not UTF-8"),
            (b"", "is empty"),
            (b"[1]", "a JSON object"),
            (b'{"do": "explode"}', "Invalid value"),
            (b'{"do": "set light", "level": 101}', "<= 100"),
            (b'{"do": "switch plug", "on": true}', "takes the command 'set light'"),
            (b'{"do": "set light", "on": true, "on": false}', "same key twice"),
            (b'{"do": "set light", "id": 7}', "the id of a command"),
            (b'{"do": "set light", "x": "' + b"y" * 5000 + b'"}', "at most 4096 bytes"),
        ],
    )
    async def test_a_wrong_command_is_refused_with_the_reason(self, setup: BridgeSetup, payload: bytes, says: str) -> None:
        await setup.start(setup.plan(commands=True))
        result = await setup.command(LIGHT, payload)
        assert result["outcome"] == "refused"
        assert says in result["detail"]

    async def test_rights_count_when_the_command_arrives(self, setup: BridgeSetup) -> None:
        await setup.start(setup.plan(commands=True))
        assert "has no module" in (await setup.command(new_id(), {"do": "set light", "on": True}))["detail"]
        await setup.api.env.people.remove_plant(FULL_PLANT.id)
        assert "no rights" in (await setup.command(LIGHT, {"do": "set light", "on": True}))["detail"]

    async def test_a_gateway_that_may_not_know_the_latest_rights_refuses_commands(self, setup: BridgeSetup) -> None:
        """Another gateway of the cluster may have withdrawn the rights of the user."""
        await setup.start(setup.plan(commands=True, doors=True))
        setup.knowledge_age = 2.5
        refused = await setup.command(LOCK, {"do": "open lock"})
        assert (refused["outcome"], refused["code"]) == ("refused", Internal.code)
        assert "latest changes" in refused["detail"]
        setup.knowledge_age = 0.5
        assert await setup.command(LOCK, {"do": "open lock"}) == {"outcome": "confirmed"}


class TestBounds:
    async def test_a_retained_command_is_not_executed(self, setup: BridgeSetup) -> None:
        setup.client.publish(setup.topic(LIGHT, "set"), '{"do": "set light", "level": 1}', retain=True)
        await setup.start(setup.plan(commands=True))
        setup.client.publish(setup.topic(LIGHT, "set"), '{"do": "set light", "level": 2}', retain=True)
        await setup.command(LIGHT, {"do": "set light", "level": 3})
        assert len(setup.results(LIGHT)) == 1

    async def test_without_commands_the_topic_is_not_read(self, setup: BridgeSetup) -> None:
        (bridge,) = (await setup.start()).running
        bridge.receive(setup.topic(LIGHT, "set"), b'{"do": "set light", "level": 3}', retained=False)
        setup.client.publish(setup.topic(LIGHT, "set"), '{"do": "set light", "level": 3}')
        await setup.set_level(9)
        await setup.until(lambda: setup.state(LIGHT)["state"]["level"] == 9, "the level of the API")
        assert not setup.results(LIGHT)

    async def test_too_many_messages_are_dropped(self, setup: BridgeSetup, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bridge_file, "MESSAGES", 5)
        (bridge,) = (await setup.start(setup.plan(commands=True))).running
        for _ in range(20):
            bridge.receive(setup.topic(LIGHT, "set"), b"{", retained=False)
        await setup.until(lambda: len(setup.results(LIGHT)) == 5, "the first messages are answered")
        setup.api.env.clock.advance(61)
        await setup.command(LIGHT, {"do": "set light", "on": True})
        assert len(setup.results(LIGHT)) == 6

    async def test_large_and_strange_messages_do_not_end_the_bridge(self, setup: BridgeSetup) -> None:
        await setup.start(setup.plan(commands=True))
        setup.client.publish(setup.topic(LIGHT, "set"), b"x" * 100_000)
        setup.client.publish(setup.topic("not-an-id", "set"), b"{}")
        setup.client.publish(setup.topic("bridge"), b"\xff" * 100)
        assert (await setup.command(LIGHT, {"do": "set light", "on": True}))["outcome"] == "confirmed"
        assert json.loads(setup.retained()[setup.topic(LIGHT, "state")])["state"]["on"] is True
        assert ANNA.email not in str(setup.retained())
