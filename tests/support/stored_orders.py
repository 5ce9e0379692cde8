"""Orders to the lamp of the small house, for tests of the store."""

from typing import Any

from domogate.domain.commands import Command, Order, OrderEnd, OrderState, SetLight
from support.clocks import NOW
from support.stores import HOUSE, LAMP

DEADLINE = NOW + 5
LIGHT_UP = SetLight(on=True)


def an_order(name: str = "one", command: Command = LIGHT_UP, **fields: Any) -> Order:
    return Order(name, HOUSE.id, LAMP.id, command, **{"deadline": DEADLINE, **fields})


def confirmed(name: str, at: float = NOW + 1) -> OrderEnd:
    return OrderEnd(name, OrderState.CONFIRMED, at)
