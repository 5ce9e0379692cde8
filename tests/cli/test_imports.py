"""A command imports only what it uses (Decision 0098). The tests count modules and measure no time."""

import subprocess
import sys

import pytest

from support.command_line import CommandLine
from support.http import PATIENCE

LARGE = {
    *("aiohttp", "alembic", "argon2", "cryptography", "fpdf", "jinja2", "joserfc", "jsonschema", "nats", "PIL"),
    *("opentelemetry", "yarl"),
    *("prometheus_client", "psycopg", "pydantic", "pygments", "rich", "segno", "starlette", "uvicorn", "webauthn", "yaml"),
    "sqlalchemy.dialects.postgresql",
}
"""Libraries, and a part of a library, that short commands do not need."""

_SCRIPT = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from domogate.cli import main
main()
"""


_GATEWAY = """
import asyncio, sys
from pathlib import Path
from domogate.app.serving import Gateway
from domogate.settings import Settings

async def start():
    gateway = Gateway(Settings(data=Path(sys.argv[1])))
    await gateway.start()
    await gateway.stop()
    print(*sys.modules, file=sys.stderr)

asyncio.run(start())
"""
_JSON_ESTATE = """
import sys
from domogate.estate import read_estate

home = '{"id": "ca5a0001-0000-4000-8000-000000000000", "name": "Home", "type": "house", "owner": "a@example.com"}'
read = read_estate('{"users": [{"email": "a@example.com"}], "plants": [%s]}' % home, "estate.json")
assert len(read.estate.plants) == 1
print(*sys.modules, file=sys.stderr)
"""
USED_BY_A_GATEWAY = {"argon2", "cryptography", "joserfc", "uvicorn"}


def modules_of(*arguments: str, script: str = _SCRIPT) -> set[str]:
    """Run the script in a new process. Returns the names of all modules that it has imported."""
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--version"], ["version"], ["--help"]], ids=" ".join)
def test_help_and_version_load_neither_the_database_nor_large_libraries(arguments: list[str]) -> None:
    assert modules_of(*arguments) & (LARGE | {"sqlalchemy"}) == set()


@pytest.mark.parametrize("noun", ["user", "client", "plant"])
def test_a_list_loads_the_database_and_no_large_library(empty_store: CommandLine, noun: str) -> None:
    found = modules_of(noun, "list", "--data", str(empty_store.data))
    assert "sqlalchemy" in found
    assert found & (LARGE | {"uvloop"}) == set()


def test_a_list_of_keys_loads_neither_sqlalchemy_nor_services_for_people(empty_store: CommandLine) -> None:
    found = modules_of("key", "list", "--data", str(empty_store.data))
    assert found & (LARGE | {"sqlalchemy", "uvloop"}) == set()
    assert "domogate.stores.prepared_file" in found
    others = {"services.people", "services.audit", "stores.keys", "stores.store", "stores.tables"}
    assert {f"domogate.{module}" for module in others} & found == set()


def test_a_list_of_keys_loads_one_part_of_the_store_if_the_file_must_be_prepared(empty_store: CommandLine) -> None:
    (empty_store.data / "in-use").unlink()
    found = modules_of("key", "list", "--data", str(empty_store.data))
    assert {"sqlalchemy", "domogate.stores.keys"} <= found
    others = {"services.people", "services.audit", "stores.store", "stores.plants", "stores.writer"}
    assert {f"domogate.{module}" for module in others} & found == set()
    tables = {module for module in found if module.startswith("domogate.stores.tables.")}
    assert tables == {f"domogate.stores.tables.{module}" for module in ("_metadata", "feed", "keys")}


def test_a_gateway_loads_no_library_that_nobody_has_used_yet(empty_store: CommandLine) -> None:
    found = modules_of(str(empty_store.data), script=_GATEWAY)
    assert found & LARGE == USED_BY_A_GATEWAY
    assert {"domogate.drivers.mqtt.driver", "domogate.drivers.openwebnet.driver"} & found == set()
    late = ("auth.pages", "developer", "estate", "events", "homes", "management", "tickets", "webhooks")
    assert {f"domogate.{package}" for package in late} & found == set()


def test_a_correct_estate_file_in_json_is_read_without_jsonschema_and_without_the_yaml_parser() -> None:
    assert modules_of(script=_JSON_ESTATE) & {"jsonschema", "yaml"} == set()
