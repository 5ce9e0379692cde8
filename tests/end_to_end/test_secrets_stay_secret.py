"""No token, key or password is in the log, in the data folder or in an answer."""

from collections.abc import Iterator

import pytest

from support.gateway import QUICK, Gateway, running, start
from support.http import KEY_HEADER, raw_call
from support.spec_operations import E1, E5, E6, E8, E11, E15, E20, OPERATIONS

pytestmark = pytest.mark.slow

LOUD = {**QUICK, "DOMOGATE_LOG_LEVEL": "debug", "DOMOGATE_ACCESS_LOG": "true"}


@pytest.fixture(scope="module")
def loud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with the most detailed log, after all kinds of requests."""
    with running(start("demo", tmp_path_factory.mktemp("loud"), LOUD)) as gateway:
        provoke(gateway)
        yield gateway


def provoke(gateway: Gateway) -> None:
    person = gateway.people[gateway.anyone]
    secret = f"{person.id_token}&{person.access_token}&{gateway.subscription_key}&{person.password}"
    for operation in OPERATIONS:
        who, target = gateway.case(operation)
        gateway.send(operation, target, who=who)
        gateway.send(operation, target, token=person.id_token[:-3] + "abc")
        gateway.send(operation, target, who=who, key=gateway.subscription_key + "x")
        gateway.send(operation, target, who=who, path=f"{operation.url(target)}?token={secret}")
        gateway.send(operation, target, who=who, path=f"{operation.prefix}/nowhere?access_token={secret}")
        gateway.send(operation, target, token=None, headers={"Authorization": f"Basic {person.password}"})
    for operation in (E1, E5, E20):
        who, target = gateway.case(operation)
        gateway.send(operation, target, who=who, body=f'{{"status": "{person.password}", "password": '.encode())
    token = gateway.people[gateway.case(E8)[0]].id_token
    raw_call(gateway.api, E6, E6.path, token=token, extra=[(KEY_HEADER, gateway.subscription_key)])
    gateway.domogate("token", "issue", person.email)
    gateway.domogate("user", "standing", person.email, "good")


def secrets_of(gateway: Gateway) -> Iterator[str]:
    yield gateway.subscription_key
    for person in gateway.people.values():
        yield from (person.id_token, person.access_token, person.password)
        # Search for the signature: the first part of a token is the same for all tokens.
        yield from (person.id_token.split(".")[2], person.access_token.split(".")[2])
    for client in gateway.ready["clients"]:
        if client.get("client_secret"):
            yield client["client_secret"]


class TestTheLog:
    def test_it_has_something_in_it(self, loud: Gateway) -> None:
        """The log has lines; otherwise the absence of secrets would prove nothing."""
        assert "/homeauto/v1.0/plants" in loud.log

    def test_it_holds_no_token_key_or_password(self, loud: Gateway) -> None:
        found = [secret[:12] for secret in secrets_of(loud) if secret in loud.log]
        assert not found

    def test_it_holds_no_ticket(self, loud: Gateway) -> None:
        for operation, items in ((E11, "locks"), (E15, "audiovideounits")):
            who, target = loud.case(operation)
            ticket = loud.send(operation, target, who=who).json()[items][0]["ticket"]
            assert ticket.split(".")[2] not in loud.log

    def test_nothing_went_wrong_inside(self, loud: Gateway) -> None:
        assert "Traceback" not in loud.log


class TestTheDataFolder:
    def test_keys_tokens_and_passwords_are_not_in_the_store(self, loud: Gateway) -> None:
        files = [file for file in loud.data.rglob("*.sqlite3*") if file.is_file()]
        assert files
        for file in files:
            content = file.read_bytes()
            assert not [secret[:12] for secret in secrets_of(loud) if secret.encode() in content], file.name

    def test_an_export_holds_hashes_only(self, loud: Gateway) -> None:
        text = loud.domogate("estate", "export")
        assert not [secret[:12] for secret in secrets_of(loud) if secret in text]

    def test_it_is_closed_to_other_users_of_the_machine(self, loud: Gateway) -> None:
        keys = [file for file in loud.data.rglob("*") if file.is_file() and file.suffix.startswith(".sqlite")]
        assert keys
        folder_is_closed = loud.data.stat().st_mode & 0o077 == 0
        assert folder_is_closed or all(file.stat().st_mode & 0o077 == 0 for file in keys), "private signing keys can be read"
