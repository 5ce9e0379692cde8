"""Devices that never answer: every caller is answered by the deadline, and a thousand such calls delay no other plant."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from support.estate_view import EstateView, PlantView
from support.gateway import Gateway, order_states, running, serve_estate
from support.http import KEY_HEADER, PATIENCE
from support.plug_estate import KEY, OWNER, plug_estate
from support.spec_operations import E1, E12, E16, Operation, Target
from support.store_access import add_credentials

pytestmark = pytest.mark.slow

LIMIT = 20.0
"""Long enough that the other plants are asked before it, even on a machine that pauses for seconds."""
CALLS = 1000
THERMOSTAT = "30000000-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """No device of the first plant answers; the other plants work."""
    estate = plug_estate()
    stuck = estate["plants"][0]
    for room in stuck["ambients"]:
        for plug in room["modules"]:
            plug["options"] = {"simulate": "slow"}
    state = {"function": "heating", "mode": "manual", "setPoint": 20}
    thermostat = {"id": THERMOSTAT, "name": "Thermostat", "kind": "chronothermostat", "state": state}
    stuck["modules"] = [{**thermostat, "options": {"simulate": "slow"}}]
    settings = {
        "DOMOGATE_DEVICE_DEADLINE": str(LIMIT),
        "DOMOGATE_SIMULATOR_TICK": "3600",
        "DOMOGATE_CONNECTIONS_MOST_PER_ADDRESS": str(2 * CALLS),
    }
    with running(serve_estate(estate, tmp_path_factory.mktemp("stuck"), settings)) as gateway:
        yield add_credentials(gateway, KEY)


@pytest.fixture
def plants(gateway: Gateway) -> list[PlantView]:
    return EstateView(plug_estate()).plants


async def send(gateway: Gateway, operation: Operation, target: Target, body: bytes = b"") -> int:
    """The status, over a new connection."""
    address = urlsplit(gateway.base_url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        token = gateway.people[OWNER].token_for(operation)
        head = (
            f"{operation.method} {operation.url(target)} HTTP/1.1\r\nHost: {address.netloc}\r\n{KEY_HEADER}: {KEY}\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        return int((await reader.readline()).split()[1])
    finally:
        writer.close()


def room_of(plant: PlantView, number: int) -> Target:
    return {"plant": plant.id, "ambient": str(plant.plug_ambients[number % len(plant.plug_ambients)]["id"])}


class TestADeviceThatNeverAnswers:
    async def test_is_408_and_a_thousand_calls_at_once_delay_no_other_plant(
        self, gateway: Gateway, plants: list[PlantView]
    ) -> None:
        stuck, *well = plants
        answered: list[str] = []
        loop = asyncio.get_running_loop()

        async def ask(name: str, operation: Operation, target: Target, body: bytes = b"") -> int:
            status = await send(gateway, operation, target, body)
            answered.append(name)
            return status

        async def read_the_thermostat() -> float:
            """Seconds until the answer. tests/services/driving/test_isolation.py checks the exact deadline with one clock."""
            begun = loop.time()
            assert await send(gateway, E12, {"plant": stuck.id, "module": THERMOSTAT}) == 408
            return loop.time() - begun

        reading = asyncio.create_task(read_the_thermostat())
        calls = [asyncio.create_task(ask("stuck", E1, room_of(stuck, number), b'{"status": "on"}')) for number in range(CALLS)]
        while sum(order_states(gateway.data).values()) < CALLS // 2:
            await asyncio.sleep(0.05)
        statuses = [
            await ask("well", operation, target, body)
            for plant in well
            for operation, target, body in (
                (E1, room_of(plant, 0), b'{"status": "on"}'),
                (E16, {"plant": plant.id}, b""),
                (E1, room_of(plant, 1), b'{"status": "off"}'),
            )
        ]
        assert statuses == [200] * len(statuses)
        waiting = CALLS - answered.count("stuck")
        assert waiting > 0, "the others were answered only after all that never are"
        async with asyncio.timeout(LIMIT + PATIENCE):
            assert Counter(await asyncio.gather(*calls)) == {500: CALLS}
            assert await reading >= LIMIT - 0.1
        # Each call is for two plugs. Calls at the deadline may be about to end.
        states = order_states(gateway.data)
        assert states["sent"] + states["expired"] == 2 * CALLS
        async with asyncio.timeout(PATIENCE):
            while order_states(gateway.data)["sent"]:
                await asyncio.sleep(0.2)
        assert order_states(gateway.data)["expired"] == 2 * CALLS
