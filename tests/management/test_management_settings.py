"""The settings in force and the last lines of the log, over HTTP."""

import logging
from pathlib import Path

import msgspec
import pytest

from domogate.edge.logs import RecentLines
from domogate.settings import load_settings
from domogate.settings.declared import DECLARED
from support.management_setup import ManagementApi

pytestmark = pytest.mark.slow

SECRET = "a-secret-that-must-not-be-shown"


class TestSettings:
    async def test_each_has_its_value_and_where_it_came_from(self, api: ManagementApi, tmp_path: Path) -> None:
        toml = tmp_path / "domogate.toml"
        toml.write_text("simulator_seed = 7\n[state_max_ages]\nlight = 30\n")
        environ = {
            "DOMOGATE_DATABASE": f"postgresql://me:{SECRET}@localhost/db",
            "DOMOGATE_SMTP_PASSWORD": SECRET,
            "DOMOGATE_MQTT_BROKERS": f'[{{"url": "mqtt://broker", "username": "me", "password": "{SECRET}"}}]',
            "DOMOGATE_DRAIN": "3",
        }
        api.settings = load_settings({"port": "0"}, environ, toml)
        answer = await api.send("GET", "/settings")
        assert SECRET not in answer.text
        found = {setting["name"]: setting for setting in answer.json()["items"]}
        assert found.keys() == DECLARED.keys()

        def place(name: str) -> tuple[str | None, str, str]:
            return found[name]["value"], found[name]["source"], found[name]["place"]

        assert place("port") == ("0", "command line", "--port")
        assert place("drain") == ("3", "environment", "DOMOGATE_DRAIN")
        assert place("simulator_seed") == ("7", "file", "domogate.toml line 1")
        assert place("state_max_ages") == ('{"light":30.0}', "file", "domogate.toml line 2")
        assert place("keep_alive") == ("75", "default", "")
        assert place("smtp_password") == (None, "environment", "DOMOGATE_SMTP_PASSWORD")
        assert place("mqtt_brokers")[0] is None
        assert found["drain"]["default"] == "10"
        assert found["drain"]["help"]

    async def test_a_value_that_the_gateway_chose_is_marked(self, api: ManagementApi) -> None:
        api.settings = msgspec.structs.replace(api.settings, port=12345)
        found = {setting["name"]: setting for setting in (await api.ok("GET", "/settings"))["items"]}
        assert (found["port"]["value"], found["port"]["source"]) == ("12345", "gateway")


def line(text: str, level: int = logging.INFO) -> tuple[logging.LogRecord, str]:
    return logging.LogRecord("test", level, "", 0, text, None, None), text


class TestLogs:
    async def test_the_last_lines_are_shown_from_a_level_on(self, api: ManagementApi) -> None:
        for number, level in enumerate((logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)):
            api.log.add(*line(f"line {number}", level))
        every = (await api.ok("GET", "/logs"))["items"]
        assert [(one["level"], one["text"]) for one in every] == [
            ("debug", "line 0"), ("info", "line 1"), ("warning", "line 2"), ("error", "line 3"),
        ]  # fmt: skip
        some = (await api.ok("GET", "/logs?level=warning"))["items"]
        assert [one["text"] for one in some] == ["line 2", "line 3"]
        await api.refused("GET", "/logs?level=loud", status=400)

    def test_they_are_bounded_in_number_and_in_bytes(self) -> None:
        lines = RecentLines(most=3, most_bytes=20, longest=10)
        for number in range(5):
            lines.add(*line(f"{number}"))
        assert [one.text for one in lines.list()] == ["2", "3", "4"]
        lines.add(*line("a" * 50))
        assert [one.text for one in lines.list()] == ["3", "4", "a" * 10 + "…"]
        lines.add(*line("b" * 10))
        assert [one.text for one in lines.list()] == ["b" * 10]
