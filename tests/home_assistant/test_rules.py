"""The rules of hassfest, the checker of Home Assistant, that need only the files of the integration.

hassfest is not in the package of Home Assistant and not in a package index, so the rules for the manifest and the texts are
written here again.
"""

import ast
import json
import re
import string
from collections.abc import Iterator
from typing import Any

import pytest

from domogate_client import __version__
from integrations.homeassistant.environment import CUSTOM_COMPONENTS

FOLDER = CUSTOM_COMPONENTS / "domogate"
MANIFEST: dict[str, Any] = json.loads((FOLDER / "manifest.json").read_text())
TEXTS: dict[str, Any] = json.loads((FOLDER / "strings.json").read_text())
IOT_CLASSES = {"assumed_state", "calculated", "cloud_polling", "cloud_push", "local_polling", "local_push"}
KNOWN_KEYS = {
    *("domain", "name", "codeowners", "config_flow", "dependencies", "documentation", "integration_type", "iot_class"),
    *("loggers", "requirements", "version"),
}
KEY = re.compile(r"(?!.+[_-]{2})(?![_-])[a-z0-9_-]+(?<![_-])")
ADDRESS = re.compile(r"((https?|mqtts?|ftp)://|www\.)[a-z0-9]", re.IGNORECASE)
FROM_HOME_ASSISTANT = {
    *("already_configured", "already_in_progress", "authorize_url_timeout", "missing_configuration", "no_url_available"),
    *("oauth_error", "oauth_failed", "oauth_timeout", "oauth_unauthorized", "reauth_successful", "user_rejected_authorize"),
}
"""Reasons that the dialogs of Home Assistant use themselves."""


def values(texts: dict[str, Any]) -> Iterator[str]:
    for value in texts.values():
        if isinstance(value, dict):
            yield from values(value)
        else:
            yield value


def names(texts: dict[str, Any]) -> Iterator[str]:
    for name, value in texts.items():
        yield name
        if isinstance(value, dict):
            yield from names(value)


def constants(file: str, argument: str) -> set[str]:
    """The texts that a file passes with this named argument."""
    calls = [node for node in ast.walk(ast.parse((FOLDER / file).read_text())) if isinstance(node, ast.Call)]
    given = [keyword.value for call in calls for keyword in call.keywords if keyword.arg == argument]
    return {value.value for value in given if isinstance(value, ast.Constant) and isinstance(value.value, str)}


class TestManifest:
    def test_it_has_the_keys_of_a_custom_integration_in_order(self) -> None:
        assert list(MANIFEST) == ["domain", "name", *sorted(set(MANIFEST) - {"domain", "name"})]
        assert set(MANIFEST) == KNOWN_KEYS

    def test_its_values_are_allowed(self) -> None:
        assert MANIFEST["domain"] == FOLDER.name
        assert MANIFEST["iot_class"] in IOT_CLASSES
        assert MANIFEST["integration_type"] == "hub"
        assert MANIFEST["documentation"] == "https://your-gateway.example/docs/home-assistant.html"
        assert (FOLDER / "config_flow.py").exists() is MANIFEST["config_flow"]
        assert (FOLDER / "application_credentials.py").exists() is ("application_credentials" in MANIFEST["dependencies"])

    def test_it_has_the_version_of_the_project_and_needs_the_client_of_the_same_version(self) -> None:
        assert MANIFEST["version"] == __version__
        assert MANIFEST["requirements"] == [f"domogate-client=={__version__}"]


class TestTexts:
    def test_the_english_texts_are_the_strings(self) -> None:
        assert json.loads((FOLDER / "translations" / "en.json").read_text()) == TEXTS

    def test_the_sections_are_known(self) -> None:
        assert set(TEXTS) == {"config", "application_credentials", "entity"}
        assert set(TEXTS["config"]) == {"step", "error", "abort"}
        for step in TEXTS["config"]["step"].values():
            assert set(step) <= {"title", "description", "data", "data_description"}
            assert set(step.get("data_description", ())) <= set(step.get("data", ()))

    def test_the_names_are_allowed(self) -> None:
        assert [name for name in names(TEXTS) if not KEY.fullmatch(name)] == []

    def test_the_texts_are_allowed(self) -> None:
        assert [text for text in values(TEXTS) if "<" in text or ADDRESS.search(text) or text != text.strip()] == []
        fields = [field for text in values(TEXTS) for _, field, _, _ in string.Formatter().parse(text) if field]
        assert set(fields) == {"error", "example", "number", "redirect_uri", "url"}

    def test_every_reason_and_step_of_the_dialogs_has_a_text(self) -> None:
        reasons = constants("config_flow.py", "reason")
        assert set(TEXTS["config"]["abort"]) == reasons | FROM_HOME_ASSISTANT
        assert set(TEXTS["config"]["step"]) == constants("config_flow.py", "step_id") | {"pick_implementation"}

    @pytest.mark.parametrize("platform", ["binary_sensor", "climate", "sensor", "switch"])
    def test_every_entity_with_a_translated_name_has_a_text(self, platform: str) -> None:
        source = (FOLDER / f"{platform}.py").read_text()
        used = set(re.findall(r'translation_key ?= ?"(\w+)"', source))
        assert used == set(TEXTS["entity"][platform])
