"""The texts of the pages: the same keys and placeholders in every language, and a text for each key of the code."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from domogate.auth.pages.language import LANGUAGES
from domogate.domain.commands import Command
from domogate.domain.reachability import Evidence
from domogate.domain.states import Battery, ThermostatFunction, ThermostatMode
from domogate.domain.webhooks import EndReason
from domogate.services.audit import AuditAction
from domogate.services.refusals import Reason
from domogate.settings.declared import DECLARED

SOURCE = Path(__file__).parents[2] / "web" / "src"
FOLDERS = sorted(file.parent for file in SOURCE.rglob("en.toml"))
_KEY = re.compile(r"""\b(t|count)\(\s*"([a-z0-9_.]+)\"""")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def flatten(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def read(folder: Path, code: str) -> dict[str, str]:
    return dict(flatten(tomllib.loads((folder / f"{code}.toml").read_text())))


def test_there_are_texts() -> None:
    assert SOURCE / "texts" in FOLDERS


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(SOURCE)))
@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_every_language_has_the_same_keys_and_placeholders(folder: Path, code: str) -> None:
    english, other = read(folder, "en"), read(folder, code)
    assert list(other) == list(english)
    for key, text in other.items():
        assert text.strip(), key
        assert sorted(_PLACEHOLDER.findall(text)) == sorted(_PLACEHOLDER.findall(english[key])), key


def test_every_key_of_the_code_has_a_text() -> None:
    known = {key for folder in FOLDERS for key in read(folder, "en")}
    missing = []
    for file in (*SOURCE.rglob("*.ts"), *SOURCE.rglob("*.tsx")):
        for function, key in _KEY.findall(file.read_text()):
            wanted = {key} if function == "t" else {f"{key}.one", f"{key}.other"}
            missing += [f"{file.name}: {key}"] if not wanted <= known else []
    assert missing == []


def test_no_key_is_in_two_files() -> None:
    keys = [key for folder in FOLDERS for key in read(folder, "en")]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("group", "values"),
    [
        ("action", AuditAction),
        ("do", [str(one.__struct_config__.tag) for one in get_args(Command)]),
        ("word", [*Battery, *ThermostatMode, *ThermostatFunction]),
        ("webhookend", [reason.name.lower() for reason in EndReason]),
        ("evidence", [evidence.name.lower() for evidence in Evidence]),
    ],
)
def test_every_value_that_the_console_shows_has_words(group: str, values: Iterable[str]) -> None:
    """A value without words would be shown as the API writes it, in English."""
    texts = read(SOURCE / "console" / "texts", "en")
    prefix = f"console.{group}."
    named = {key.removeprefix(prefix) for key in texts if key.startswith(prefix)}
    assert named == {str(value).replace(" ", "_") for value in values}


def test_every_reason_of_a_refusal_has_a_text() -> None:
    texts = read(SOURCE / "texts", "en")
    prefix = "error.reason."
    assert {key.removeprefix(prefix) for key in texts if key.startswith(prefix)} == {str(reason) for reason in Reason}


def test_a_text_of_evidence_has_the_values_of_the_evidence() -> None:
    texts = read(SOURCE / "console" / "texts", "en")
    for evidence in Evidence:
        text = texts[f"console.evidence.{evidence.name.lower()}"]
        assert sorted(_PLACEHOLDER.findall(text)) == sorted(_PLACEHOLDER.findall(evidence)), evidence.name


@pytest.mark.parametrize("code", sorted({*LANGUAGES} - {"en"}))
def test_every_setting_is_described_in_every_language(code: str) -> None:
    """The API describes the settings in English."""
    texts = read(SOURCE / "console" / "setting_texts", code)
    assert list(texts) == [f"console.setting.{name}" for name in DECLARED]
    assert all(text.strip().endswith((".", "]")) for text in texts.values())
