"""A million modules in ten thousand plants, in SQLite and in PostgreSQL: start-up, memory and reads.

A hundred plants are imported. The database then copies them, because an import of a million modules takes minutes.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Connection, text

from benchmarks.cluster_requests import running_members, shared_settings
from benchmarks.estates import plant_id
from benchmarks.load import request, resident_megabytes
from benchmarks.scenarios import Row, Scenario, at_most, light_path, measure, ratio, topology_path
from benchmarks.servers import Running, fill, running
from domogate.app.parts import sqlite_file
from domogate.settings import Settings
from domogate.stores import sqlite_url
from domogate.stores.opening import open_database
from domogate.stores.tables import metadata
from support.postgres import postgres_server

_PLANTS, _COPIES = 100, 100
_HELD = 1_000
_TABLES = ("plants", "members", "floors", "ambients", "modules", "states")
_IDS = {"id", "internal_id", "plant_id", "floor_id", "ambient_id", "module_id", "controller_id"}
_PREFIX = {"sqlite": "printf('%08x', n)", "postgresql": "lpad(to_hex(n), 8, '0')"}


def _topology_of(plant: int, copy: int) -> str:
    """The path of the topology of a copied plant. It needs no device, so it is answered while plants are being attached."""
    original = plant_id(plant)
    return topology_path(plant).replace(original, f"{copy:08x}{original[8:]}" if copy else original)


def _copy_plants(connection: Connection) -> None:
    """Copy all rows of all plants. The number of the copy is the beginning of each id."""
    connection.execute(text("UPDATE modules SET driver_named = true"))
    numbers = f"WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {_COPIES - 1})"
    for name in _TABLES:
        columns = [column.name for column in metadata.tables[name].columns]
        prefix = _PREFIX[connection.dialect.name]
        values = [f"{prefix} || substr({column}, 9)" if column in _IDS else column for column in columns]
        quoted = ", ".join(columns)
        connection.execute(text(f"{numbers} INSERT INTO {name} ({quoted}) SELECT {', '.join(values)} FROM {name}, numbers"))


async def _fill_a_million(data: Path, **settings: Any) -> None:
    await fill(data, plants=_PLANTS, modules=100, **settings)
    database = open_database(settings.get("database") or sqlite_url(sqlite_file(Settings(data=data))))
    with database.writing.begin() as connection:
        _copy_plants(connection)
    with database.writing.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
    database.close()


async def _measure(kind: str, few: Running, many: Running) -> AsyncIterator[Row]:
    stored = f"a million modules in 10,000 plants ({kind})"
    figure = f"{many.start_cpu:.2f} s CPU (with 100 modules {few.start_cpu:.2f} s)"
    yield Row(f"start-up with {stored}", figure, "<= 3 s CPU", many.start_cpu <= 3)
    hot = [request("GET", light_path(0, number), few.headers()) for number in range(80)]
    same = [request("GET", light_path(0, number), many.headers()) for number in range(80)]
    cost, _ = await ratio(few, hot, many, same)
    yield at_most(f"E8 CPU with {stored} / with 100 modules", cost, 1.2)
    held = [request("GET", _topology_of(n % _PLANTS, n // _PLANTS), many.headers()) for n in range(_HELD)]
    await measure(many, held, total=_HELD, connections=8)
    yield at_most(f"memory with {stored}, 100,000 modules held", resident_megabytes(many.pid), 400, " MB")


async def million_on_sqlite() -> AsyncIterator[Row]:
    with TemporaryDirectory() as small, TemporaryDirectory() as large:
        await fill(Path(small), plants=1, modules=100)
        await _fill_a_million(Path(large))
        with running("gateway", data=small) as few, running("gateway", data=large, named_drivers=True) as many:
            async for row in _measure("SQLite", few, many):
                yield row


@contextmanager
def _running_member(folder: Path, settings: dict[str, Any]) -> Iterator[Running]:
    with running_members(folder, settings, ("one",)) as (member,):
        yield member


async def million_on_postgres() -> AsyncIterator[Row]:
    with TemporaryDirectory() as small, TemporaryDirectory() as large, postgres_server() as one, postgres_server() as other:
        of_few, of_many = shared_settings(one), shared_settings(other)
        await fill(Path(small) / "fill", plants=1, modules=100, **of_few)
        await _fill_a_million(Path(large) / "fill", **of_many)
        with (
            _running_member(Path(small), of_few) as few,
            _running_member(Path(large), {**of_many, "named_drivers": True}) as many,
        ):
            async for row in _measure("PostgreSQL", few, many):
                yield row


MILLION: dict[str, Scenario] = {"million": million_on_sqlite, "million-postgres": million_on_postgres}
