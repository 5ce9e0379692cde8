"""A gateway whose store fails: the answers are 500, the log stays small, and nothing is left behind."""

import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from support.gateway import running, start
from support.http import expect_refusal
from support.spec_operations import E1, E3, E8

pytestmark = pytest.mark.slow

ORDERS = 150


def failures_in(log: str) -> Counter[tuple[str, str]]:
    """Count the lines of the log that have a traceback, by the event and the last line of the traceback."""
    found: Counter[tuple[str, str]] = Counter()
    for record in re.split(r"^(?=\d{4}-\d\d-\d\dT)", log, flags=re.MULTILINE):
        head, _, below = record.rstrip().partition("\n")
        if "Traceback" in below:
            found[head.split("] ", 1)[1].split(" [")[0], below.rpartition("\n")[2]] += 1
    return found


class TestTheLogOfAFailingStore:
    def test_it_has_one_line_and_a_count_for_each_cause(self, tmp_path: Path) -> None:
        with running(start("demo", tmp_path)) as demo:
            who, target = demo.case(E1)
            with closing(sqlite3.connect(demo.data / "domogate.sqlite3", timeout=60)) as connection:
                connection.execute("ALTER TABLE orders RENAME TO orders_elsewhere")
            before = len(demo.log)
            answers = [demo.send(E1, target, who=who).status_code for _ in range(ORDERS)]
            assert answers == [500] * ORDERS
            with closing(sqlite3.connect(demo.data / "domogate.sqlite3", timeout=60)) as connection:
                connection.execute("ALTER TABLE orders_elsewhere RENAME TO orders")
            assert demo.send(E1, target, who=who).status_code == 200
        said = demo.log[before:]
        assert "order not written" in said
        assert "order not written (repeated)" in said
        assert set(failures_in(said).values()) == {1}
        assert len(said) < 60_000, f"{len(said)} characters for {ORDERS} failed orders"


class TestAFailureBeforeTheFamily:
    def test_it_has_the_shape_of_the_family(self, tmp_path: Path) -> None:
        """The gateway cannot read the origins of clients, so no family gets these requests."""
        with running(start("demo", tmp_path)) as demo:
            cases = [(operation, *demo.case(operation)) for operation in (E1, E3, E8)]
            for operation, who, target in cases:
                assert demo.send(operation, target, who=who).status_code == 200
            with closing(sqlite3.connect(demo.data / "domogate.sqlite3", timeout=60)) as connection:
                connection.execute("ALTER TABLE clients RENAME TO clients_elsewhere")
            origin = {"Origin": "https://app.example"}
            for operation, who, target in cases:
                expect_refusal(operation, demo.send(operation, target, who=who, headers=origin), 500)
            assert demo.api.http.get("/home/v1/me", headers=origin).headers["content-type"] == "application/problem+json"
            assert demo.api.http.get("/auth/jwks", headers=origin).json()["error"] == "server_error"


class TestAStopWithAFailingStore:
    def test_it_reaches_all_parts_and_logs_what_is_lost(self, tmp_path: Path) -> None:
        with running(start("demo", tmp_path)) as demo:
            who, target = demo.case(E1)
            with closing(sqlite3.connect(demo.data / "domogate.sqlite3", timeout=60)) as connection:
                for table in ("usages", "audit"):
                    connection.execute(f"ALTER TABLE {table} RENAME TO {table}_elsewhere")
            assert demo.send(E1, target, who=who).status_code == 200
        assert "the last usage of keys is lost" in demo.log
        assert "audit entries lost when the gateway stopped" in demo.log
        assert demo.process.returncode == 0
