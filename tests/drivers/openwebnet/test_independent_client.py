"""OWNd, an independent client, works with our test gateway: so the tests of the driver use a realistic gateway."""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from support.openwebnet_bus import BusLight, BusMeter, BusScenarios, BusShutter, BusZone
from support.openwebnet_gateway import BusGateway

pytestmark = pytest.mark.slow

CLIENT = Path(__file__).parents[2] / "support" / "openwebnet_client.py"
COMMANDS = ["*1*1*11##", "*#1*12*#1*155*255##", "*2*1*21##", "*#4*3*#14*0225*1##"]
REQUESTS = ["*#1*11##", "*#2*21##", "*#4*3##", "*#18*51*113##"]
LAST = "*#18*51*113*230##"


class ReferenceGateway(BusGateway):
    """A gateway with one device of each kind, and a client with the right or a wrong password."""

    def __init__(self, password: str, proof: str, guess: str | None = None) -> None:
        self.lamp, self.dimmer = BusLight("11"), BusLight("12", levels=100)
        self.shutter, self.zone = BusShutter("21", advanced=True, position=40), BusZone("3")
        devices = (self.lamp, self.dimmer, self.shutter, self.zone, BusMeter("51", watts=230), BusScenarios("01"))
        super().__init__(*devices, password=password, proof=proof)
        self.guess = password if guess is None else guess

    def visit(self) -> dict[str, Any]:
        return {"port": self.port, "password": self.guess, "commands": COMMANDS, "requests": REQUESTS, "last": LAST}


async def visit_all(*gateways: ReferenceGateway) -> list[dict[str, Any]]:
    """One process for all visits: its start takes the most time."""
    async with AsyncExitStack() as opened:
        for gateway in gateways:
            await opened.enter_async_context(gateway)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", str(CLIENT)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        visits = json.dumps([gateway.visit() for gateway in gateways]).encode()
        out, err = await asyncio.wait_for(process.communicate(visits), 100)
    assert process.returncode == 0, err.decode()
    said: list[dict[str, Any]] = json.loads(out)
    return said


async def test_ownd_connects_commands_and_gets_events_without_a_warning_and_is_refused_with_a_wrong_password() -> None:
    gateways = [
        ReferenceGateway("", "open"),
        ReferenceGateway("12345", "open"),
        ReferenceGateway("abcde123", "sha1"),
        ReferenceGateway("abcde123", "sha256"),
    ]
    strange = [ReferenceGateway("12345", "open", guess="999"), ReferenceGateway("abcde123", "sha256", guess="999")]
    said = await visit_all(*gateways, *strange)
    for gateway, of in zip(gateways, said, strict=False):
        check_welcome(gateway, of)
    for gateway, of in zip(strange, said[len(gateways) :], strict=True):
        assert of["tested"] == {"Success": False, "Message": "password_error"}
        assert gateway.sessions == {"0": 0, "1": 0}


def check_welcome(gateway: ReferenceGateway, said: dict[str, Any]) -> None:
    assert said["complaints"] == []
    assert said["tested"] == {"Success": True, "Message": None}
    assert said["sessions"] == [{"Success": True, "Message": None}] * 2
    assert (gateway.lamp.on, gateway.dimmer.level, gateway.shutter.moving, gateway.zone.set_point) == (True, 55, 1, "0225")
    assert gateway.told == COMMANDS
    assert gateway.asked == REQUESTS
    recorder = {event["frame"]: event["log"] for event in said["events"]}
    assert recorder["*1*1*11##"] == "Light 11 is switched on."
    assert recorder["*#1*12*1*155*255##"] == "Light 12 is switched on at 55%."
    assert recorder["*#2*21*10*11*40*000*0##"] == "Cover 21 is opening from initial position 40."
    assert recorder["*4*110#0225*3##"] == "Zone 3's mode is set to 'heat' at 22.5°C."
    assert recorder["*#4*3*0*0205##"] == "Zone 3's main sensor is reporting a temperature of 20.5°C."
    assert recorder[LAST] == "Sensor 1 is reporting an active power draw of 230 W."
