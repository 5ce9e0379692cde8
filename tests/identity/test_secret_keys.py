"""The keys that encrypt secrets in the database: where they come from, and what they protect."""

import base64
from pathlib import Path

import pytest

from domogate.identity.secret_keys import SecretKeys, check_keys, key_id_of, parse_keys
from domogate.ports import SealBroken, SecretKeyMissing

KEY, OTHER = bytes(range(32)), bytes(32)
TEXT, OTHER_TEXT = (base64.b64encode(key).decode() for key in (KEY, OTHER))
PLACE = "users\0totp_secret\0anna"


def refuse(**_: object) -> tuple[int, str]:
    raise PermissionError(13, "Permission denied")


class TestSealing:
    def test_a_secret_is_read_back_at_its_place(self, tmp_path: Path) -> None:
        keys = SecretKeys(tmp_path, given=TEXT)
        key_id = keys.choose_key(None)
        sealed = keys.seal(key_id, PLACE, "JBSWY3DPEHPK3PXP")
        assert keys.unseal(PLACE, sealed) == "JBSWY3DPEHPK3PXP"
        assert key_id in sealed
        assert "JBSWY3DP" not in sealed

    def test_the_same_secret_never_has_the_same_ciphertext(self, tmp_path: Path) -> None:
        keys = SecretKeys(tmp_path, given=TEXT)
        key_id = keys.choose_key(None)
        assert len({keys.seal(key_id, PLACE, "x") for _ in range(50)}) == 50

    @pytest.mark.parametrize("place", ["users\0totp_secret\0bruno", "users\0name\0anna", "webhooks\0secret\0anna"])
    def test_a_secret_that_was_moved_is_refused(self, tmp_path: Path, place: str) -> None:
        keys = SecretKeys(tmp_path, given=TEXT)
        sealed = keys.seal(keys.choose_key(None), PLACE, "x")
        with pytest.raises(SealBroken, match="changed, or moved"):
            keys.unseal(place, sealed)

    def test_every_changed_byte_is_noticed(self, tmp_path: Path) -> None:
        keys = SecretKeys(tmp_path, given=TEXT)
        head, _, text = keys.seal(keys.choose_key(None), PLACE, "secret").rpartition(":")
        data = base64.b64decode(text)
        for index in range(len(data)):
            changed = data[:index] + bytes([data[index] ^ 1]) + data[index + 1 :]
            with pytest.raises(SealBroken):
                keys.unseal(PLACE, f"{head}:{base64.b64encode(changed).decode()}")

    @pytest.mark.parametrize("cut", ["", "A", "AAAA", "%%%%"])
    def test_a_damaged_text_is_refused(self, tmp_path: Path, cut: str) -> None:
        keys = SecretKeys(tmp_path, given=TEXT)
        with pytest.raises(SealBroken):
            keys.unseal(PLACE, f"sealed:1:{keys.choose_key(None)}:{cut}")

    def test_a_plain_text_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(SealBroken, match="not encrypted"):
            SecretKeys(tmp_path, given=TEXT).unseal(PLACE, "JBSWY3DPEHPK3PXP")


class TestKeys:
    def test_they_are_parsed_with_comments_and_any_separator(self) -> None:
        urlsafe = TEXT.replace("+", "-").replace("/", "_")
        for text in (f"{TEXT} {OTHER_TEXT}", f"{urlsafe},{OTHER_TEXT}", f"# mine\n{TEXT}\n\n{OTHER_TEXT}\n"):
            assert parse_keys(text) == {key_id_of(KEY): KEY, key_id_of(OTHER): OTHER}

    @pytest.mark.parametrize("text", ["short", TEXT[:-4], TEXT + "AAAA", "ß" * 44, "", "# only a comment"])
    def test_anything_else_is_refused_without_repeating_it(self, text: str) -> None:
        with pytest.raises(ValueError, match="openssl rand -base64 32") as told:
            check_keys(text)
        assert not text or text not in str(told.value)

    def test_the_id_does_not_reveal_the_key(self) -> None:
        assert KEY.hex()[:8] not in key_id_of(KEY)
        assert len(key_id_of(KEY)) == 16


