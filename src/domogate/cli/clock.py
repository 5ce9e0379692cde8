"""`domogate clock …`: shows whether the clock of the gateways seems right; the operator can confirm that it is right.

A running gateway stores the time of its clock again and again. If the newest stored time is far from the present time of the
clock, no old data is pruned.
"""

import click

from domogate.cli._command import command, group, opened, reading
from domogate.cli._output import AsJson, note, print_json
from domogate.services.audit import AuditAction
from domogate.services.clock_check import TOLERANCE, describe
from domogate.services.people import COMMAND_LINE
from domogate.settings import Settings

commands = group("clock")


@command(commands, "show")
async def show(settings: Settings, as_json: AsJson = False) -> None:
    """Say whether old data is pruned.

    A running gateway stores the time again and again. If the last stored time is more than 7 days before or after the present
    time of the clock, nothing is pruned.
    """
    async with reading(settings) as tools:
        now, last = tools.clock.now(), await tools.store.find_last_time()
    is_right = last is None or abs(now - last) <= TOLERANCE
    if as_json:
        print_json({"now": now, "last_seen": last, "pruning": is_right})
    elif is_right:
        click.echo("The clock is right, as far as the gateway can tell. Old data is pruned.")
    else:
        assert last is not None
        click.echo(f"Nothing is pruned: {describe(now, last)}")


@command(commands, "confirm")
async def confirm(settings: Settings) -> None:
    """Confirm that the clock is right, for example after the gateway was off for a long time.

    A running gateway prunes old data again within a minute.
    """
    async with opened(settings) as tools:
        await tools.store.confirm_clock(tools.clock.now())
        tools.people.note(AuditAction.CLOCK_CONFIRMED, COMMAND_LINE, "clock")
    note("The clock is confirmed. A running gateway prunes old data again within a minute.")
