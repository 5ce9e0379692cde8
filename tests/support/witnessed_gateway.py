"""`domogate` as a member of a cluster, with a clock that can be shifted and devices that write each order to a file.

Run it as a module. A line of the file has the order, the module, the number of the gateway, the epoch with which it held the
plant, and the time of the monotonic clock, which all processes of a machine share.
"""

import os
import time
from pathlib import Path
from unittest.mock import patch

from domogate.app import cluster
from domogate.cli import main
from domogate.domain.commands import Order
from domogate.services.cluster import HeldShards
from support.cluster_history import DeviceOrder
from support.journaling_gateway import JOURNAL, keep_journal
from support.shifted_gateway import SHIFT, shift_clock

NUMBER = "GATEWAY_NUMBER"
"""The environment variable with the number of the gateway."""
_NO_EPOCH = "-"


class _KnownShards(HeldShards):
    """Can be found by the devices."""

    known: "_KnownShards | None" = None

    def __init__(self) -> None:
        super().__init__()
        _KnownShards.known = self


def _describe(order: Order) -> str:
    epoch = None if _KnownShards.known is None else _KnownShards.known.epoch_of(order.plant_id)
    words = (order.id, order.module_id, os.environ[NUMBER], _NO_EPOCH if epoch is None else epoch, time.monotonic())
    return "\t".join(map(str, words))


def read_device_orders(path: Path) -> list[DeviceOrder]:
    lines = [line.split("\t") for line in path.read_text().split("\n")[:-1]]
    return [
        DeviceOrder(order, module, int(gateway), None if epoch == _NO_EPOCH else int(epoch), float(at))
        for order, module, gateway, epoch, at in lines
    ]


if __name__ == "__main__":
    shift_clock(os.environ[SHIFT])
    keep_journal(os.environ[JOURNAL], _describe)
    with patch.object(cluster, "HeldShards", _KnownShards):
        main()
