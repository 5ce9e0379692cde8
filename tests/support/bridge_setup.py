"""Bridges of a home in this process to a real broker, and an independent client that watches the topics."""

import asyncio
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

from domogate.domain.bridges import BridgePlan
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.domain.states import LightState
from domogate.drivers.mqtt import MqttBroker
from domogate.drivers.mqtt.bridge_broker import MqttBridgeBroker
from domogate.identity.knowledge import KnowledgeBound
from domogate.services.bridges.bridge import Bridge
from domogate.services.bridges.bridges import Bridges
from domogate.services.bridges.rights import BridgeRights
from domogate.services.homes.commands import HomeCommands
from domogate.services.homes.limits import PersonLimits
from support.full_plant import FULL_PLANT, MODULE_OF
from support.home_setup import HomeApi
from support.mosquitto import PATIENCE, DeviceClient, Mosquitto
from support.stores import ANNA

LIGHT, SCENE, LOCK = (MODULE_OF[kind].id for kind in (DeviceKind.LIGHT, DeviceKind.SCENE, DeviceKind.LOCK))


class BridgeSetup:
    """A home, and what its bridges published. Each setup has its own base topics, because the tests share the broker."""

    def __init__(self, api: HomeApi, broker: Mosquitto) -> None:
        self.api = api
        self.broker = broker
        self.base, self.announced_under = (f"{word}{uuid.uuid4().hex[:8]}" for word in ("base", "ha"))
        self.client = DeviceClient(broker.port)
        self.client.listen(f"{self.base}/#", f"{self.announced_under}/#")
        self.services: list[Bridges] = []
        self.has_successor = True
        """Whether another gateway of the cluster runs the bridges that a gateway hands over."""
        self.knowledge_age = 0.0
        """The gateway knows all changes of the other gateways of its cluster that are older than this number of seconds."""

    def plan(self, **changes: Any) -> BridgePlan:
        given = {"email": ANNA.email, "plant_id": FULL_PLANT.id, "announced_under": self.announced_under, **changes}
        return BridgePlan(base=self.base, **given)

    def build(self, *plans: BridgePlan, holds: Callable[[Id], bool] | None = None) -> Bridges:
        env, devices = self.api.env, self.api.backend.devices
        one = MqttBroker(url=self.broker.url, client_id="driver")
        rights = BridgeRights(env.store, devices.read_model, env.clock)
        limits = PersonLimits(env.clock)
        commands = HomeCommands(devices.read_model, devices.control, devices.scenes, env.store, limits, env.clock, env.audit)
        knowledge = KnowledgeBound(lambda: self.knowledge_age, 2.0, patience=0.1)
        bridges = [
            Bridge(plan, MqttBridgeBroker(one, [one]), rights, commands, env.clock, lambda: knowledge.is_kept, knowledge.wait)
            for plan in plans or (self.plan(),)
        ]
        built = Bridges(bridges, holds=holds, has_successor=lambda: self.has_successor)
        env.store.listen(built.apply)
        self.services.append(built)
        return built

    async def start(self, *plans: BridgePlan) -> Bridges:
        """Start bridges, and wait until the light of the first plan is published."""
        built = self.build(*plans)
        await built.start()
        await self.until(lambda: self.state(LIGHT) is not None, "the light is published")
        return built

    async def close(self) -> None:
        for one in self.services:
            await one.stop()
        self.client.close()

    def answer_level(self, level: int) -> None:
        """From now on, the light confirms commands with this level."""
        self.api.backend.drivers["simulator"].answers[LIGHT] = LightState(on=True, level=level)

    async def set_level(self, level: int) -> None:
        """Set the light with the home API."""
        self.answer_level(level)
        path = f"/homes/{FULL_PLANT.id}/modules/{LIGHT}/commands"
        await self.api.ok("POST", path, {"do": "set light", "level": level})

    # what the client sees

    def topic(self, *parts: str, plant: Id = FULL_PLANT.id) -> str:
        return "/".join((self.base, plant, *parts))

    def newest(self, topic: str) -> bytes | None:
        """The newest payload of the topic, or None if there is no message."""
        return next((payload for one, payload, _ in reversed(self.client.received) if one == topic), None)

    def state(self, module_id: Id, plant: Id = FULL_PLANT.id) -> Any:
        payload = self.newest(self.topic(module_id, "state", plant=plant))
        return json.loads(payload) if payload else None

    def results(self, module_id: Id) -> list[Any]:
        topic = self.topic(module_id, "result")
        return [json.loads(payload) for one, payload, _ in self.client.received if one == topic]

    def retained(self) -> dict[str, bytes]:
        """The retained messages of the broker, as a new client sees them."""
        reader = DeviceClient(self.broker.port)
        reader.listen(f"{self.base}/#", f"{self.announced_under}/#")
        reader.listen("end")
        reader.publish("end", b"x")
        deadline = time.monotonic() + PATIENCE
        while not any(topic == "end" for topic, _, _ in reader.received):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        reader.close()
        return {topic: payload for topic, payload, _ in reader.received if topic != "end"}

    async def until(self, check: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not check():
            assert time.monotonic() < deadline, f"not in time: {what}"
            await asyncio.sleep(0.01)

    async def command(self, module_id: Id, payload: Any, **fields: Any) -> Any:
        """Send a command, and return its result."""
        before = len(self.results(module_id))
        body = payload if isinstance(payload, str | bytes) else json.dumps({**payload, **fields})
        self.client.publish(self.topic(module_id, "set"), body)
        await self.until(lambda: len(self.results(module_id)) > before, f"a result of {body[:80]!r}")
        return self.results(module_id)[-1]
