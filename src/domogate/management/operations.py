"""The one table of all operations."""

from domogate.management import clients, keys, plants, users
from domogate.management.operation import Operation

OPERATIONS: tuple[Operation, ...] = (*users.OPERATIONS, *clients.OPERATIONS, *plants.OPERATIONS, *keys.OPERATIONS)
