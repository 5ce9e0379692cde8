"""A whole gateway process with a bus: applications read its states and switch its devices."""

import asyncio
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.extension_operations import X1, X2
from support.gateway import Gateway, running, serve_estate
from support.openwebnet_bus import BusLight, BusMeter, BusZone
from support.openwebnet_gateway import BusGateway
from support.spec_operations import ALL_SCOPES, E1, E4, E8, E12, E13, Operation
from support.store_access import add_credentials

pytestmark = pytest.mark.slow

OWNER = "owner@example.com"
KEY = "bus-estate-only-0123456789"
_NAMESPACE = uuid.UUID("6c0e2a0f-3c1b-4f0e-9b7c-8a4b6d1f2e30")
PLANT, ROOM, LAMP, DIMMER, PLUG, ZONE, NEW_ZONE = (
    str(uuid.uuid5(_NAMESPACE, word)) for word in ("plant", "room", "lamp", "dimmer", "plug", "zone", "new zone")
)


def module(identity: str, kind: str, **options: Any) -> dict[str, Any]:
    return {"id": identity, "name": f"A {kind}", "kind": kind, "driver": "openwebnet", "options": options}


def bus_estate() -> dict[str, Any]:
    modules = [
        module(LAMP, "light", where="11"),
        module(DIMMER, "light", where="12", levels=100),
        module(PLUG, "plug", where="13", meter="51"),
        module(ZONE, "chronothermostat", where="3"),
        module(NEW_ZONE, "chronothermostat", where="4"),
    ]
    room = {"id": ROOM, "name": "Room", "type": "office", "modules": modules}
    scopes = sorted({*ALL_SCOPES, "light.write", "comfort.write"})
    return {
        "users": [{"email": OWNER, "name": "Owner", "password": "a good long password"}],
        "subscriptions": [{"name": "bus", "key": KEY}],
        "clients": [{"id": "bus-app", "name": "Bus", "scopes": scopes, "redirectUris": ["http://localhost/cb"]}],
        "plants": [{"id": PLANT, "name": "House", "type": "house", "owner": OWNER, "ambients": [room]}],
    }


class ThreadedClient:
    """Calls in a thread, so that the simulated bus can run meanwhile."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway

    async def call(self, operation: Operation, module_id: str, body: dict[str, Any] | None = None) -> httpx.Response:
        target = {"plant": PLANT, "ambient": ROOM} if operation is E1 else {"plant": PLANT, "module": module_id}
        content = None if body is None else json.dumps(body).encode()
        return await asyncio.to_thread(self.gateway.send, operation, target, who=OWNER, body=content)

    async def until(self, operation: Operation, module_id: str, holds: Callable[[httpx.Response], bool]) -> None:
        async with asyncio.timeout(60):
            while not holds(answer := await self.call(operation, module_id)):
                assert answer.status_code in (200, 404, 408), answer.text
                await asyncio.sleep(0.05)


def lights(answer: httpx.Response) -> dict[str, Any]:
    found: dict[str, Any] = answer.json()["lights"][0]
    return found


def is_on(light: BusLight) -> bool:
    return light.on


async def test_applications_see_and_move_a_bus(tmp_path: Path) -> None:
    lamp, dimmer, plug = BusLight("11"), BusLight("12", levels=100), BusLight("13")
    zone, new_zone, meter = BusZone("3"), BusZone("4"), BusMeter("51", watts=60, watt_hours=700)
    new_zone.mode = None
    async with BusGateway(lamp, dimmer, plug, zone, new_zone, meter, password="abcde123", proof="sha256") as bus:
        table = {"name": "home", "host": "127.0.0.1", "port": bus.port, "password": "abcde123"}
        settings = {"DOMOGATE_OPENWEBNET_GATEWAYS": json.dumps([table]), "DOMOGATE_DEVICE_DEADLINE": "30"}
        gateway = await asyncio.to_thread(serve_estate, bus_estate(), tmp_path, settings)
        with running(gateway):
            await asyncio.to_thread(add_credentials, gateway, KEY)
            client = ThreadedClient(gateway)
            # The first state, and a change by the switch on the wall.
            await client.until(E8, LAMP, lambda answer: answer.status_code == 200 and lights(answer)["status"] == "off")
            await bus.happen(*lamp.obey("1"))
            await client.until(E8, LAMP, lambda answer: lights(answer)["status"] == "on")
            # An order is executed when the application gets its answer.
            assert (await client.call(E1, PLUG, {"status": "on"})).status_code == 200
            assert is_on(plug)
            assert (await client.call(X2, DIMMER, {"status": "on", "level": 37})).status_code == 200
            assert (dimmer.on, dimmer.level) == (True, 37)
            assert lights(await client.call(E8, DIMMER))["level"] == 37
            consumptions = (await client.call(E4, PLUG)).json()["consumptions"]
            assert {(it["unit"], it["value"]) for it in consumptions} == {("watt", 60), ("watt_hour", 700)}
            manual = {"function": "heating", "mode": "manual", "setPoint": {"value": "22.5", "unit": "C"}}
            assert (await client.call(X1, ZONE, manual)).status_code == 200
            assert (zone.mode, zone.set_point) == ("110", "0225")
            shown = (await client.call(E12, ZONE)).json()["chronothermostats"][0]
            assert (shown["mode"], float(shown["setPoint"]["value"])) == ("manual", 22.5)
            # A zone that has told its temperature but no mode can be reached, and its mode can be set.
            await client.until(E12, NEW_ZONE, lambda answer: answer.status_code == 408)
            assert "offline" not in (await client.call(E12, NEW_ZONE)).text
            assert (await client.call(E13, NEW_ZONE)).status_code == 200
            assert (await client.call(X1, NEW_ZONE, manual)).status_code == 200
            assert (await client.call(E12, NEW_ZONE)).json()["chronothermostats"][0]["mode"] == "manual"
            # A refused order, and a gateway that is offline.
            bus.disobedient.add("13")
            assert (await client.call(E1, PLUG, {"status": "off"})).status_code == 500
            told = len(bus.told)
            await bus.shut()
            await client.until(E8, LAMP, lambda answer: answer.status_code == 404)
            assert (await client.call(E1, PLUG, {"status": "off"})).status_code == 404
            assert len(bus.told) == told
            # The gateway comes back.
            await bus.open()
            await client.until(E8, LAMP, lambda answer: answer.status_code == 200)
            bus.disobedient.clear()
            assert (await client.call(E1, PLUG, {"status": "off"})).status_code == 200
            assert not is_on(plug)
        assert "abcde123" not in gateway.log
