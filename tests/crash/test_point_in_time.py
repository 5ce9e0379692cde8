"""Point-in-time recovery of PostgreSQL, with the settings and in the order of docs/operations/backups.md."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.estate_view import EstateView
from support.gateway import Gateway, eventually, import_estate, run_command
from support.kill_rounds import all_plugs
from support.markdown import section
from support.named_code import ROOT
from support.plug_estate import KEY, OWNER, plug_estate
from support.postgres import BACKUPS, PostgresServer, postgres_server
from support.restartable import RestartableGateway, clean_environment, kill
from support.spec_operations import E1
from support.store_access import add_credentials

pytestmark = pytest.mark.slow

_SECTION = section((ROOT / "docs" / "operations" / "backups.md").read_text(), "Backups of PostgreSQL")
ARCHIVE, RECOVER = re.findall(r"^```ini\n(.*?)^```$", _SECTION, re.MULTILINE | re.DOTALL)[:2]
"""The settings of the server that the page shows: before a loss, and after it."""
FOLDER, TIME = "/var/backups", "2026-11-17 09:30:00+00"
"""The folder and the time on the page."""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with postgres_server(ARCHIVE.replace(FOLDER, BACKUPS)) as server:
        yield server


@pytest.fixture
def gateway(server: PostgresServer, tmp_path: Path) -> RestartableGateway:
    settings = {**server.settings_for_a_gateway(), "DOMOGATE_SIMULATOR_TICK": "3600", "DOMOGATE_DRAIN": "2"}
    gateway = RestartableGateway(tmp_path, clean_environment(settings))
    import_estate(plug_estate(), tmp_path, gateway.data, gateway.environment)
    return gateway


def switch_on(served: Gateway, room: int) -> set[str]:
    """Switch the plugs of a room of the first plant on. Returns the ids of the plugs."""
    plant = EstateView(plug_estate()).plants[0]
    ambient = plant.plug_ambients[room]
    answer = served.send(E1, {"plant": plant.id, "ambient": str(ambient["id"])}, who=OWNER, body=b'{"status": "on"}')
    assert answer.status_code == 200, answer.text
    return {str(module["id"]) for module in ambient["modules"]}


def find_plugs_on(served: Gateway) -> set[str]:
    return {plug for plug, status in all_plugs(served).items() if status == [True]}


class TestDrill:
    def test_the_database_returns_to_the_time_before_a_mistake(
        self, server: PostgresServer, gateway: RestartableGateway
    ) -> None:
        served = gateway.start()
        try:
            gateway.known = {name: add_credentials(served, KEY).ready[name] for name in ("subscription_key", "users")}
            before_the_backup = switch_on(served, 0)
            server.make_base_backup()
            kept = before_the_backup | switch_on(served, 1)
            wanted = server.ask("SELECT clock_timestamp()::text")
            mistake = switch_on(served, 2)
            assert find_plugs_on(served) == kept | mistake
            server.archive_log()
        finally:
            kill(served.process)
            served.stop()
        server.lose_data()

        server.recover(RECOVER.replace(FOLDER, BACKUPS).replace(TIME, wanted))
        served = gateway.start()
        try:
            # The tokens and the key from before the loss are used.
            assert find_plugs_on(served) == kept
            # The lease of the killed gateway is in the recovered database. Until it ends, nobody drives the plants.
            eventually(lambda: server.is_driven_by(1), "the gateway drives the plants")
            assert switch_on(served, 2) == mistake
            verified = run_command(["audit", "verify", "--data", str(gateway.data)], gateway.environment)
            assert verified.returncode == 0, verified.stdout + verified.stderr
        finally:
            served.stop()
        assert "Traceback" not in served.log
        # The server archives its log again, on a new timeline.
        server.archive_log()

    def test_a_time_after_the_archived_log_is_refused(self, server: PostgresServer) -> None:
        server.make_base_backup()
        server.archive_log()
        server.lose_data()
        with pytest.raises(RuntimeError, match="recovery ended before configured recovery target was reached"):
            server.recover(RECOVER.replace(FOLDER, BACKUPS).replace(TIME, "2100-01-01 00:00:00+00"))
