"""A bridge on a real broker: what it publishes, with which rights, and when it removes its messages."""

import json

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate
from domogate.domain.limits import Limits
from domogate.domain.people import Standing
from domogate.domain.plants import Topology
from domogate.drivers.mqtt import MqttBroker
from domogate.drivers.mqtt.bridge_broker import MqttBridgeBroker
from support.bridge_setup import LIGHT, LOCK, BridgeSetup
from support.full_plant import FULL_PLANT, MODULE_OF
from support.home_setup import STUDIO, VILLA
from support.stores import ANNA, BRUNO, HOUSE

pytestmark = pytest.mark.slow


class TestPublishing:
    async def test_states_are_retained_in_the_form_of_events(self, setup: BridgeSetup) -> None:
        await setup.start()
        assert setup.state(LIGHT) == {
            "plantId": FULL_PLANT.id,
            "moduleId": LIGHT,
            "kind": "light",
            "name": "The light",
            "simulated": True,
            "reachable": True,
            "absentSince": None,
            "state": {"of": "light", "on": True, "level": 40, "color": {"hue": 10, "saturation": 20, "value": 30}},
        }
        await setup.until(lambda: len(setup.retained()) >= len(DeviceKind), "everything is published")
        assert setup.retained()[setup.topic("bridge")] == b"online"

    async def test_a_new_state_follows(self, setup: BridgeSetup) -> None:
        await setup.start()
        await setup.set_level(70)
        await setup.until(lambda: setup.state(LIGHT)["state"]["level"] == 70, "the new level")

    async def test_a_stop_says_that_the_modules_are_not_available(self, setup: BridgeSetup) -> None:
        bridges = await setup.start()
        await bridges.stop()
        assert setup.retained()[setup.topic("bridge")] == b"offline"

    async def test_a_late_last_will_of_another_connection_is_corrected(self, setup: BridgeSetup) -> None:
        await setup.start()
        setup.client.publish(setup.topic("bridge"), "offline", retain=True)
        await setup.until(lambda: setup.newest(setup.topic("bridge")) == b"online", "online again")

    async def test_everything_is_published_again_after_the_broker_lost_it(self, setup: BridgeSetup) -> None:
        await setup.start()
        setup.broker.stop()
        await setup.set_level(5)
        setup.client.received.clear()
        setup.broker.start()
        await setup.until(lambda: (setup.state(LIGHT) or {"state": {}})["state"].get("level") == 5, "the state after the loss")
        lock = setup.topic(LOCK, "state")
        await setup.until(lambda: lock in setup.retained(), "a module that did not change is published too")


class TestRights:
    async def test_a_user_without_rights_publishes_nothing_and_old_messages_are_removed(self, setup: BridgeSetup) -> None:
        old = setup.topic(LIGHT, "state", plant=HOUSE.id)
        setup.client.publish(old, "{}", retain=True)
        bridges = setup.build(setup.plan(email="carla@example.com", plant_id=HOUSE.id))
        await bridges.start()
        await setup.until(lambda: old not in setup.retained(), "the old message is removed")
        assert set(setup.retained()) == {setup.topic("bridge", plant=HOUSE.id)}

    async def test_withdrawn_rights_remove_all_messages(self, setup: BridgeSetup) -> None:
        await setup.build(setup.plan(email=BRUNO.email, plant_id=HOUSE.id)).start()
        await setup.until(lambda: len(setup.retained()) > 2, "the house is published")
        await setup.api.env.people.withdraw(HOUSE.id, BRUNO.email)
        await setup.until(lambda: len(setup.retained()) == 1, "the messages are removed")

    async def test_a_guest_shows_only_the_modules_of_the_guest_and_only_in_the_period(self, setup: BridgeSetup) -> None:
        env = setup.api.env
        limits = Limits(modules=(LOCK,), valid_until=env.clock.now() + 100)
        await env.people.allow(FULL_PLANT.id, BRUNO.id, limits=limits)
        bridges = setup.build(setup.plan(email=BRUNO.email))
        await bridges.start()
        await setup.until(lambda: setup.state(LOCK) is not None, "the lock of the guest")
        assert setup.state(LIGHT) is None
        env.clock.advance(101)
        for bridge in bridges.running:
            bridge.change_state(LOCK)
        await setup.until(lambda: setup.newest(setup.topic(LOCK, "state")) == b"", "the period has ended")

    async def test_a_user_who_must_renew_the_password_shows_nothing(self, setup: BridgeSetup) -> None:
        await setup.start()
        await setup.api.env.people.set_standing(ANNA.id, Standing.PASSWORD_EXPIRED)
        await setup.until(lambda: len(setup.retained()) == 1, "the messages are removed")
        await setup.api.env.people.set_standing(ANNA.id, Standing.GOOD)
        await setup.until(lambda: setup.state(LIGHT) is not None, "the messages are back")

    async def test_a_removed_module_is_removed_from_the_broker(self, setup: BridgeSetup) -> None:
        await setup.start()
        await setup.until(lambda: setup.topic(LOCK, "state") in setup.retained(), "the lock is published")
        rest = msgspec.structs.replace(STUDIO, modules=tuple(one for one in STUDIO.modules if one.id != LIGHT))
        changed = msgspec.structs.replace(VILLA, topology=Topology(ambients=(rest,)), states=())
        await setup.api.env.store.import_estate(Estate(users=(ANNA,), plants=(changed,)), prune=True)
        await setup.until(
            lambda: not [topic for topic in setup.retained() if LIGHT.replace("-", "") in topic.replace("-", "")], "removed"
        )
        assert setup.topic(LOCK, "state") in setup.retained()

    async def test_a_bridge_that_is_not_active_only_removes_its_messages(self, setup: BridgeSetup) -> None:
        bridges = await setup.start()
        await bridges.stop()
        await setup.build(setup.plan(active=False)).start()
        await setup.until(lambda: not setup.retained(), "nothing is retained")


