"""`domogate support-bundle` has what a developer needs, and neither secrets nor personal data."""

import json
import stat
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.app.support_bundle import LONGEST_LINE, LONGEST_LOG, redact_log
from support.command_line import CommandLine
from support.ports import free_port
from support.small_estate import EMAIL, PLANT, SMALL_ESTATE

WORD = "correct-horse-battery"


@pytest.fixture(autouse=True)
def _free_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOMOGATE_PORT", str(free_port()))


def files_of(bundle: Path) -> dict[str, str]:
    with zipfile.ZipFile(bundle) as opened:
        return {Path(name).name: opened.read(name).decode() for name in opened.namelist()}


def test_it_holds_versions_settings_counts_and_findings(
    domogate: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    domogate.good("estate", "import", "-", input=SMALL_ESTATE)
    monkeypatch.setenv("DOMOGATE_SMTP_PASSWORD", WORD)
    monkeypatch.setenv("DOMOGATE_MQTT_BROKERS", json.dumps([{"url": "mqtt://127.0.0.1:1", "username": "me", "password": WORD}]))
    domogate.good("support-bundle", str(tmp_path / "bundle.zip"))
    files = files_of(tmp_path / "bundle.zip")
    assert set(files) == {"README.txt", "about.json", "doctor.json", "settings.json", "figures.json"}
    assert all(name in files["README.txt"] for name in files if name != "README.txt")
    assert json.loads(files["figures.json"])["plants"] == 1
    assert json.loads(files["about.json"])["packages"]["msgspec"]
    assert {one["check"] for one in json.loads(files["doctor.json"])} >= {"database", "disk"}
    whole = "".join(files.values())
    key = (domogate.data / "secret-key").read_text().split()[-1]
    for secret in (WORD, EMAIL, PLANT, key):
        assert secret not in whole
    assert stat.S_IMODE((tmp_path / "bundle.zip").stat().st_mode) == 0o600


def test_without_a_database_none_is_created(domogate: CommandLine, tmp_path: Path) -> None:
    domogate.good("support-bundle", str(tmp_path / "bundle.zip"))
    assert "figures.json" not in files_of(tmp_path / "bundle.zip")
    assert not domogate.data.exists()


def test_the_end_of_a_long_log_is_taken_and_masked(domogate: CommandLine, tmp_path: Path) -> None:
    log = tmp_path / "log"
    last = f"login of anna@example.com from 192.0.2.7 and 2001:db8::7 password={WORD}"
    lines = f"first line\n{'x' * LONGEST_LOG}\n{'y' * 2 * LONGEST_LINE}\n{last}\n"
    log.write_text(lines)
    domogate.good("support-bundle", str(tmp_path / "bundle.zip"), "--log", str(log))
    text = files_of(tmp_path / "bundle.zip")["log.txt"]
    assert "first line" not in text
    assert max(map(len, text.splitlines())) == LONGEST_LINE
    assert "login of [email] from [address] and [address]" in text
    assert not any(secret in text for secret in ("anna@", "192.0.2.7", "2001:db8", WORD))


def test_a_file_is_not_replaced_without_force(domogate: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "bundle.zip").write_text("mine")
    assert "--force" in domogate.refused("support-bundle", str(tmp_path / "bundle.zip"))
    assert (tmp_path / "bundle.zip").read_text() == "mine"
    domogate.good("support-bundle", str(tmp_path / "bundle.zip"), "--force")
    assert files_of(tmp_path / "bundle.zip")


@given(st.ip_addresses(), st.text(max_size=20), st.emails())
def test_no_address_stays_in_a_log(address: object, around: str, email: str) -> None:
    masked = redact_log(f"{around} {address} {around} {email}")
    assert f" {address} " not in masked
    assert email not in masked
