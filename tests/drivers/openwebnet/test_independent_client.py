"""OWNd, a client that we did not write, takes our test gateway for a real one: the driver is tested against no fancy."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.openwebnet_gateway import BusGateway, BusLight, BusMeter, BusScenarios, BusShutter, BusZone

pytestmark = pytest.mark.slow

CLIENT = Path(__file__).parents[2] / "support" / "openwebnet_client.py"


async def run_client(gateway: BusGateway, password: str, commands: list[str], requests: list[str]) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", str(CLIENT), str(gateway.port), password, *commands, "--", *requests),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, err.decode()
    said: dict[str, Any] = json.loads(out)
    return said


class TestOWNd:
    @pytest.mark.parametrize(
        ("password", "proof"), [("", "open"), ("12345", "open"), ("abcde123", "sha1"), ("abcde123", "sha256")]
    )
    async def test_connects_commands_and_hears_without_complaint(self, password: str, proof: str) -> None:
        lamp, dimmer = BusLight("11"), BusLight("12", levels=100)
        shutter, zone, meter = BusShutter("21", advanced=True, position=40), BusZone("3"), BusMeter("51", watts=230)
        scenarios = BusScenarios("01")
        commands = ["*1*1*11##", "*#1*12*#1*155*255##", "*2*1*21##", "*#4*3*#14*0225*1##"]
        requests = ["*#1*11##", "*#2*21##", "*#4*3##", "*#18*51*113##"]
        async with BusGateway(lamp, dimmer, shutter, zone, meter, scenarios, password=password, proof=proof) as gateway:
            said = await run_client(gateway, password, commands, requests)
        assert said["complaints"] == []
        assert said["tested"] == {"Success": True, "Message": None}
        assert said["sessions"] == [{"Success": True, "Message": None}] * 2
        assert (lamp.on, dimmer.level, shutter.moving, zone.set_point) == (True, 55, 1, "0225")
        assert gateway.told == commands
        assert gateway.asked == requests
        heard = {event["frame"]: event["log"] for event in said["events"]}
        assert heard["*1*1*11##"] == "Light 11 is switched on."
        assert heard["*#1*12*1*155*255##"] == "Light 12 is switched on at 55%."
        assert heard["*#2*21*10*11*40*000*0##"] == "Cover 21 is opening from initial position 40."
        assert heard["*4*110#0225*3##"] == "Zone 3's mode is set to 'heat' at 22.5°C."
        assert heard["*#4*3*0*0205##"] == "Zone 3's main sensor is reporting a temperature of 20.5°C."
        assert heard["*#18*51*113*230##"] == "Sensor 1 is reporting an active power draw of 230 W."

    @pytest.mark.parametrize(("password", "proof"), [("12345", "open"), ("abcde123", "sha256")])
    async def test_is_refused_with_a_wrong_password(self, password: str, proof: str) -> None:
        async with BusGateway(password=password, proof=proof) as gateway:
            said = await run_client(gateway, "999", [], [])
        assert said["tested"] == {"Success": False, "Message": "password_error"}
        assert gateway.sessions == {"0": 0, "1": 0}
