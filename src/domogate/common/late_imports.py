"""Imports large modules when they are first needed (Decision 0098)."""

import asyncio
from importlib import import_module
from types import ModuleType


async def load_module(name: str) -> ModuleType:
    """Import the module on a thread, so that the event loop does not wait."""
    return await asyncio.to_thread(import_module, name)
