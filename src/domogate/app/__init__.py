"""Composition root: the only folder that imports everything. It chooses the implementation of each port.

`Gateway` and `serve` are imported only when they are used. So commands that only open the store start half a second faster.
"""

from typing import TYPE_CHECKING, Any

from domogate.app.parts import UnnamedDriversError, new_subscription
from domogate.app.tools import (
    Tools,
    back_up_unwritable,
    find_missing_file,
    is_store_writable,
    open_tools,
    read_shard_map,
    restore_backup,
    rotate_signing_keys,
)

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway
    from domogate.app.serving import serve

__all__ = [
    "Gateway",
    "Tools",
    "UnnamedDriversError",
    "back_up_unwritable",
    "find_missing_file",
    "is_store_writable",
    "new_subscription",
    "open_tools",
    "read_shard_map",
    "restore_backup",
    "rotate_signing_keys",
    "serve",
]


def __getattr__(name: str) -> Any:
    if name == "Gateway":
        from domogate.app.gateway import Gateway

        return Gateway
    if name == "serve":
        from domogate.app.serving import serve

        return serve
    raise AttributeError(name)
