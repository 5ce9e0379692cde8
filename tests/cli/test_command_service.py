"""`domogate service`: files that systemd accepts, a service with few rights, and a way back that keeps the data."""

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from domogate.cli._units import LINKS, PLACES
from domogate.cli.service import describe_hidden_python
from domogate.identity.secret_keys import CREDENTIAL
from domogate.settings import load_settings
from domogate.settings.declared import SECRETS, name_credential
from support.command_line import CommandLine

PROGRAM = "/usr/bin/env"
"""A program of every machine, outside the folders that the unit hides."""
UNITS = "etc/systemd/system"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")


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

    def test_a_dry_run_prints_the_same_next_commands(self, domogate: CommandLine, tmp_path: Path) -> None:
        flags = ("service", "install", "--program", PROGRAM, "--root", str(tmp_path), "--credential", "secret-key")
        dry = domogate.bare(*flags, "--dry-run")
        assert "Next, as root:\n  systemd-sysusers\n" in dry.stderr
        assert domogate.bare(*flags).stderr == dry.stderr

    def test_a_dry_run_of_a_program_that_systemd_hides_only_warns(self, domogate: CommandLine, tmp_path: Path) -> None:
        dry = domogate.bare(
            "service", "install", "--program", "/run/user/1000/bin/domogate", "--root", str(tmp_path), "--dry-run"
        )
        assert dry.exit_code == 0
        assert "ExecStart=/run/user/1000/bin/domogate " in dry.stdout
        assert "Warning: systemd hides /run/user/1000/bin/domogate from services" in dry.stderr
        assert "--program /opt/domogate/bin/domogate" in dry.stderr
        assert list(tmp_path.iterdir()) == []

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
            (("--program", "/run/user/1000/bin/domogate"), 1, "name its command: --program /opt/domogate/bin/domogate"),
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

    @pytest.mark.parametrize(("python", "warned"), [("/var/tmp/python3.11", True), ("/usr/bin/env", False)])
    def test_a_python_that_systemd_hides_is_named(self, tmp_path: Path, python: str, warned: bool) -> None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin/python3").symlink_to(python)
        told = describe_hidden_python(tmp_path / "bin/domogate")
        assert (told is not None) == warned
        assert told is None or (python in told and f"/usr/bin/python3 -m venv --clear {tmp_path}" in told)


class TestUninstall:
    @pytest.fixture
    def used(self, domogate: CommandLine, tmp_path: Path) -> Path:
        """A machine with an enabled service, with data, settings and a change of the service."""
        install(domogate, tmp_path)
        for place in LINKS:
            (tmp_path / place).parent.mkdir(parents=True)
            (tmp_path / place).symlink_to(f"/{UNITS}/{Path(place).name}")
        kept = ("var/lib/domogate/domogate.db", "etc/domogate/domogate.toml", "etc/domogate/credentials/secret-key")
        for place in (*kept, f"{UNITS}/domogate.service.d/override.conf", f"{UNITS}/other.service"):
            (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / place).write_text("mine")
        return tmp_path

    @staticmethod
    def files_below(folder: Path) -> set[str]:
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or path.is_file()}

    def test_it_removes_exactly_what_was_installed_and_enabled(self, domogate: CommandLine, used: Path) -> None:
        before = self.files_below(used)
        told = domogate.bare("service", "uninstall", "--root", str(used))
        assert told.exit_code == 0, told.output
        removed = {str(Path(line).relative_to(used)) for line in told.stdout.splitlines()}
        assert removed == {*LINKS, *PLACES.values()}
        assert self.files_below(used) == before - removed
        assert (used / "var/lib/domogate/domogate.db").read_text() == "mine"
        assert "systemctl stop domogate.socket domogate.service\n  systemctl daemon-reload" in told.stderr
        assert "the data in /var/lib/domogate" in told.stderr

    def test_a_dry_run_prints_the_same_and_removes_nothing(self, domogate: CommandLine, used: Path) -> None:
        before = self.files_below(used)
        dry = domogate.bare("service", "uninstall", "--root", str(used), "--dry-run")
        assert (dry.exit_code, self.files_below(used)) == (0, before)
        assert domogate.bare("service", "uninstall", "--root", str(used)).stdout == dry.stdout

    def test_without_a_service_it_says_so(self, domogate: CommandLine, used: Path) -> None:
        domogate.bare("service", "uninstall", "--root", str(used))
        told = domogate.bare("service", "uninstall", "--root", str(used))
        assert told.exit_code == 1
        assert f"there are no files of the service below {used}" in told.stderr

    def test_the_service_can_be_installed_again(self, domogate: CommandLine, used: Path) -> None:
        domogate.bare("service", "uninstall", "--root", str(used))
        assert install(domogate, used) == list(PLACES.values())


class TestUserAndFolders:
    """Both programs work below a folder, so they do not change this machine."""

    @pytest.fixture
    def root(self, domogate: CommandLine, tmp_path: Path) -> Path:
        install(domogate, tmp_path)
        for name, text in (("passwd", "root:x:0:0::/root:/bin/sh\n"), ("group", "root:x:0:\n")):
            (tmp_path / "etc" / name).write_text(text)
        return tmp_path

    def run(self, *command: str) -> str:
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert told.returncode == 0, told.stdout + told.stderr
        return told.stdout + told.stderr

    def test_systemd_would_make_a_user_that_cannot_log_in(self, root: Path) -> None:
        told = self.run("systemd-sysusers", f"--root={root}", "--dry-run", str(root / "etc/sysusers.d/domogate.conf"))
        assert "Would create group domogate" in told or "Creating group 'domogate'" in told, told
        assert re.search(r"domogate.*Domogate gateway", told), told

    @needs_root
    def test_systemd_makes_the_user_and_the_folders(self, root: Path) -> None:
        self.run("systemd-sysusers", f"--root={root}", str(root / "etc/sysusers.d/domogate.conf"))
        (line,) = [line for line in (root / "etc/passwd").read_text().splitlines() if line.startswith("domogate:")]
        _, _, user, group, title, home, shell = line.split(":")
        assert (title, home) == ("Domogate gateway", "/var/lib/domogate")
        assert shell.endswith("/nologin")
        said = self.run("systemd-tmpfiles", f"--root={root}", "--create", str(root / "etc/tmpfiles.d/domogate.conf"))
        assert said == ""
        wanted = {
            "etc/domogate": (0o750, 0, int(group)),
            "etc/domogate/credentials": (0o700, 0, 0),
            "etc/domogate/domogate.toml": (0o640, 0, int(group)),
            "var/lib/domogate": (0o700, int(user), int(group)),
        }
        found = {place: (root / place).stat() for place in wanted}
        assert {place: (stat.S_IMODE(one.st_mode), one.st_uid, one.st_gid) for place, one in found.items()} == wanted

    @needs_root
    def test_systemd_keeps_the_settings_when_it_starts_again(self, root: Path) -> None:
        self.run("systemd-sysusers", f"--root={root}", str(root / "etc/sysusers.d/domogate.conf"))
        for _ in range(2):
            self.run("systemd-tmpfiles", f"--root={root}", "--create", str(root / "etc/tmpfiles.d/domogate.conf"))
            (root / "etc/domogate/domogate.toml").write_text("port = 8081\n")
        assert (root / "etc/domogate/domogate.toml").read_text() == "port = 8081\n"


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
