"""The settings of bridges. A wrong bridge stops the start."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from domogate.drivers import mqtt
from domogate.drivers.mqtt import MqttBridge
from domogate.settings import BadSettings, load_settings

PLANT = "CA5A0001-0000-4000-8000-000000000000"
GOOD = {"plant": PLANT, "user": "anna@example.com"}
BROKER = '[[mqtt_brokers]]\nname = "house"\nurl = "mqtt://broker.example"\nusername = "u"\npassword = "p4ss"\n'


def load(tmp_path: Path, *tables: str) -> Any:
    file = tmp_path / "domogate.toml"
    file.write_text(BROKER + "".join(f"[[mqtt_bridges]]\n{table}\n" for table in tables))
    return mqtt.DRIVER.settings_in(load_settings({}, {}, file).drivers)


class TestMqttBridge:
    def test_only_the_plant_and_the_user_are_needed(self) -> None:
        plan = msgspec.convert(GOOD, MqttBridge).plan
        assert (plan.plant_id, plan.base, plan.announced_under) == (PLANT.lower(), "domogate", "homeassistant")
        assert (plan.commands, plan.doors, plan.active) == (False, False, True)

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"plant": "house"}, "is not an id of a plant"),
            ({"user": "anna"}, "is not an e-mail address"),
            ({"base": ""}, "base '' cannot be used"),
            ({"base": "a/#"}, "cannot be used"),
            ({"base": "/a"}, "cannot be used"),
            ({"base": "x" * 101}, "cannot be used"),
            ({"home_assistant": "a b"}, "home_assistant 'a b' cannot be used"),
            ({"doors": True}, "needs commands = true"),
            ({"password": "p4ss"}, "unknown field"),
        ],
    )
    def test_a_wrong_value_is_refused_with_words(self, wrong: dict[str, Any], words: str) -> None:
        with pytest.raises(msgspec.ValidationError, match=words):
            msgspec.convert({**GOOD, **wrong}, MqttBridge)


class TestSettings:
    def test_bridges_are_tables_of_the_file(self, tmp_path: Path) -> None:
        settings = load(tmp_path, f'plant = "{PLANT}"\nuser = "a@example.com"\nbroker = "house"\nhome_assistant = ""')
        assert [bridge.home_assistant for bridge in settings.bridges] == [""]
        assert mqtt.build_bridge_brokers(settings).keys() == {"house"}

    @pytest.mark.parametrize(
        ("brokers", "words"),
        [
            (["house", "house"], "the same broker, base and plant"),
            (["garden"], "names the broker 'garden', but mqtt_brokers lists house"),
        ],
    )
    def test_contradictions_stop_the_start(self, tmp_path: Path, brokers: list[str], words: str) -> None:
        tables = [f'plant = "{PLANT}"\nuser = "a@example.com"\nbroker = "{broker}"' for broker in brokers]
        with pytest.raises(BadSettings) as told:
            load(tmp_path, *tables)
        assert words in str(told.value)
        assert "p4ss" not in str(told.value)

    def test_only_one_bridge_announces_a_plant_at_a_broker(self, tmp_path: Path) -> None:
        one = f'plant = "{PLANT}"\nuser = "a@example.com"\nbroker = "house"\n'
        with pytest.raises(BadSettings, match="announce the same plant"):
            load(tmp_path, f'{one}base = "a"', f'{one}base = "b"')
        assert len(load(tmp_path, f'{one}base = "a"', f'{one}base = "b"\nhome_assistant = ""').bridges) == 2

    def test_the_number_is_bounded(self, tmp_path: Path) -> None:
        one = f'plant = "{PLANT}"\nuser = "a@example.com"\nbroker = "house"\n'
        tables = [f'{one}base = "b{number}"' for number in range(101)]
        with pytest.raises(BadSettings, match="at most 100 bridges"):
            load(tmp_path, *tables)
