"""The whole gateway on PostgreSQL: the same commands, the same answers."""

from collections.abc import Iterator

import pytest

from support.estate_view import asked_of
from support.gateway import Gateway, run_command, running, start
from support.postgres import postgres_server
from support.restartable import clean_environment
from support.spec_operations import E1, OPERATIONS, Operation

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgres_server() as server:
        yield server.empty_database()


def settings_of(database: str) -> dict[str, str]:
    """Gateways on one database need the same key."""
    return {"DOMOGATE_DATABASE": database, "DOMOGATE_SECRET_KEY": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}


@pytest.fixture(scope="module")
def gateway(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(start("demo", tmp_path_factory.mktemp("postgres"), settings_of(database))) as started:
        yield started


class TestTheGatewayOnPostgres:
    @pytest.mark.parametrize("operation", OPERATIONS, ids=str)
    def test_answers_every_operation(self, gateway: Gateway, operation: Operation) -> None:
        who, target = gateway.case(operation)
        assert gateway.send(operation, target, who=who).status_code == 200

    def test_links_have_its_address_also_from_another_folder(
        self, gateway: Gateway, database: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "data"
        command = ["user", "add", "dora@example.com", "--data", str(elsewhere)]
        done = run_command(command, clean_environment(settings_of(database)))
        assert done.stdout.startswith(f"{gateway.base_url}/auth/"), done.stderr

    def test_keeps_what_was_acknowledged_when_it_is_killed(
        self, database: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        settings = settings_of(database)
        folder = tmp_path_factory.mktemp("killed")
        with running(start("demo", folder, settings)) as first:
            who, target = first.case(E1)
            plant = first.estate.plant(target["plant"])
            plugs = {str(module["id"]) for module in asked_of(plant, target)}
            for status in ("off", "on"):
                body = b'{"status": "%s"}' % status.encode()
                assert first.send(E1, target, who=who, body=body).status_code == 200
            first.process.kill()
            first.process.wait()
        with running(start("demo", folder, settings)) as second:
            shown = second.plug_states(plant)
            assert [shown[plug] for plug in plugs] == [[True]] * len(plugs)
