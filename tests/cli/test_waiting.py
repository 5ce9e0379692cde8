"""A command returns when every running gateway has applied its change."""

import asyncio
from typing import cast

import pytest

from domogate.cli._command import APPLIED_WITHIN, SILENT_FOR, Mistake, until_applied
from domogate.ports import Store
from domogate.stores import presence


class SlowGateways:
    """A store whose gateways apply a change after a number of seconds."""

    def __init__(self, after: float) -> None:
        self._left = after

    async def wait_applied(self, timeout: float) -> bool:
        self._left -= timeout
        return self._left <= 0


def wait_for(gateways: SlowGateways) -> None:
    asyncio.run(until_applied(cast(Store, gateways)))


class TestUntilApplied:
    def test_it_says_nothing_where_that_is_soon(self, capsys: pytest.CaptureFixture[str]) -> None:
        wait_for(SlowGateways(after=SILENT_FOR))
        assert capsys.readouterr() == ("", "")

    def test_a_gateway_that_takes_longer_is_waited_for_and_that_is_said(self, capsys: pytest.CaptureFixture[str]) -> None:
        wait_for(SlowGateways(after=APPLIED_WITHIN))
        assert "waiting for a running gateway" in capsys.readouterr().err

    def test_one_that_takes_too_long_is_a_failure_that_says_what_is_done(self) -> None:
        with pytest.raises(Mistake, match="the change is stored, but a running gateway has not applied it within 30 seconds"):
            wait_for(SlowGateways(after=APPLIED_WITHIN + 1))

    def test_a_gateway_that_was_killed_is_forgotten_before_that(self) -> None:
        assert APPLIED_WITHIN > presence.ALIVE
