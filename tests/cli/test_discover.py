"""`domogate discover mqtt`, against a real mosquitto."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from domogate.app import open_tools
from domogate.cli.commands import cli
from domogate.domain.devices import DeviceKind
from domogate.drivers.mqtt.options import find_option_problems
from domogate.ports import DriverConnection
from domogate.settings import Settings
from support.mosquitto import DeviceClient, Mosquitto, mosquitto
from support.ports import free_port

DEVICES = [
    {
        "ieee_address": "0x90fd9ffffe6494fc",
        "type": "Router",
        "friendly_name": "my_bulb",
        "supported": True,
        "disabled": False,
        "definition": {
            "model": "LED1624G9",
            "vendor": "IKEA",
            "description": "bulb",
            "exposes": [{"type": "light", "features": []}],
        },
    },
    {"ieee_address": "0x00169a00022256da", "type": "EndDevice", "friendly_name": "my\nsensor", "definition": None},
]

LONG_ENOUGH = "3"
"""Retained messages arrive at once, but a busy machine may need longer."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with mosquitto(tmp_path_factory.mktemp("mosquitto")) as one:
        device = DeviceClient(one.port)
        device.publish("zigbee2mqtt/bridge/devices", json.dumps(DEVICES), retain=True)
        device.close()
        yield one


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["discover", "mqtt", *arguments])


@pytest.mark.slow
class TestDiscover:
    def test_what_is_found_are_lines_of_an_estate_file_and_the_rest_comments(self, broker: Mosquitto) -> None:
        result = run("--url", broker.url, "--seconds", LONG_ENOUGH)
        assert result.exit_code == 0, result.output
        (module,) = yaml.safe_load(result.stdout)["modules"]
        assert (module["name"], module["kind"], module["driver"]) == ("my_bulb", "light", "mqtt")
        assert module["options"] == {"dialect": "zigbee2mqtt", "name": "my_bulb"}
        assert not list(find_option_problems(DeviceKind(module["kind"]), module["options"]))
        assert "# - my sensor: Zigbee2MQTT does not support it\n" in result.stdout
        assert "  # IKEA LED1624G9 bulb\n" in result.stdout
        assert "1 modules found, 1 devices skipped." in result.stderr

    def test_for_scripts_it_is_json(self, broker: Mosquitto) -> None:
        said = json.loads(run("--url", broker.url, "--seconds", LONG_ENOUGH, "--json").stdout)
        assert [one["name"] for one in said["modules"]] == ["my_bulb"]
        assert said["passed_over"][0]["why"] == "Zigbee2MQTT does not support it"

    def test_the_broker_of_the_console_is_used_if_the_settings_have_none(self, broker: Mosquitto, tmp_path: Path) -> None:
        async def set_broker() -> None:
            async with open_tools(Settings(data=tmp_path)) as tools:
                await tools.store.set_connection(DriverConnection("mqtt", broker.url))

        asyncio.run(set_broker())
        said = json.loads(run("--data", str(tmp_path), "--seconds", LONG_ENOUGH, "--json").stdout)
        assert [one["name"] for one in said["modules"]] == ["my_bulb"]

    def test_a_broker_of_the_settings_is_found_by_its_name(self, broker: Mosquitto, tmp_path: Path) -> None:
        config = tmp_path / "domogate.toml"
        config.write_text(
            f'[[mqtt_brokers]]\nname="a"\nurl="{broker.url}"\n[[mqtt_brokers]]\nname="b"\nurl="mqtt://127.0.0.1:1"\n'
        )
        result = run("--config", str(config), "--broker", "a", "--seconds", LONG_ENOUGH)
        assert yaml.safe_load(result.stdout)["modules"][0]["options"]["broker"] == "a"
        assert "several" in run("--config", str(config)).stderr
        assert "there are a, b" in run("--config", str(config), "--broker", "c").stderr


class TestRefusals:
    def test_where_nobody_listens_it_says_so(self) -> None:
        result = run("--url", f"mqtt://127.0.0.1:{free_port()}", "--seconds", LONG_ENOUGH)
        assert result.exit_code == 1
        assert "cannot be used: Connection refused." in result.stderr
        assert "Traceback" not in result.output

    def test_without_a_broker_it_names_both_ways_to_give_one(self) -> None:
        said = run("--broker", "house").stderr
        assert "--url" in said
        assert "--config" in said

    @pytest.mark.parametrize("arguments", [(), ("--url", "http://x"), ("--url", "mqtt://x", "--broker", "y")])
    def test_a_command_line_that_names_no_broker_is_wrong(self, arguments: tuple[str, ...]) -> None:
        assert run(*arguments).exit_code == 2
