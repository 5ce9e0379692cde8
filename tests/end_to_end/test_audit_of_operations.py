"""Commands and refusals of the families are in the audit log, with pseudonyms."""

import json
from collections.abc import Iterator

import httpx
import pytest

from support.gateway import Gateway, eventually, running, start
from support.spec_operations import E1, E5, E7, E11, E15

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(start("demo", tmp_path_factory.mktemp("audit"))) as started:
        yield started


def entries(gateway: Gateway) -> list[dict[str, str]]:
    """The oldest is first."""
    return [record["entry"] for record in reversed(json.loads(gateway.domogate("audit", "list", "--json")))]


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
