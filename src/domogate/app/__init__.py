"""Composition root: the only folder that imports everything. It says who fulfils each port, and how all start and stop.

A command that only opens the store does not wait for the whole gateway to be imported: that is half a second.
"""

from typing import TYPE_CHECKING, Any

from domogate.app.parts import new_subscription
from domogate.app.tools import Tools, open_tools, openapi_document, restore_backup, rotate_signing_keys

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway
    from domogate.app.serving import serve

__all__ = [
    "Gateway",
    "Tools",
    "new_subscription",
    "open_tools",
    "openapi_document",
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
