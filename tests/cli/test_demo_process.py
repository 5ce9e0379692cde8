"""`domogate demo` and `domogate serve` as separate processes."""

import json
import shlex
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.command_line import CommandLine
from support.gateway import Gateway, run_command, running, start
from support.http import PATIENCE
from support.restartable import clean_environment
from support.small_estate import EMAIL, LIGHT, PLANT, SMALL_ESTATE

pytestmark = pytest.mark.slow

PLANTS = "/homeauto/v1.0/plants"
LIGHT_PATH = f"/homeauto/v1.0/light/lighting/addressLocation/plants/{PLANT}/modules/parameter/id/value/{LIGHT}"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """In a new interpreter, as from a shell."""
    with running(start("demo", tmp_path_factory.mktemp("demo"), new_interpreter=True)) as started:
        yield started


def curl_lines(gateway: Gateway) -> list[str]:
    greeting = (gateway.log_file.parent / "greeting.txt").read_text()
    return [line for line in greeting.splitlines() if line.startswith("curl ")]


def pasted(line: str) -> httpx.Response:
    """Sends the request of the curl line."""
    words = iter(shlex.split(line)[1:])
    headers: list[tuple[str, str]] = []
    url, body = "", None
    for word in words:
        match word:
            case "-si" | "-sN":
                pass
            case "-H":
                given = next(words)
                lines = Path(given[1:]).read_text().splitlines() if given.startswith("@") else [given]
                headers += [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
            case "-d":
                body = next(words)
            case _:
                assert not url
                url = word
    # Do not read to the end: the event stream has no end.
    with httpx.stream("GET" if body is None else "POST", url, headers=headers, content=body, timeout=PATIENCE) as answer:
        return answer


def ask(base_url: str, path: str, key: str, token: str) -> int:
    headers = {"Ocp-Apim-Subscription-Key": key, "Authorization": f"Bearer {token}"}
    return httpx.get(base_url + path, headers=headers, timeout=PATIENCE).status_code


class TestDemo:
    def test_every_printed_call_works_when_pasted(self, gateway: Gateway) -> None:
        answers = {line: pasted(line).status_code for line in curl_lines(gateway)}
        assert len(answers) >= 9
        assert {status for status in answers.values() if not 200 <= status < 300} == set(), answers

    def test_the_ready_file_has_everything_a_script_needs(self, gateway: Gateway) -> None:
        ready = gateway.ready
        assert set(ready) == {"base_url", "auth_url", "subscription_key", "users", "clients"}
        assert ready["auth_url"] == f"{ready['base_url']}/auth"
        assert all(set(user) == {"email", "password", "id_token", "access_token", "refresh_token"} for user in ready["users"])
        assert all(all(user.values()) for user in ready["users"])
        assert all(set(client) == {"client_id", "client_secret", "redirect_uris"} for client in ready["clients"])
        assert "demo-app" in {client["client_id"] for client in ready["clients"]}

    def test_its_tokens_and_key_are_good(self, gateway: Gateway) -> None:
        statuses = {
            user["email"]: ask(gateway.base_url, PLANTS, gateway.subscription_key, user["id_token"])
            for user in gateway.ready["users"]
        }
        assert set(statuses.values()) == {200, 204}, statuses

    def test_somebody_who_is_not_active_is_not_in_it(self, gateway: Gateway) -> None:
        active = {user["email"] for user in json.loads(gateway.domogate("user", "list", "--json")) if user["active"]}
        assert {user["email"] for user in gateway.ready["users"]} == active

    def test_the_ready_file_is_for_its_owner_only(self, gateway: Gateway) -> None:
        ready_file = gateway.log_file.parent / "ready.json"
        assert stat.S_IMODE(ready_file.stat().st_mode) == 0o600

    def test_a_token_issued_beside_it_is_good_at_once(self, gateway: Gateway) -> None:
        token = gateway.domogate("token", "issue", "--user", gateway.ready["users"][0]["email"]).strip()
        assert ask(gateway.base_url, PLANTS, gateway.subscription_key, token) == 200

    def test_a_revoked_key_is_refused_once_the_command_has_returned(self, gateway: Gateway) -> None:
        issued = json.loads(gateway.domogate("key", "issue", "short", "--json"))
        token = gateway.ready["users"][0]["id_token"]
        assert ask(gateway.base_url, PLANTS, issued["key"], token) == 200
        gateway.domogate("key", "revoke", issued["id"])
        assert ask(gateway.base_url, PLANTS, issued["key"], token) == 401


class TestEndAndSecondStart:
    def test_sigterm_ends_it_with_0_and_withdraws_the_ready_file(self, tmp_path: Path) -> None:
        with running(start("demo", tmp_path)) as first:
            email = first.ready["users"][0]["email"]
            first.domogate("user", "standing", email, "terms-expired")
            first.process.send_signal(signal.SIGTERM)
            assert first.process.wait(PATIENCE) == 0
            assert not (tmp_path / "ready.json").exists()
        with running(start("demo", tmp_path)) as second:
            users = json.loads(second.domogate("user", "list", "--json"))
            assert {user["email"]: user["standing"] for user in users}[email] == "terms expired"

    def test_a_folder_with_another_estate_is_refused(self, domogate: CommandLine) -> None:
        domogate.good("estate", "import", "-", input=SMALL_ESTATE)
        assert "another estate" in domogate.refused("demo", "--port", "0")
        assert {user["email"] for user in domogate.read("user", "list")} >= {EMAIL}

    def test_a_port_in_use_is_said_plainly(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            done = run_command(["serve", "--port", port, "--data", str(tmp_path)], clean_environment({}))
        assert done.returncode == 1
        assert port in done.stderr
        assert "Traceback" not in done.stderr


class TestServe:
    def test_an_empty_store_says_what_to_do_and_takes_up_what_is_imported(self, tmp_path: Path) -> None:
        with running(start("serve", tmp_path)) as empty:
            assert "domogate estate import" in empty.log
            assert empty.ready["subscription_key"] is None
            assert empty.ready["users"] == []
            (tmp_path / "estate.yaml").write_text(SMALL_ESTATE)
            empty.domogate("estate", "import", str(tmp_path / "estate.yaml"))
            token = empty.domogate("token", "issue", EMAIL).strip()
            assert ask(empty.base_url, LIGHT_PATH, "small-key-0123456789", token) == 200
            empty.domogate("simulate", LIGHT, "offline")
            assert ask(empty.base_url, LIGHT_PATH, "small-key-0123456789", token) == 404

    def test_no_credential_is_there_by_default(self, tmp_path: Path) -> None:
        with running(start("serve", tmp_path)) as empty:
            assert json.loads(empty.domogate("user", "list", "--json")) == []
            assert json.loads(empty.domogate("key", "list", "--json")) == []


def test_a_demo_on_a_database_of_its_own_can_be_started_again_without_its_folder(tmp_path: Path) -> None:
    """The database stays when the temporary folder with the secret key is gone."""
    url = f"sqlite:///{tmp_path / 'server.db'}"
    for _ in range(2):
        with running(start("demo", tmp_path, {"DOMOGATE_DATABASE": url}, own_data=False)) as demo:
            assert demo.ready["users"]