class TestTheFile:
    def test_it_is_made_for_a_new_database_and_readable_only_by_its_owner(self, tmp_path: Path) -> None:
        key_id = SecretKeys(tmp_path).choose_key(None)
        assert (tmp_path / "secret-key").stat().st_mode & 0o777 == 0o600
        assert SecretKeys(tmp_path).choose_key(None) == key_id
        assert [path.name for path in tmp_path.iterdir()] == ["secret-key"]

    def test_none_is_made_for_a_database_that_has_a_key(self, tmp_path: Path) -> None:
        with pytest.raises(SecretKeyMissing) as told:
            SecretKeys(tmp_path).choose_key("0123456789abcdef")
        assert "0123456789abcdef" in str(told.value)
        assert str(tmp_path / "secret-key") in str(told.value)
        assert "DOMOGATE_SECRET_KEY" in str(told.value)
        assert not list(tmp_path.iterdir())

    def test_a_folder_that_cannot_be_written_is_named_with_what_to_change(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.mkstemp", refuse)
        with pytest.raises(SecretKeyMissing, match="cannot be written") as told:
            SecretKeys(tmp_path).choose_key(None)
        assert f"{tmp_path / 'secret-key'}: Permission denied." in str(told.value)
        assert f"must be able to write to its data folder {tmp_path}. Check the rights" in str(told.value)

    def test_another_file_is_never_made(self, tmp_path: Path) -> None:
        with pytest.raises(SecretKeyMissing, match="there is no secret key in secret_key_file"):
            SecretKeys(tmp_path, file=tmp_path / "given").choose_key(None)
        assert not list(tmp_path.iterdir())

    def test_a_wrong_key_in_it_is_named_without_the_key(self, tmp_path: Path) -> None:
        (tmp_path / "secret-key").write_text("hunter2\n")
        (tmp_path / "secret-key").chmod(0o600)
        with pytest.raises(SecretKeyMissing, match="has a wrong secret key") as told:
            SecretKeys(tmp_path).choose_key(None)
        assert "hunter2" not in str(told.value)

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
    def test_rights_of_other_users_are_refused(self, tmp_path: Path, mode: int) -> None:
        file = tmp_path / "given"
        file.write_text(TEXT)
        file.chmod(mode)
        with pytest.raises(SecretKeyMissing, match=f"chmod 600 {file}"):
            SecretKeys(tmp_path, file=file).choose_key(None)
        for mode_now in (0o600, 0o400):
            file.chmod(mode_now)
            assert SecretKeys(tmp_path, file=file).choose_key(None) == key_id_of(KEY)

    def test_the_mode_of_a_systemd_credential_is_not_checked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = tmp_path / "domogate-secret-key"
        file.write_text(TEXT)
        file.chmod(0o440)
        monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
        assert SecretKeys(tmp_path, file=file).choose_key(None) == key_id_of(KEY)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        file.rename(elsewhere / file.name)
        with pytest.raises(SecretKeyMissing):
            SecretKeys(tmp_path, file=elsewhere / file.name).choose_key(None)

    def test_only_its_beginning_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "secret-key").write_bytes(b"#" * 70_000 + b"\n" + TEXT.encode())
        (tmp_path / "secret-key").chmod(0o600)
        with pytest.raises(SecretKeyMissing, match="there is no secret key"):
            SecretKeys(tmp_path, file=tmp_path / "secret-key").choose_key(None)


class TestRotation:
    def test_the_new_key_stands_before_the_former_one(self, tmp_path: Path) -> None:
        running = SecretKeys(tmp_path)
        former = running.choose_key(None)
        sealed = running.seal(former, PLACE, "x")
        current = SecretKeys(tmp_path).choose_next_key(former)
        assert list(parse_keys((tmp_path / "secret-key").read_text())) == [current, former]
        assert (tmp_path / "secret-key").stat().st_mode & 0o777 == 0o600
        assert running.unseal(PLACE, sealed) == "x"
        assert running.unseal(PLACE, SecretKeys(tmp_path).seal(current, PLACE, "y")) == "y"

    def test_a_key_that_was_written_first_by_hand_is_used(self, tmp_path: Path) -> None:
        keys = SecretKeys(tmp_path, given=f"{OTHER_TEXT} {TEXT}")
        assert keys.choose_next_key(key_id_of(KEY)) == key_id_of(OTHER)

    def test_a_variable_cannot_be_rotated_without_a_new_key_in_it(self, tmp_path: Path) -> None:
        with pytest.raises(SecretKeyMissing, match="Write a new key before it") as told:
            SecretKeys(tmp_path, given=TEXT).choose_next_key(key_id_of(KEY))
        assert TEXT not in str(told.value)

    def test_a_folder_that_cannot_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "secret-key").write_text(TEXT)
        (tmp_path / "secret-key").chmod(0o600)
        monkeypatch.setattr("tempfile.mkstemp", refuse)
        with pytest.raises(SecretKeyMissing, match="cannot be written"):
            SecretKeys(tmp_path).choose_next_key(key_id_of(KEY))
