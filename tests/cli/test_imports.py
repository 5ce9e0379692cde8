"""A command imports only what it uses (Decision 0098). The tests count modules and measure no time."""

import subprocess
import sys

import pytest

from support.command_line import CommandLine
from support.http import PATIENCE

LARGE = {
    *("aiohttp", "alembic", "argon2", "cryptography", "fpdf", "jinja2", "joserfc", "jsonschema", "nats", "PIL"),
    *("prometheus_client", "psycopg", "pygments", "starlette", "uvicorn", "webauthn", "yaml"),
}
"""Libraries that short commands do not need."""

_SCRIPT = """
import atexit, sys
atexit.register(lambda: print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr))
from domogate.cli import main
main()
"""


def libraries_of(*arguments: str) -> set[str]:
    """Run the command in a new process. Returns the libraries that it has imported."""
    done = subprocess.run([sys.executable, "-c", _SCRIPT, *arguments], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--version"], ["version"], ["--help"]], ids=" ".join)
def test_help_and_version_load_neither_the_database_nor_large_libraries(arguments: list[str]) -> None:
    assert libraries_of(*arguments) & ((LARGE | {"sqlalchemy"}) - {"pygments"}) == set()


@pytest.mark.parametrize("noun", ["key", "user", "client", "plant"])
def test_a_list_loads_the_database_and_no_large_library(domogate: CommandLine, noun: str) -> None:
    domogate.create()
    found = libraries_of(noun, "list", "--data", str(domogate.data))
    assert "sqlalchemy" in found
    assert found & (LARGE | {"rich"}) == set()
