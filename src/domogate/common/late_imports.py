"""Imports modules when they are first needed (Decision 0098)."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


async def load_module(name: str) -> ModuleType:
    """Import the module on a thread, so that the event loop does not wait."""
    return await asyncio.to_thread(import_module, name)


def late_names(package: str, names: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Return the function `__getattr__` of a package whose names are imported when they are first used.

    `names` maps each module of the package to the names that this module defines.
    """
    modules = {name: f"{package}.{module}" for module, defined in names.items() for name in defined}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return find
