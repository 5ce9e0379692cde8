"""`domogate move`: a gateway with the demo estate is used, stopped and moved to PostgreSQL. Then everything goes on."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from domogate.stores.migrate import migrate
from domogate.stores.opening import open_database
from support import processes
from support.gateway import Gateway, running, start
from support.ports import free_port
from support.postgres import PostgresServer, postgres_server
from support.restartable import RestartableGateway, clean_environment
from support.spec_operations import OPERATIONS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

LISTS = (("user", "list"), ("client", "list"), ("key", "list"), ("plant", "list"), ("signing-key", "list"))
"""Commands whose output must be the same before and after the move."""


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


def move(data: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return processes.run(["move", "--data", str(data), *flags], clean_environment({}), 300)


def read_all(gateway: Gateway) -> list[Any]:
    lists = [gateway.domogate(*command, "--json") for command in LISTS]
    reads = [(operation, *gateway.case(operation)) for operation in OPERATIONS if operation.method == "GET"]
    answers = [gateway.send(operation, target, who=who) for operation, who, target in reads]
    assert {answer.status_code for answer in answers} == {200}
    return [*lists, *(sorted(flatten(answer.json())) for answer in answers)]


def flatten(value: Any, path: str = "") -> list[str]:
    """The names and values of a JSON document. Measured values change while the simulator runs."""
    if isinstance(value, dict):
        return [line for name, item in value.items() for line in flatten(item, f"{path}.{name}")]
    if isinstance(value, list):
        return [line for item in value for line in flatten(item, f"{path}[]")]
    is_stable = isinstance(value, str) and not re.match(r"eyJ|[\d.-]", value)  # not a ticket, not a time, not a number
    return [f"{path}={value}" if is_stable else path]


def renew(base_url: str, ready: dict[str, Any], refresh_token: str) -> httpx.Response:
    client = next(one for one in ready["clients"] if one["client_id"] == "demo-app")
    form = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": client["client_id"]}
    secret = client["client_secret"]
    return httpx.post(f"{base_url}/auth/token", data=form if secret is None else {**form, "client_secret": secret}, timeout=60)


def test_everything_goes_on_after_a_move(tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.empty_database()
    with running(start("demo", tmp_path, port=free_port())) as before:
        ready, data = dict(before.ready), before.data
        refused = move(data, "--to", url)
        assert refused.returncode == 1
        assert "another gateway runs on the data" in refused.stderr
        answers = read_all(before)
    other = tmp_path / "other.sqlite3"
    for target, said in ((f"sqlite:///{other}", "a move goes from a SQLite file"), ("nonsense", "Could not parse")):
        wrong = move(data, "--to", target)
        assert wrong.returncode == 1
        assert said in wrong.stderr
    assert not other.exists()
    done = move(data, "--to", url)
    assert done.returncode == 0, done.stderr
    assert "Both databases have the same rows." in done.stderr
    assert (data / "domogate.sqlite3").exists()
    again = move(data, "--to", url)
    assert again.returncode == 1
    assert "is not empty" in again.stderr
    moved = tmp_path / "moved"
    moved.mkdir()
    settings = {
        **postgres.settings_of_the_cluster(),
        "DOMOGATE_DATABASE": url,
        "DOMOGATE_SECRET_KEY_FILE": str(data / "secret-key"),
        "DOMOGATE_PUBLIC_URL": ready["base_url"],
    }
    gateway = RestartableGateway(moved, clean_environment(settings), port=urlsplit(ready["base_url"]).port or 0, known=ready)
    with running(gateway.start()) as after:
        assert read_all(after) == answers
        renewed = renew(after.base_url, ready, ready["users"][0]["refresh_token"])
        assert renewed.status_code == 200, renewed.text


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        ((), 2, "give --to URL or --to-file FILE"),
        (("--to", "postgresql://gate:secret@db/homes"), 2, "use --to-file FILE"),
        (("--to", "postgresql"), 1, "there is no SQLite database"),
        (("--to", "postgresql://127.0.0.1:1/homes"), 1, "there is no SQLite database"),
    ],
)
def test_a_wrong_move_is_refused(tmp_path: Path, flags: tuple[str, ...], code: int, said: str) -> None:
    refused = move(tmp_path, *flags)
    assert refused.returncode == code
    assert said in refused.stderr
    assert "secret" not in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_copy_that_fails_leaves_the_target_empty(tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.empty_database()
    with running(start("demo", tmp_path, port=free_port())) as before:
        data = before.data
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as admin:
        migrated = move_tables(url)
        admin.execute("ALTER TABLE states ADD CONSTRAINT none CHECK (module_id = '') NOT VALID")
    failed = move(data, "--to", url)
    assert failed.returncode == 1, migrated
    assert "the database cannot be used: new row for relation" in failed.stderr
    assert "Failing row contains" not in failed.stderr, "the server adds the values of the row on further lines"
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as admin:
        assert admin.execute("SELECT count(*) FROM plants").fetchone() == (0,)


def test_a_database_that_answers_differently_is_refused(tmp_path: Path, postgres: PostgresServer) -> None:
    """A trigger changes a row at the commit, after the rows were compared."""
    url = postgres.empty_database()
    with running(start("demo", tmp_path, port=free_port())) as before:
        data = before.data
    move_tables(url)
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as admin:
        admin.execute(
            "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN UPDATE subscriptions SET name = 'other'; RETURN NULL; END $$"
        )
        admin.execute(
            "CREATE CONSTRAINT TRIGGER spoil AFTER INSERT ON subscriptions DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION spoil()"
        )
    refused = move(data, "--to", url)
    assert refused.returncode == 1
    assert "keys: the new database answers differently. Do not use it. The SQLite file keeps its data" in refused.stderr
    assert "may have migrated its tables" in refused.stderr
    assert "unchanged" not in refused.stderr


def move_tables(url: str) -> bool:
    """Make the empty tables, as a store does at its start."""
    database = open_database(url)
    migrate(database)
    database.close()
    return True
