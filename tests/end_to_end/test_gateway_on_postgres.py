"""The whole gateway on PostgreSQL: the same commands, the same answers."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from support.estate_view import asked_of
from support.gateway import Gateway, eventually, run_command, running, start
from support.http import case, client
from support.postgres import PostgresServer, postgres_server
from support.restartable import clean_environment
from support.spec_operations import E1, E19, OPERATIONS, Operation
from support.strangers import find_hidden_fields, list_requests

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def settings(server: PostgresServer) -> dict[str, str]:
    # A busy machine reads changes late; that is not tested here.
    return {**server.settings_for_a_gateway(), "DOMOGATE_KNOWLEDGE_BOUND": "60", "DOMOGATE_DEVICE_DEADLINE": "20"}


@pytest.fixture(scope="module")
def gateway(settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(start("demo", tmp_path_factory.mktemp("postgres"), settings)) as started:
        yield started


class TestTheGatewayOnPostgres:
    @pytest.mark.parametrize("operation", OPERATIONS, ids=str)
    def test_answers_every_operation(self, gateway: Gateway, operation: Operation) -> None:
        who, target = gateway.case(operation)
        assert gateway.send(operation, target, who=who).status_code == 200

    def test_a_nul_of_a_stranger_is_never_a_failure(self, gateway: Gateway) -> None:
        """PostgreSQL refuses this character in every text."""
        with client(gateway.base_url) as web:
            hidden = find_hidden_fields(web.get("/auth/login").text)
            for request in list_requests():
                path = request.path.replace("{}", "a%00b")
                form = request.form and {**hidden, **{name: it.replace("{}", "a\0b") for name, it in request.form.items()}}
                with case(request):
                    answer = web.request(
                        request.method, path, data=form, content=request.json.replace("{}", "a\\u0000b") or None
                    )
                    assert answer.status_code < 500, answer.text

    def test_a_nul_in_a_reference_names_nothing(self, gateway: Gateway) -> None:
        assert gateway.send(E19, {"reference": "a%00b"}).status_code == 400

    def test_links_have_its_address_also_from_another_folder(
        self, gateway: Gateway, settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "data"
        command = ["user", "add", "dora@example.com", "--data", str(elsewhere)]
        done = run_command(command, clean_environment(settings))
        assert done.stdout.startswith(f"{gateway.base_url}/auth/"), done.stderr

    def test_a_gateway_of_another_cluster_does_not_start(
        self, gateway: Gateway, settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        command = ["serve", "--port", "0", "--data", str(tmp_path_factory.mktemp("other"))]
        done = run_command(command, clean_environment({**settings, "DOMOGATE_CLUSTER": "other"}))
        assert done.returncode == 1
        port = urlsplit(gateway.base_url).port
        assert re.search(f"the gateways [^ ]*:{port} run on this database as the cluster 'tests', but cluster is", done.stderr)
        assert "Traceback" not in done.stderr

    def test_keeps_what_was_acknowledged_when_it_is_killed(
        self, gateway: Gateway, server: PostgresServer, settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
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
            eventually(lambda: server.is_driven_by(2), "the lease of the killed gateway has ended")
            shown = second.plug_states(plant)
            assert [shown[plug] for plug in plugs] == [[True]] * len(plugs)
