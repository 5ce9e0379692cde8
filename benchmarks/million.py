"""A million modules in ten thousand plants, in SQLite and in PostgreSQL: import, start-up, memory and reads."""

import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import text

from benchmarks.cluster_requests import running_members, shared_settings
from benchmarks.estates import USER, build_plant
from benchmarks.imports import LEAST_A_SECOND, MOST_MIB, Import, run_import
from benchmarks.load import request, resident_megabytes
from benchmarks.scenarios import Row, Scenario, at_most, light_path, measure, ratio, topology_path
from benchmarks.servers import Running, fill, running
from domogate.app.parts import sqlite_file
from domogate.domain.estate import Estate
from domogate.estate import print_in_parts
from domogate.settings import Settings
from domogate.stores import sqlite_url
from domogate.stores.opening import open_database
from support.postgres import postgres_server

_PLANTS, _COPIES, _EACH = 100, 100, 100
_HELD = 1_000
_PLANTS_KEY = "\nplants:\n"
_ID = re.compile(r"([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{4})[0-9a-f]{8}")


def _copied(words: str, copy: int) -> str:
    """Return the text with other ids. They end with the number of the copy, so the ids of a copy are spread over all ids."""
    return _ID.sub(rf"\g<1>{copy:08x}", words)


def _write_estate(file: Path) -> None:
    """Write an estate file with a million modules: a hundred plants, each of them a hundred times with other ids."""
    plants = (build_plant(number, _EACH) for number in range(1, _PLANTS + 1))
    head, key, printed = "".join(print_in_parts(Estate(users=(USER,)), plants)).partition(_PLANTS_KEY)
    printed, end, rest = printed.partition("\n\n")
    with file.open("w") as estate:
        estate.write(f"{head}{key}")
        estate.writelines(f"{_copied(printed, copy)}\n" for copy in range(_COPIES))
        estate.write(f"{end}{rest}")


def _spread(path: str, number: int) -> str:
    """The path of the same module or plant in another copy."""
    return _copied(path, number // _PLANTS)


async def _import_a_million(folder: Path, data: Path, **settings: Any) -> Import:
    await fill(data, plants=1, modules=_EACH, **settings)
    file = folder / "estate.yaml"
    _write_estate(file)
    done = run_import(file, data, **settings)
    file.unlink()
    # As if all devices had reported a short time ago: the reads below ask no device.
    database = open_database(settings.get("database") or sqlite_url(sqlite_file(Settings(data=data))))
    with database.writing.begin() as connection:
        connection.execute(text("UPDATE states SET at = :now"), {"now": time.time()})
    with database.writing.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
    database.close()
    return done


async def _measure(kind: str, done: Import, few: Running, many: Running) -> AsyncIterator[Row]:
    stored = f"a million modules in 10,000 plants ({kind})"
    rate = _PLANTS * _COPIES * _EACH / done.cpu_seconds
    figure = f"{rate:,.0f} ({_PLANTS * _COPIES * _EACH / done.seconds:,.0f} per second)"
    yield Row(f"import of {stored}: modules per CPU-second", figure, f">= {LEAST_A_SECOND:,}", rate >= LEAST_A_SECOND)
    yield at_most(f"import of {stored}: peak memory", done.peak_mib, MOST_MIB, " MiB")
    figure = f"{many.start_cpu:.2f} s CPU (with 100 modules {few.start_cpu:.2f} s)"
    yield Row(f"start-up with {stored}", figure, "<= 3 s CPU", many.start_cpu <= 3)
    hot = [request("GET", light_path(0, number), few.headers()) for number in range(80)]
    same = [request("GET", light_path(0, number), many.headers()) for number in range(80)]
    cost = await ratio(few, hot, many, same)
    yield at_most(f"E8 CPU with {stored} / with 100 modules", cost, 1.2)
    held = [request("GET", _spread(topology_path(1 + n % _PLANTS), n), many.headers()) for n in range(_HELD)]
    await measure(many, held, total=_HELD, connections=8)
    yield at_most(f"memory with {stored}, 100,000 modules held", resident_megabytes(many.pid), 400, " MB")
    others = [request("GET", _spread(light_path(1 + n % _PLANTS, 0), n), many.headers()) for n in range(_HELD, 2 * _HELD)]
    load = await measure(many, others, total=_HELD, connections=8)
    cost = load.cpu_seconds / load.requests * 1000
    yield at_most(f"E8 on a plant that is not held, with {stored}", cost, 3, " ms CPU")


async def million_on_sqlite() -> AsyncIterator[Row]:
    with TemporaryDirectory() as small, TemporaryDirectory() as large:
        await fill(Path(small), plants=1, modules=_EACH)
        data = Path(large) / "data"
        done = await _import_a_million(Path(large), data)
        with running("gateway", data=small) as few, running("gateway", data=data, named_drivers=True) as many:
            async for row in _measure("SQLite", done, few, many):
                yield row


@contextmanager
def _running_member(folder: Path, settings: dict[str, Any]) -> Iterator[Running]:
    with running_members(folder, settings, ("one",)) as (member,):
        yield member


async def million_on_postgres() -> AsyncIterator[Row]:
    with TemporaryDirectory() as small, TemporaryDirectory() as large, postgres_server() as one, postgres_server() as other:
        of_few, of_many = shared_settings(one), shared_settings(other)
        await fill(Path(small) / "fill", plants=1, modules=_EACH, **of_few)
        done = await _import_a_million(Path(large), Path(large) / "fill", **of_many)
        with (
            _running_member(Path(small), of_few) as few,
            _running_member(Path(large), {**of_many, "named_drivers": True}) as many,
        ):
            async for row in _measure("PostgreSQL", done, few, many):
                yield row


MILLION: dict[str, Scenario] = {"million": million_on_sqlite, "million-postgres": million_on_postgres}
