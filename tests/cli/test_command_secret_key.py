"""`domogate secret-key …`, where the key is searched, and what happens without it."""

import base64
import json
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from domogate.identity.secret_keys import key_id_of
from domogate.stores.sealing import list_secrets
from support.command_line import CommandLine
from support.gateway import running, start
from support.http import PATIENCE
from support.small_estate import EMAIL, PLANT, SMALL_ESTATE


def new_key() -> tuple[str, str]:
    """A key as text, and its id."""
    key = os.urandom(32)
    return base64.b64encode(key).decode(), key_id_of(key)


def jwks_of(domogate: CommandLine) -> list[str]:
    with closing(sqlite3.connect(domogate.data / "domogate.sqlite3")) as database:
        return [jwk for (jwk,) in database.execute("SELECT jwk FROM signing_keys")]


NAMES = {
    "signing_keys.jwk": "signing keys",
    "users.totp_secret": "second factors",
    "webhooks.secret": "webhook secrets",
    "driver_connections.password": "passwords of brokers",
}


class TestTheKey:
    def test_the_help_names_every_kind_of_encrypted_secret(self, small: CommandLine) -> None:
        help_text = " ".join(small.good("secret-key", "show-id", "--help").split())
        assert {str(column) for column in list_secrets()} == set(NAMES)
        assert [name for name in NAMES.values() if name not in help_text] == []

    def test_it_is_made_at_the_first_start_for_its_owner_only(self, small: CommandLine) -> None:
        small.good("signing-key", "list")  # adds the first signing key
        key_id = small.good("secret-key", "show-id").strip()
        assert stat.S_IMODE((small.data / "secret-key").stat().st_mode) == 0o600
        assert small.read("secret-key", "show-id") == {"key_id": key_id}
        assert [jwk.startswith(f"sealed:1:{key_id}:") for jwk in jwks_of(small)] == [True]

    def test_without_it_no_command_works_and_the_message_says_what_is_missing(self, small: CommandLine) -> None:
        key_id = small.good("secret-key", "show-id").strip()
        (small.data / "secret-key").rename(small.data / "hidden")
        for command in (("user", "list"), ("serve", "--port", "0"), ("demo", "--port", "0")):
            said = small.refused(*command)
            assert key_id in said
            assert str(small.data / "secret-key") in said
        assert not (small.data / "secret-key").exists()
        assert EMAIL in small.good("user", "list", "--secret-key-file", str(small.data / "hidden"))

    def test_a_file_is_used_instead(self, domogate: CommandLine, tmp_path: Path) -> None:
        key, key_id = new_key()
        (tmp_path / "key").write_text(key)
        (tmp_path / "key").chmod(0o600)
        given = ("--secret-key-file", str(tmp_path / "key"))
        domogate.good("init", "--email", EMAIL, *given)
        assert domogate.good("secret-key", "show-id", *given).strip() == key_id
        assert not (domogate.data / "secret-key").exists()

    def test_a_file_that_others_can_read_is_refused(self, small: CommandLine) -> None:
        (small.data / "secret-key").chmod(0o644)
        for command in (("user", "list"), ("serve", "--port", "0")):
            assert f"chmod 600 {small.data / 'secret-key'}" in small.refused(*command)
        (small.data / "secret-key").chmod(0o600)
        assert EMAIL in small.good("user", "list")

    def test_a_variable_is_used_instead(self, domogate: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        key, key_id = new_key()
        monkeypatch.setenv("DOMOGATE_SECRET_KEY", key)
        domogate.create()
        assert domogate.good("secret-key", "show-id").strip() == key_id
        assert not (domogate.data / "secret-key").exists()
        monkeypatch.setenv("DOMOGATE_SECRET_KEY", new_key()[0])
        assert key_id in domogate.refused("user", "list")

    def test_a_systemd_credential_is_used_instead(
        self, domogate: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        key, key_id = new_key()
        monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
        (tmp_path / "domogate-secret-key").write_text(key)
        (tmp_path / "domogate-secret-key").chmod(0o440)
        domogate.create()
        assert domogate.good("secret-key", "show-id").strip() == key_id
        assert not (domogate.data / "secret-key").exists()

    @pytest.mark.parametrize("text", ["hunter2hunter2", "a" * 43])
    def test_a_wrong_one_is_refused_and_not_repeated(
        self, domogate: CommandLine, monkeypatch: pytest.MonkeyPatch, text: str
    ) -> None:
        monkeypatch.setenv("DOMOGATE_SECRET_KEY", text)
        said = domogate.refused("user", "list", code=2)
        assert "DOMOGATE_SECRET_KEY" in said
        assert "openssl rand -base64 32" in said
        assert text not in said

    def test_two_at_once_are_a_mistake(self, domogate: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DOMOGATE_SECRET_KEY", new_key()[0])
        (tmp_path / "key").write_text(new_key()[0])
        assert "give only one" in domogate.refused("user", "list", "--secret-key-file", str(tmp_path / "key"), code=2)

    def test_it_is_never_an_argument(self, domogate: CommandLine) -> None:
        assert "No such option" in domogate.refused("user", "list", "--secret-key", new_key()[0], code=2)


class TestRotate:
    def test_all_secrets_have_the_new_key_and_the_former_one_is_kept(self, small: CommandLine) -> None:
        small.good("signing-key", "list")  # adds the first signing key
        former = small.good("secret-key", "show-id").strip()
        done = small.read("secret-key", "rotate")
        assert done == {"key_id": small.good("secret-key", "show-id").strip(), "former_key_id": former, "secrets": 1}
        assert done["key_id"] != former
        assert [jwk.startswith(f"sealed:1:{done['key_id']}:") for jwk in jwks_of(small)] == [True]
        assert "secret key rotated" in small.good("audit", "list")
        assert small.good("token", "issue", "--user", EMAIL)

    def test_an_earlier_backup_is_restored_with_the_former_key(self, small: CommandLine, tmp_path: Path) -> None:
        small.good("backup", str(tmp_path / "backup.db"))
        small.good("secret-key", "rotate")
        other = CommandLine(tmp_path / "other")
        other.good("restore", str(tmp_path / "backup.db"), "--secret-key-file", str(small.data / "secret-key"))
        shutil.copy(small.data / "secret-key", other.data)
        assert EMAIL in other.good("user", "list")


class TestBackup:
    def test_it_names_the_key_that_a_restore_needs(self, small: CommandLine, tmp_path: Path) -> None:
        said = small.run("backup", str(tmp_path / "backup.db")).stderr
        assert small.good("secret-key", "show-id").strip() in said

    def test_a_restore_without_the_key_is_refused_and_leaves_nothing(self, small: CommandLine, tmp_path: Path) -> None:
        small.good("backup", str(tmp_path / "backup.db"))
        other = CommandLine(tmp_path / "other")
        said = other.refused("restore", str(tmp_path / "backup.db"))
        assert small.good("secret-key", "show-id").strip() in said
        assert str(other.data / "secret-key") in said
        assert not other.data.exists()

    def test_it_does_not_have_the_key(self, small: CommandLine, tmp_path: Path) -> None:
        small.good("backup", str(tmp_path / "backup.db"))
        key = (small.data / "secret-key").read_text().splitlines()[-1]
        content = (tmp_path / "backup.db").read_bytes()
        assert key.encode() not in content
        assert base64.b64decode(key) not in content


@pytest.mark.slow
def test_a_running_gateway_reads_and_writes_with_the_new_key(tmp_path: Path) -> None:
    with running(start("serve", tmp_path, {"DOMOGATE_WEBHOOK_NETWORKS": "127.0.0.1"})) as gateway:
        (tmp_path / "estate.yaml").write_text(SMALL_ESTATE)
        gateway.domogate("estate", "import", str(tmp_path / "estate.yaml"))
        token = gateway.domogate("token", "issue", EMAIL).strip()
        jwks = httpx.get(f"{gateway.auth_url}/jwks", timeout=PATIENCE).json()
        key_id = json.loads(gateway.domogate("secret-key", "rotate", "--json"))["key_id"]
        assert httpx.get(f"{gateway.auth_url}/jwks", timeout=PATIENCE).json() == jwks
        headers = {"Ocp-Apim-Subscription-Key": "small-key-0123456789", "Authorization": f"Bearer {token}"}
        body = {"plantId": PLANT, "url": "http://127.0.0.1:9/"}
        made = httpx.post(f"{gateway.base_url}/webhooks", json=body, headers=headers, timeout=PATIENCE)
        assert made.status_code == 201, made.text
        assert made.json()["secret"].startswith("whsec_")
        with closing(sqlite3.connect(gateway.data / "domogate.sqlite3")) as database:
            stored = [
                text for (text,) in database.execute("SELECT secret FROM webhooks UNION ALL SELECT jwk FROM signing_keys")
            ]
        assert [text.startswith(f"sealed:1:{key_id}:") for text in stored] == [True, True]
