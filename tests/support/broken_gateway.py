"""`domogate` in which three handlers raise an exception. Run it as a module."""

import functools
from collections.abc import Callable
from typing import Any, Never

import msgspec

from domogate.cli import main
from domogate.developer import keys
from domogate.homes import modules
from domogate.http_api.operations import OperationTable
from domogate.management import clients

BROKEN = ((modules.OPERATIONS, "commandModule"), (clients.OPERATIONS, "listClients"), (keys.OPERATIONS, "listKeys"))


class BrokenHandlerError(Exception):
    """No code expects it."""


def break_handler(operations: OperationTable, operation_id: str) -> None:
    (operation,) = (one for one in operations if one.id == operation_id)
    msgspec.structs.force_setattr(operation, "handler", _raising(operation.handler))


def _raising(handler: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(handler)
    async def fail(*_arguments: object, **_options: object) -> Never:
        raise BrokenHandlerError

    return fail


if __name__ == "__main__":
    for operations, operation_id in BROKEN:
        break_handler(operations, operation_id)
    main()
