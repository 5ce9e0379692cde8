"""The things in the pages: a running demo, its ready file, a broker with devices, a receiver, and the folder of the reader."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support.checkout import copy_checkout
from support.gateway import Gateway, running, start
from support.mosquitto import DeviceClient, Mosquitto, mosquitto
from support.named_code import ROOT
from support.page_blocks import Block, read_blocks
from support.page_person import Person
from support.page_shell import DOMOGATE, Reader
from support.ports import free_port
from support.receivers import ThreadedReceiver

_IN_A_CHECKOUT = re.compile(r"\./dev |\.dev/")
_VARIABLES = read_blocks(ROOT / "docs" / "families.md")[0].script

_PRELUDE = """
set -o pipefail
curl() {
    case " $* " in
    *" -N "*) command curl --fail-with-body --max-time 2 "$@" || [ $? = 28 ] ;;  # a stream does not end
    *) command curl --fail-with-body --connect-to gateway.example.com::127.0.0.1: "$@" ;;
    esac
}
domogate() {
    case $* in
    replay*--estate*) command domogate "$@" ;;
    record*) keep_running "$@" --port 8090 ;;
    replay*) keep_running "$@" --port 8091 ;;
    demo*) DOMOGATE_CONFIG=/dev/null DOMOGATE_PORT=0 keep_running "$@" ;;
    serve*)
        if [ -n "${serving:-}" ]; then kill $serving; wait $serving || true; fi
        # The settings of the reader's folder have the port of the demo, which runs.
        if [ "$DOMOGATE_CONFIG" = "$DEMO_CONFIG" ]; then DOMOGATE_PORT=0 keep_running "$@"; else keep_running "$@"; fi
        serving=$!
        ;;
    *) command domogate "$@" ;;
    esac
}
keep_running() {
    rm -f gateway.log  # the program before this one may still write to it, and its first line is not the first line of this one
    : >gateway.log
    command domogate "$@" >gateway.log 2>&1 </dev/null &
    until grep -q 'Ctrl-C\\|Serving on\\|Listening on\\|Domogate serves' gateway.log; do
        kill -0 $! || { cat gateway.log; exit 1; }
        sleep 0.1
    done
    cat gateway.log
}
"""
"""A refused request fails the block. A program that keeps running runs in the background as soon as it is ready."""


def _light(name: str, address: str) -> dict[str, Any]:
    features = [{"name": "state"}, {"name": "brightness"}]
    definition = {"model": "LED1624G9", "vendor": "IKEA", "description": "TRADFRI LED bulb"}
    exposes = [{"type": "light", "features": features}]
    return {
        "ieee_address": address,
        "type": "Router",
        "friendly_name": name,
        "definition": definition | {"exposes": exposes},
    }


_SENSOR = {
    "ieee_address": "0x00169a00022256da",
    "type": "EndDevice",
    "friendly_name": "my_sensor",
    "definition": {
        "model": "WSDCGQ11LM",
        "vendor": "Aqara",
        "description": "sensor",
        "exposes": [
            {"type": "numeric", "name": "humidity", "property": "humidity"},
            {"type": "numeric", "name": "temperature", "property": "temperature"},
        ],
    },
}
_RETAINED = {
    "zigbee2mqtt/bridge/devices": json.dumps(
        [_light("my_bulb", "0x90fd9ffffe6494fc"), _light("101_lamp", "0x90fd9ffffe6494fd"), _SENSOR]
    ),
    "zigbee2mqtt/bridge/state": '{"state": "online"}',
}


@dataclass(frozen=True)
class Stage:
    """The running programs that the pages share."""

    gateway: Gateway
    broker: Mosquitto
    receiver: ThreadedReceiver
    store: Path

    def open_folder(self, folder: Path, blocks: list[Block]) -> Reader:
        """Return a reader of these blocks. The folder is a checkout if the blocks need one."""
        if any(_IN_A_CHECKOUT.search(block.script) for block in blocks):
            copy_checkout(folder, folder / DOMOGATE)
        shutil.copytree(self.store, folder / "DIR")
        (folder / "demo-data").symlink_to(self.gateway.data)
        (folder / "ready.json").write_text(json.dumps(self.gateway.ready))
        anna = self.gateway.ready["users"][0]
        secrets = {"key": self.gateway.subscription_key, "id.token": anna["id_token"], "access.token": anna["access_token"]}
        for name, secret in secrets.items():
            (folder / name).write_text(secret)
        settings = folder / "domogate.toml"
        settings.write_text(
            f'data = "{self.gateway.data}"\nport = {urlsplit(self.gateway.base_url).port}\n'
            f'[[mqtt_brokers]]\nname = "house"\nurl = "{self.broker.url}"\n'
        )
        (folder / "gateway.log").write_text("2026-11-17 09:30:00 [info     ] ready\n")
        (folder / "srv").mkdir()
        (folder / "docs" / "images").mkdir(parents=True, exist_ok=True)
        variables = {"DOMOGATE_CONFIG": str(settings), "DEMO_CONFIG": str(settings)}
        reader = Reader(folder, self._names(folder, blocks), variables, Person(self.gateway).look)
        reader.run(_PRELUDE + _VARIABLES)
        return reader

    def _names(self, folder: Path, blocks: list[Block]) -> dict[str, str]:
        names = {
            "8080": str(urlsplit(self.gateway.base_url).port),
            "8443": str(free_port()),
            "1883": str(self.broker.port),
            "broker.lan": "127.0.0.1",
            "0.0.0.0": "127.0.0.1",
            "DIR": str(folder / "DIR"),
            "/srv/hotel": str(folder / "srv" / "hotel"),
            "https://gateway.example.com": self.gateway.base_url,
            "https://receiver.example": self.receiver.url,
            "2036-11-22": (datetime.now(UTC) + timedelta(days=5)).date().isoformat(),
        }
        if any("domogate record" in block.script for block in blocks):
            names |= {"8090": str(free_port()), "8091": str(free_port())}
        return names


def announce_devices(broker: Mosquitto) -> None:
    """Publish what Zigbee2MQTT publishes when it starts."""
    devices = DeviceClient(broker.port)
    for topic, payload in _RETAINED.items():
        devices.publish(topic, payload, retain=True)
    devices.close()


@contextmanager
def open_stage(folder: Path, store: Path) -> Iterator[Stage]:
    """Start the programs. `store` is the data folder of another gateway: each page gets a copy of it."""
    receiver = ThreadedReceiver()
    (folder / "broker").mkdir()
    try:
        with running(start("demo", folder / "demo")) as gateway, mosquitto(folder / "broker") as broker:
            announce_devices(broker)
            yield Stage(gateway, broker, receiver, store)
    finally:
        receiver.close()
