"""All tables, for code that works on whole databases. Other code imports the tables that it needs."""

from importlib import import_module
from pkgutil import iter_modules

from domogate.stores import tables
from domogate.stores.tables._metadata import metadata, partial_indexes

__all__ = ["metadata", "partial_indexes"]

for _found in iter_modules(tables.__path__, f"{tables.__name__}."):
    import_module(_found.name)  # A module adds its tables to `metadata`.
