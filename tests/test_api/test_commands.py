"""The commands that the test API lists."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from domogate.domain.commands import OrderRecord, OrderState
from domogate.test_api.operations import CommandFilter, list_commands
from support.clocks import NOW
from support.stored_orders import an_order


class StoreWithScene:
    """The steps of a scene have the same time, so a store returns all of them on one page, the newest first."""

    async def list_orders(self, *_: object) -> Sequence[OrderRecord]:
        return [OrderRecord(an_order(f"step-{number}"), OrderState.QUEUED, NOW) for number in (3, 2, 1)]


async def test_a_list_has_at_most_the_wanted_number_of_commands() -> None:
    services: Any = SimpleNamespace(store=StoreWithScene())
    call: Any = None
    listed = await list_commands(services, call, CommandFilter(limit=2))
    assert [command.id for command in listed.items] == ["step-2", "step-3"]
