"""A ticket for a lock that cannot be opened by a command, for example an MQTT lock without the command `locked`."""

from typing import Any

import pytest

from domogate.domain.faults import CommandNotSupported
from domogate.domain.states import Report
from domogate.drivers.simulator.simulator import Simulator
from support.ticket_setup import TicketSetup, problem_type


async def test_a_lock_without_the_command_has_refused(setup: TicketSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    async def execute(*_: Any) -> Report:
        raise CommandNotSupported("the options of the module have no command 'locked'")

    monkeypatch.setattr(Simulator, "execute", execute)
    assert problem_type(await setup.redeem(await setup.mint()), 502) == "device-refused"
    entry = (await setup.entries())[-1]
    assert (entry.action, entry.result, entry.detail["why"]) == ("ticket redeemed", "failed", "device-refused")
