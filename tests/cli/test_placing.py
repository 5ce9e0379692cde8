"""`domogate discover mqtt --into`: modules get into the rooms of an estate file."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from domogate.cli.commands import cli
from domogate.services.plants.placing import parse_pattern
from support.command_line import CommandLine
from support.mosquitto import DeviceClient, mosquitto

DIMMER = [{"type": "binary", "name": "state"}, {"type": "numeric", "name": "brightness"}]
BULB: dict[str, Any] = {"model": "M", "vendor": "V", "description": "bulb", "exposes": [{"type": "light", "features": DIMMER}]}
NAMES = ("101_lamp", "101_reading_lamp", "203_lamp", "203_Lamp", "305_lamp", "lobby", "rom-203_lamp")
BRIDGE = {"ieee_address": "0x99", "type": "Coordinator", "friendly_name": "Coordinator", "definition": None}
ESTATE = """\
# The hotel by the sea.
users:
  - {email: anna@example.com}
plants:
  - id: 7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a01
    name: Hotel
    type: hotel
    owner: anna@example.com
    zipCode: 062520
    floors:
      - id: 7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a02
        name: First
        ambients:
          - id: 7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a03
            name: Room 101
            modules:
              - {id: 7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a06, name: Old lamp, kind: light, driver: simulator}

          # The best view.
          - id: 7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a04
            name: Room 203
            type: bedroom
          - {id: 7b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a05, name: Lobby}
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["discover", "mqtt", "--seconds", "3", *arguments])


@pytest.mark.slow
def test_modules_get_into_the_rooms_that_their_names_contain(tmp_path: Path, domogate: CommandLine) -> None:
    file = tmp_path / "estate.yaml"
    file.write_text(ESTATE)
    devices = [
        {"ieee_address": f"0x{number}", "type": "Router", "friendly_name": name, "supported": True, "definition": BULB}
        for number, name in enumerate(NAMES)
    ] + [BRIDGE]
    (tmp_path / "broker").mkdir()
    with mosquitto(tmp_path / "broker") as broker:
        device = DeviceClient(broker.port)
        device.publish("zigbee2mqtt/bridge/devices", json.dumps(devices), retain=True)
        device.close()
        flags = ("--url", broker.url, "--estate", str(file))
        first = run(*flags, "--into", "{room}_*", "--out", str(file), "--force")
        second = run(*flags, "--into", "{room}_*")
        third = run(*flags, "--into", "{room}")
        device = DeviceClient(broker.port)
        moved = [{**one, "friendly_name": "101_moved"} if one.get("friendly_name") == "203_lamp" else one for one in devices]
        device.publish("zigbee2mqtt/bridge/devices", json.dumps(moved), retain=True)
        device.close()
        fourth = run(*flags, "--into", "{room}_*")
    assert first.exit_code == 0, first.output
    assert "4 modules added, 0 already in" in first.stderr
    assert "3 without a room" in first.stderr
    assert "Coordinator" not in first.stderr
    assert "Zigbee2MQTT" not in first.stderr, "the bridge belongs to no room"
    assert "add a room with that name to the file" in first.stderr
    assert "Without a room: 305_lamp: no room is named 305." in first.stderr
    assert "Without a room: rom-203_lamp: no room is named rom-203 (did you mean 'Room 203'?)." in first.stderr
    assert "Without a room: lobby: its name does not match the pattern." in first.stderr
    written = file.read_text()
    rooms = {room["name"]: room for room in yaml.safe_load(written)["plants"][0]["floors"][0]["ambients"]}
    assert [module["name"] for module in rooms["Room 101"]["modules"]] == ["Old lamp", "Lamp", "Reading lamp"]
    assert [(module["name"], module["options"]["name"]) for module in rooms["Room 203"]["modules"]] == [
        ("Lamp", "203_lamp"),
        ("Lamp 2", "203_Lamp"),
    ]
    labels = [metric["label"] for metric in rooms["Room 203"]["modules"][0]["metrics"]]
    assert labels == ["status", "level"], "the bulb has no colours"
    assert set(ESTATE.splitlines()) <= set(written.splitlines())
    assert "0 modules added, 4 already in" in second.stderr
    assert second.stdout == written
    assert "Renamed" not in second.stderr
    assert "Renamed: 203_lamp is now 101_moved. Change the name in the options of this module" in fourth.stderr
    assert "0 modules added, 4 already in" in fourth.stderr
    assert "lobby: the room Lobby is written in braces" in third.stderr
    domogate.good("estate", "import", str(file))
    assert "Room 203" in next(line for line in domogate.good("module", "list", "Hotel").splitlines() if "Lamp 2" in line)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--into", "{room}_*"), "--estate"),
        (("--estate", "FILE"), "--into"),
        (("--estate", "FILE", "--into", "{room}_*", "--json"), "--json"),
        (("--estate", "FILE", "--into", "*_lamp"), "{room}"),
        (("--out", "x"), "--into"),
    ],
)
def test_flags_that_do_not_fit_are_refused(tmp_path: Path, flags: tuple[str, ...], words: str) -> None:
    (tmp_path / "estate.yaml").write_text(ESTATE)
    result = run("--url", "mqtt://127.0.0.1:1", *(flag.replace("FILE", str(tmp_path / "estate.yaml")) for flag in flags))
    assert result.exit_code == 2
    assert words in result.stderr


def test_a_file_with_mistakes_is_refused_before_the_broker_is_asked(tmp_path: Path) -> None:
    (tmp_path / "estate.yaml").write_text(ESTATE.replace("type: hotel", "type: castle"))
    result = run("--url", "mqtt://127.0.0.1:1", "--estate", str(tmp_path / "estate.yaml"), "--into", "{room}_*")
    assert result.exit_code == 1
    assert "castle" in result.stderr
    assert "Listening" not in result.stderr


@pytest.mark.parametrize(
    ("pattern", "name", "room"),
    [
        ("{room}_*", "101_lamp_2", "101"),
        ("zimmer-{room}-*", "Zimmer-101-lamp", "101"),
        ("*/{room}", "floor1/101", "101"),
        ("{room}.*", "101_lamp", None),
    ],
)
def test_a_pattern_finds_the_room_in_a_name(pattern: str, name: str, room: str | None) -> None:
    match = parse_pattern(pattern).fullmatch(name)
    assert (match and match["room"]) == room
