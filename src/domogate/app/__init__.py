"""Composition root: builds all parts and connects them. It chooses the implementation of each port.

The names of this package are imported from their modules when they are first used (Decision 0098). So a command loads
the server only if it needs the server, and `domogate --help` does not load the database.
"""

from typing import TYPE_CHECKING

from domogate.common.late_imports import late_names

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway
    from domogate.app.parts import UnnamedDriversError, new_subscription
    from domogate.app.serving import serve, serve_for_tests
    from domogate.app.tools import (
        Tools,
        back_up_unwritable,
        find_missing_file,
        is_store_writable,
        list_subscriptions,
        open_tools,
        read_shard_map,
        restore_backup,
        rotate_signing_keys,
    )

__all__ = [
    "Gateway",
    "Tools",
    "UnnamedDriversError",
    "back_up_unwritable",
    "find_missing_file",
    "is_store_writable",
    "list_subscriptions",
    "new_subscription",
    "open_tools",
    "read_shard_map",
    "restore_backup",
    "rotate_signing_keys",
    "serve",
    "serve_for_tests",
]

__getattr__ = late_names(
    __name__,
    {
        "gateway": ("Gateway",),
        "parts": ("UnnamedDriversError", "new_subscription"),
        "serving": ("serve", "serve_for_tests"),
        "tools": (
            "Tools",
            "back_up_unwritable",
            "find_missing_file",
            "is_store_writable",
            "list_subscriptions",
            "open_tools",
            "read_shard_map",
            "restore_backup",
            "rotate_signing_keys",
        ),
    },
)
