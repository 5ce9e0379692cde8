"""Composition root: builds all parts and connects them. It chooses the implementation of each port.

The names of this package are imported from their modules when they are first used (Decision 0098). So a command loads
the server only if it needs the server, and `domogate --help` does not load the database.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway
    from domogate.app.parts import UnnamedDriversError, new_subscription
    from domogate.app.serving import serve, serve_for_tests
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
    "serve_for_tests",
]

_MODULES = {
    "Gateway": "gateway",
    "serve": "serving",
    "serve_for_tests": "serving",
    "UnnamedDriversError": "parts",
    "new_subscription": "parts",
}
"""The names of this package that are not in the module `tools`, each with its module."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(f"domogate.app.{_MODULES.get(name, 'tools')}"), name)
