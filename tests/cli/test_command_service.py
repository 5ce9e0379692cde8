"""`domogate service install`: files that systemd accepts, and a service with few rights."""

import re
import stat
import subprocess
from pathlib import Path

import pytest

from domogate.identity.secret_keys import CREDENTIAL
from domogate.settings import load_settings
from domogate.settings.declared import SECRETS, name_credential
from support.command_line import CommandLine

PROGRAM = "/usr/bin/env"
"""A program of every machine, outside the folders that the unit hides."""
UNITS = "etc/systemd/system"


def install(domogate: CommandLine, root: Path, *flags: str) -> list[str]:
    """The paths of the written files, below the folder `root`."""
    told = domogate.bare("service", "install", "--program", PROGRAM, "--root", str(root), *flags)
    assert told.exit_code == 0, told.output
    return [str(Path(line).relative_to(root)) for line in told.stdout.splitlines()]


def refuse(domogate: CommandLine, root: Path, *flags: str, code: int) -> str:
    told = domogate.bare("service", "install", "--root", str(root), *flags)
    assert told.exit_code == code
    assert list(root.iterdir()) == []
    return told.stderr


class TestInstall:
    def test_it_writes_a_service_a_socket_a_user_and_folders_for_all_to_read(
        self, domogate: CommandLine, tmp_path: Path
    ) -> None:
        written = install(domogate, tmp_path)
        assert written == [
            f"{UNITS}/domogate.service",
            f"{UNITS}/domogate.socket",
            "etc/sysusers.d/domogate.conf",
            "etc/tmpfiles.d/domogate.conf",
        ]
        assert {stat.S_IMODE((tmp_path / path).stat().st_mode) for path in written} == {0o644}
        assert [path for path in written if re.search("@[A-Z]+@", (tmp_path / path).read_text())] == []

    def test_a_dry_run_prints_the_same_files_and_writes_nothing(self, domogate: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "dry").mkdir()
        told = domogate.bare("service", "install", "--program", PROGRAM, "--root", str(tmp_path / "dry"), "--dry-run")
        assert list((tmp_path / "dry").iterdir()) == []
        written = install(domogate, tmp_path)
        assert told.stdout == "".join(f"# /{path}\n{(tmp_path / path).read_text()}\n" for path in written)

    def test_existing_files_are_replaced_only_with_force(self, domogate: CommandLine, tmp_path: Path) -> None:
        install(domogate, tmp_path)
        socket = tmp_path / UNITS / "domogate.socket"
        told = domogate.bare("service", "install", "--program", PROGRAM, "--root", str(tmp_path), "--listen", "127.0.0.1:9")
        assert told.exit_code == 1
        assert "--force replaces it" in told.stderr
        assert "ListenStream=127.0.0.1:8080\n" in socket.read_text()
        install(domogate, tmp_path, "--force", "--listen", "127.0.0.1:9", "--listen", "[::1]:9")
        assert "ListenStream=127.0.0.1:9\nListenStream=[::1]:9\n" in socket.read_text()

    @pytest.mark.parametrize(
        ("flags", "code", "problem"),
        [
            (("--program", "/run/user/1000/bin/domogate"), 1, "python3 -m venv /opt/domogate"),
            (("--program", "/opt/100%/domogate"), 1, "special meaning"),
            (("--program", PROGRAM, "--listen", "8080"), 2, "an IP address and a port"),
            (("--program", PROGRAM, "--listen", "127.0.0.1:8080\nUser=root"), 2, "an IP address and a port"),
            (("--program", PROGRAM, "--credential", "port"), 2, "'port' is not a secret setting; use database,"),
        ],
    )
    def test_a_unit_that_could_not_start_is_refused(
        self, domogate: CommandLine, tmp_path: Path, flags: tuple[str, ...], code: int, problem: str
    ) -> None:
        assert problem in refuse(domogate, tmp_path, *flags, code=code)


class TestSystemd:
    @pytest.fixture
    def units(self, domogate: CommandLine, tmp_path: Path) -> list[Path]:
        credentials = [flag for name in SECRETS.values() for flag in ("--credential", name.replace("_", "-"))]
        install(domogate, tmp_path, *credentials)
        return [tmp_path / UNITS / name for name in ("domogate.service", "domogate.socket")]

    def test_it_accepts_the_units_without_a_warning(self, units: list[Path]) -> None:
        told = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False, timeout=120)
        assert (told.returncode, told.stdout + told.stderr) == (0, "")

    def test_the_exposure_of_the_service_is_at_most_two(self, units: list[Path]) -> None:
        command = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20", str(units[0])]
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert told.returncode == 0, told.stdout + told.stderr
        assert "Overall exposure level for domogate.service" in told.stdout


class TestCredentials:
    def test_the_unit_loads_them_under_the_names_that_the_settings_know(self, domogate: CommandLine, tmp_path: Path) -> None:
        install(domogate, tmp_path, "--credential", "smtp-password", "--credential", "secret-key")
        unit = (tmp_path / UNITS / "domogate.service").read_text()
        loaded = [line.removeprefix("LoadCredential=") for line in unit.splitlines() if line.startswith("LoadCredential=")]
        folder = "/etc/domogate/credentials"
        assert loaded == [f"domogate-smtp-password:{folder}/smtp-password", f"{CREDENTIAL}:{folder}/secret-key"]
        for line in loaded:
            (tmp_path / line.partition(":")[0]).write_text("hush\n")
        settings = load_settings({}, {"CREDENTIALS_DIRECTORY": str(tmp_path)})
        assert settings.smtp_password == "hush"
        assert settings.secret_key_file == tmp_path / CREDENTIAL
        assert settings.sources["smtp_password"] == "systemd credential domogate-smtp-password"

    def test_a_setting_that_is_given_in_another_way_counts_more(self, tmp_path: Path) -> None:
        for secret in ("smtp_password", "secret_key"):
            (tmp_path / name_credential(secret)).write_text("hush\n")
        key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
        others = {"DOMOGATE_SMTP_PASSWORD": "loud", "DOMOGATE_SECRET_KEY": key}
        settings = load_settings({}, {"CREDENTIALS_DIRECTORY": str(tmp_path), **others})
        assert (settings.smtp_password, settings.secret_key, settings.secret_key_file) == ("loud", key, None)
