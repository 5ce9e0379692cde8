"""`domogate` with simulated devices that write every order to a file before they execute it. Run it as a module.

The journal lists the orders that really reached a device. A line is written in one piece, before the order is executed or
answered. So the journal also has the orders of a killed process.
"""

import asyncio
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from domogate.cli import main
from domogate.domain.commands import Order
from domogate.domain.states import Report
from domogate.drivers.simulator.simulator import Simulator

JOURNAL = "ORDERS_JOURNAL"
"""The environment variable that names the file."""
SLOWEST = 0.03
"""The longest time of a device for an order, in seconds, so that a kill finds orders at devices."""


def _describe(order: Order) -> str:
    return f"{order.id}\t{order.module_id}\t{time.time()}\t{order.deadline}"


def keep_journal(path: str, describe: Callable[[Order], str] = _describe) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    obey = Simulator.execute

    async def execute(self: Simulator, order: Order) -> Report:
        os.write(file, f"{describe(order)}\n".encode())
        await asyncio.sleep(random.uniform(0, SLOWEST))
        return await obey(self, order)

    Simulator.execute = execute  # type: ignore[method-assign]  # to write each order down


def read_journal(path: Path) -> list[tuple[str, str, float, float]]:
    """Order, module, time of sending and deadline. An incomplete last line is left out."""
    lines = [line.split("\t") for line in path.read_text().split("\n")[:-1]]
    return [(order, module, float(at), float(deadline)) for order, module, at, deadline in lines]


if __name__ == "__main__":
    keep_journal(os.environ[JOURNAL])
    main()
