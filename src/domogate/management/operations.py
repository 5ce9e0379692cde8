"""The one table of all operations."""

from domogate.management import clients, drivers, faults, keys, modules, orders, plants, readings, safety, users, webhooks
from domogate.management.operation import Operation

OPERATIONS: tuple[Operation, ...] = (
    *users.OPERATIONS,
    *clients.OPERATIONS,
    *plants.OPERATIONS,
    *modules.OPERATIONS,
    *readings.OPERATIONS,
    *orders.OPERATIONS,
    *safety.OPERATIONS,
    *webhooks.OPERATIONS,
    *faults.OPERATIONS,
    *drivers.OPERATIONS,
    *keys.OPERATIONS,
)
