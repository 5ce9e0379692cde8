"""Composition root: the only folder that imports everything. It says who fulfils each port, and how all start and stop."""

from domogate.app.gateway import Gateway
from domogate.app.parts import new_subscription
from domogate.app.serving import serve
from domogate.app.tools import Tools, open_tools, openapi_document, restore_backup, rotate_signing_keys

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
