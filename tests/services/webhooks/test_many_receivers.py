"""Many receivers over real HTTP: a slow one does not delay the others, and every request is signed."""

import time
from pathlib import Path

import msgspec
import pytest

from domogate.backends.webhook_sender import HttpWebhookSender
from domogate.domain.estate import Estate
from domogate.domain.ids import Id
from domogate.domain.plants import Module
from support.clocks import ManualClock
from support.delivery_setup import APP, GUEST, LAMPS, OWNER, DeliverySetup, a_plant, open_delivery_setup
from support.examples import is_long
from support.receivers import receivers
from support.stores import an_id

SLOW = 7
"""The number of the receiver that never answers in time."""
PLANTS = 20
RECEIVERS = 200 if is_long() else 80


def plant_id(number: int) -> Id:
    return an_id(0x1000 + number)


def an_estate() -> Estate:
    def lamps(number: int) -> tuple[Module, ...]:
        return tuple(
            msgspec.structs.replace(lamp, id=an_id(0x10000 + number * 16 + n), internal_id=an_id(0x20000 + number * 16 + n))
            for n, lamp in enumerate(LAMPS[:2])
        )

    plants = tuple(a_plant(plant_id(number), lamps(number)) for number in range(PLANTS))
    return Estate(users=(OWNER, GUEST), clients=(APP,), plants=plants)


class RealClock(ManualClock):
    """The real time, because the receiver's library checks it."""

    def now(self) -> float:
        return time.time()


@pytest.mark.slow
async def test_one_slow_receiver_among_many_delays_none_of_the_others(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("domogate.services.webhooks.dispatcher._GRACE", 0.0)  # the end does not wait for the slow receiver
    webhook_sender = HttpWebhookSender(("127.0.0.0/8",), deadline=3600.0)
    try:
        async with (
            receivers(RECEIVERS) as every,
            open_delivery_setup(database, webhook_sender, RealClock(), estate=an_estate()) as setup,
        ):
            every[SLOW].delay = 3600.0
            who = await setup.grant_access()
            secrets = []
            for number, receiver in enumerate(every):
                made = await setup.register(receiver.url, who, plant_id=plant_id(number % PLANTS))
                secrets.append(made.secret)
            for number in range(PLANTS):
                for level in (1, 2, 3):
                    await _report(setup, number, level)
            for number, receiver in enumerate(every):
                if number != SLOW:
                    got = await receiver.wait_for(3)
                    assert [one.verify(secrets[number])["data"]["state"]["level"] for one in got] == [1, 2, 3]
            assert every[SLOW].got == []
            await setup.until(lambda: setup.dispatcher.running == 1)
            assert setup.dispatcher.counters.by_outcome()[("delivered",)] == (RECEIVERS - 1) * 3
    finally:
        await webhook_sender.stop()


async def _report(setup: DeliverySetup, number: int, level: int) -> None:
    lamp = msgspec.structs.replace(LAMPS[0], id=an_id(0x10000 + number * 16))
    await setup.report(lamp, level, plant_id=plant_id(number))
