"""kill -9 while tickets are redeemed: no lock opens twice for one ticket, and a confirmed ticket stays used."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from support.gateway import Gateway, import_estate
from support.http import client
from support.journaled import JournaledGateway
from support.journaling_gateway import read_journal
from support.kill_rounds import SETTINGS, check_database
from support.plug_estate import KEY, OWNER, plug_estate
from support.restartable import kill
from support.spec_operations import E11
from support.store_access import add_credentials

pytestmark = pytest.mark.slow

LOCK = "10000000-0000-4000-8000-00000000f002"
TICKETS, MOST_ROUNDS = 24, 10
DEADLINE = 30.0


def estate_with_a_lock() -> dict[str, Any]:
    estate = plug_estate()
    estate["plants"][0]["modules"] = [{"id": LOCK, "name": "Gate", "kind": "lock", "driver": "simulator"}]
    return estate


def mint(gateway: Gateway, plant: str) -> str:
    answer = gateway.send(E11, {"plant": plant, "module": LOCK}, who=OWNER)
    assert answer.status_code == 200, answer.text
    ticket: str = answer.json()["locks"][0]["ticket"]
    return ticket


def order_of(ticket: str) -> str:
    return f"ticket-{jwt.decode(ticket, options={'verify_signature': False})['jti']}"


def redeem(base_url: str, ticket: str) -> int | None:
    """The status of the answer, or None if the gateway was killed first."""
    with client(base_url) as sdk:
        try:
            return sdk.post("/tickets/redeem", json={"ticket": ticket}).status_code
        except httpx.TransportError:
            return None


def redeem_and_kill(gateway: Gateway, tickets: list[str], journal: Path) -> dict[str, int | None]:
    """Redeem all tickets at the same time. Kill the gateway when the first order has reached the lock."""
    sent = len(read_journal(journal))
    give_up = time.monotonic() + DEADLINE
    with ThreadPoolExecutor(len(tickets)) as pool:
        answers = [pool.submit(redeem, gateway.base_url, ticket) for ticket in tickets]
        while len(read_journal(journal)) == sent and time.monotonic() < give_up:
            time.sleep(0.001)
        kill(gateway.process)
        return {ticket: answer.result() for ticket, answer in zip(tickets, answers, strict=True)}


def test_a_lock_opens_once_for_a_ticket_although_the_gateway_is_killed(tmp_path: Path) -> None:
    restartable = JournaledGateway(tmp_path, {**SETTINGS, "DOMOGATE_TICKET_LIFETIME": "120"})
    estate = estate_with_a_lock()
    plant = estate["plants"][0]["id"]
    import_estate(estate, tmp_path, restartable.data, restartable.environment)
    gateway, again = restartable.start(), Counter[int | None]()
    try:
        restartable.known = {name: add_credentials(gateway, KEY).ready[name] for name in ("subscription_key", "users")}
        # A kill may find no redemption under way; then there is another kill.
        for _ in range(MOST_ROUNDS):
            gateway = restartable.connect(gateway.process)
            tickets = [mint(gateway, plant) for _ in range(TICKETS)]
            first = redeem_and_kill(gateway, tickets, restartable.journal)
            gateway.stop()
            gateway = restartable.start()
            sent = {order for order, *_ in read_journal(restartable.journal)}
            for ticket, status in first.items():
                second = redeem(gateway.base_url, ticket)
                again[second] += status is None
                # If its order had reached the lock, the ticket is used, even if nobody got an answer.
                assert second in ((409,) if order_of(ticket) in sent else (200, 409))
                assert status != 200 or second == 409
            if again[409]:
                break
        assert again[409] > 0, "the kill found no redemption under way"
    finally:
        gateway.stop()
    check_database(restartable.database)
    orders = [order for order, *_ in read_journal(restartable.journal)]
    assert max(Counter(orders).values()) == 1, "a lock was opened twice for one ticket"