class TestLoops:
    async def test_a_module_of_the_same_broker_is_not_published(self, setup: BridgeSetup) -> None:
        lamp = msgspec.structs.replace(MODULE_OF[DeviceKind.HEATER], driver="mqtt", options={"dialect": "tasmota"})
        modules = tuple(lamp if one.id == lamp.id else one for one in STUDIO.modules)
        changed = msgspec.structs.replace(
            VILLA, topology=Topology(ambients=(msgspec.structs.replace(STUDIO, modules=modules),))
        )
        await setup.api.env.store.import_estate(Estate(users=(ANNA,), plants=(changed,)), prune=False)
        await setup.start()
        await setup.until(lambda: setup.state(LOCK) is not None, "the other modules")
        assert setup.topic(lamp.id, "state") not in setup.retained()

    def test_another_name_of_the_same_broker_is_recognised(self) -> None:
        one, same, other = (
            MqttBroker(name=name, url=url)
            for name, url in (("a", "mqtt://lan:1883"), ("b", "mqtt://lan"), ("c", "mqtt://other"))
        )
        broker = MqttBridgeBroker(one, [one, same, other])
        module = MODULE_OF[DeviceKind.LIGHT]
        carried = {
            name: broker.carries(msgspec.structs.replace(module, driver="mqtt", options={"broker": name})) for name in "abc"
        }
        assert carried == {"a": True, "b": True, "c": False}
        assert not broker.carries(module)


class TestAnnouncements:
    async def test_without_commands_nothing_can_be_commanded(self, setup: BridgeSetup) -> None:
        await setup.start()
        last = MODULE_OF[DeviceKind.EMERGENCY_UNIT].id
        await setup.until(lambda: setup.state(last) is not None, "all modules are published")
        announced = {topic: json.loads(payload) for topic, payload in setup.retained().items() if topic.startswith("ha")}
        assert not [topic for topic, config in announced.items() if "/set" in json.dumps(config)]
        assert {topic.split("/")[1] for topic in announced} == {"binary_sensor", "sensor"}

    async def test_each_module_that_can_be_commanded_is_announced_for_it(self, setup: BridgeSetup) -> None:
        await setup.start(setup.plan(commands=True, doors=True))
        wanted = {"light", "switch", "cover", "climate", "scene", "button", "binary_sensor", "sensor"}
        await setup.until(
            lambda: {topic.split("/")[1] for topic in setup.retained() if topic.startswith("ha")} == wanted, "all"
        )
        node, ours = FULL_PLANT.id.replace("-", ""), LIGHT.replace("-", "")
        light = json.loads(setup.retained()[f"{setup.announced_under}/light/domogate_{node}/{ours}/config"])
        assert light["command_topic"] == light["brightness_command_topic"] == setup.topic(LIGHT, "set")
        assert json.loads(light["payload_off"]) == {"do": "set light", "on": False}
        assert (light["device"]["name"], light["device"]["suggested_area"]) == ("The light", "Studio")
        assert [one["topic"] for one in light["availability"]] == [setup.topic("bridge"), setup.topic(LIGHT, "state")]
