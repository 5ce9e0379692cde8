"""Commands and refusals of the families are in the audit log, with pseudonyms."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.extension_operations import X1, X2
from support.gateway import QUICK, Gateway, eventually, running, start
from support.http import expect_refusal
from support.spec_operations import E1, E5, E7, E11, E15
from support.store_access import simulated

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(start("demo", tmp_path_factory.mktemp("audit"), QUICK)) as started:
        yield started


def entries(gateway: Gateway) -> list[dict[str, Any]]:
    """The oldest is first."""
    return [record["entry"] for record in reversed(json.loads(gateway.domogate("audit", "list", "--json")))]


def plugs_of(gateway: Gateway, plant_id: str, ambient_id: str) -> list[str]:
    ambients = gateway.estate.plant(plant_id).plug_ambients
    modules = next(ambient["modules"] for ambient in ambients if ambient["id"] == ambient_id)
    return [module["id"] for module in modules if module["kind"] == "plug"]


class TestTheAuditLog:
    def test_has_commands_tickets_and_refusals_of_those_who_are_known(self, gateway: Gateway) -> None:
        for operation in (E1, E5, E11, E15):
            who, target = gateway.case(operation)
            assert gateway.send(operation, target, who=who).status_code == 200
        who, target = gateway.case(E7)
        stranger = gateway.a_stranger_to(gateway.estate.plant(target["plant"]))
        assert gateway.send(E7, target, who=stranger).status_code == 403

        def all_noted() -> bool:
            noted = " ".join(entry["what"] for entry in entries(gateway))
            return all(word in noted for word in ("E1 plugs on", "E5 run", "E11 open", "E15 videoOut", "E7 NotYourPlant"))

        eventually(all_noted, "five entries in the audit log")
        gateway.domogate("audit", "verify")  # fails when the chain is broken

    def test_has_commands_that_a_device_did_not_confirm(self, gateway: Gateway) -> None:
        who, room, plugs = next(
            (who, target, plugs)
            for who, target in gateway.cases(E1)
            if len(plugs := plugs_of(gateway, target["plant"], target["ambient"])) > 1
        )
        with simulated(gateway, plugs[0], "offline"):
            expect_refusal(E1, gateway.send(E1, room, who=who, body=b'{"status": "off"}'), 404)
        assert gateway.plug_states(gateway.estate.plant(room["plant"]))[plugs[1]] == [False], "the other plug did switch"
        who, thermostat = gateway.case(X1)
        with simulated(gateway, thermostat["module"], "slow"):
            expect_refusal(X1, gateway.send(X1, thermostat, who=who), 408)
        who, light = gateway.case(X2)
        with simulated(gateway, light["module"], "refusing"):
            expect_refusal(X2, gateway.send(X2, light, who=who), 500)
        expected = [
            (f"E1 plugs off in ambient:{room['ambient']}", "failed"),
            (f"X1 set chronothermostat:{thermostat['module']}", "expired"),
            (f"X2 set light:{light['module']}", "failed"),
        ]

        def failed() -> list[tuple[str, Any]]:
            commands = [entry for entry in entries(gateway) if (entry["action"], entry["result"]) == ("command", "failed")]
            assert all(entry["who"].startswith("user:") and entry["address"] == "127.0.0.1" for entry in commands)
            return [(entry["what"], entry["detail"]["state"]) for entry in commands]

        eventually(lambda: failed() == expected, "three failed commands in the audit log")

    def test_wrong_secrets_and_passwords_add_few_records_and_are_429_while_the_right_secret_is_accepted(
        self, gateway: Gateway
    ) -> None:
        before = len(entries(gateway))
        form = {"token": "x", "client_id": "demo-app"}
        with httpx.Client(base_url=gateway.base_url) as client:
            answers = [client.post("/auth/introspect", data={**form, "client_secret": f"wrong {n}"}) for n in range(200)]
            assert {answer.status_code for answer in answers[:10]} == {401}
            assert {answer.status_code for answer in answers[10:]} == {429}
            assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
            assert client.post("/auth/introspect", data={**form, "client_secret": "demo-app-secret-0001"}).status_code == 200
        added = [entry for entry in entries(gateway)[before:] if entry["action"] == "refusal"]
        assert 1 <= len(added) <= 4

    def test_names_nobody(self, gateway: Gateway) -> None:
        who, target = gateway.case(E5)
        assert gateway.send(E5, target, who=who).status_code == 200
        eventually(lambda: '"user:' in json.dumps(entries(gateway)), "an entry of a user in the audit log")
        assert not any(person in json.dumps(entries(gateway)) for person in gateway.people)
