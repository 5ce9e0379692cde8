"""Devices that never answer: everyone is answered by the limit, and a thousand such calls keep no other plant waiting."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.backstage import let_in
from support.estate_view import EstateView, PlantView
from support.gateway import Gateway, running, serve_estate
from support.http import KEY_HEADER
from support.plug_estate import KEY, OWNER, plug_estate
from support.spec_operations import E1, E12, E16, Operation, Target

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

LIMIT = 8.0
CALLS = 1000
THERMOSTAT = "30000000-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """In the first plant nothing ever answers; the others are well."""
    estate = plug_estate()
    stuck = estate["plants"][0]
    for room in stuck["ambients"]:
        for plug in room["modules"]:
            plug["options"] = {"simulate": "slow"}
    state = {"function": "heating", "mode": "manual", "setPoint": 20}
    thermostat = {"id": THERMOSTAT, "name": "Thermostat", "kind": "chronothermostat", "state": state}
    stuck["modules"] = [{**thermostat, "options": {"simulate": "slow"}}]
    settings = {"DOMOGATE_DEVICE_DEADLINE": str(LIMIT), "DOMOGATE_SIMULATOR_TICK": "3600"}
    with running(serve_estate(estate, tmp_path_factory.mktemp("stuck"), settings)) as gateway:
        yield let_in(gateway, KEY)


@pytest.fixture
def plants(gateway: Gateway) -> list[PlantView]:
    return EstateView(plug_estate()).plants


async def send(gateway: Gateway, operation: Operation, target: Target, body: bytes = b"") -> int:
    """The status, over a connection of its own: as cheap as a client can be."""
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


def order_states(data: Path) -> Counter[str]:
    with closing(sqlite3.connect(f"{(data / 'domogate.sqlite3').as_uri()}?mode=ro", uri=True, timeout=30)) as connection:
        return Counter(dict(connection.execute("SELECT state, count(*) FROM orders GROUP BY state").fetchall()))


class TestADeviceThatNeverAnswers:
    async def test_is_408_by_the_limit_and_not_before_it(self, gateway, plants):
        """How close to the limit is seen in tests/services/driving/test_isolation.py, where one clock ticks for both sides."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with asyncio.timeout(LIMIT * 5):
            assert await send(gateway, E12, {"plant": plants[0].id, "module": THERMOSTAT}) == 408
        assert loop.time() - begun >= LIMIT - 0.1

    async def test_a_thousand_times_at_once_delays_no_other_plant(self, gateway, plants):
        stuck, *well = plants
        answered: list[str] = []

        async def ask(name: str, operation: Operation, target: Target, body: bytes = b"") -> int:
            status = await send(gateway, operation, target, body)
            answered.append(name)
            return status

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
        assert Counter(await asyncio.gather(*calls)) == {500: CALLS}
        states = order_states(gateway.data)
        # Each call is to two plugs; those on their way at the limit may be ending this moment.
        assert states["sent"] + states["expired"] == 2 * CALLS
        async with asyncio.timeout(30):
            while order_states(gateway.data)["sent"]:
                await asyncio.sleep(0.2)
        assert order_states(gateway.data)["expired"] == 2 * CALLS
