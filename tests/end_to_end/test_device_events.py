"""Events of a lamp behind a real broker: each change appears at once, and an order is one event."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx_sse import connect_sse

from support.extension_operations import X2
from support.gateway import Gateway, eventually
from support.http import KEY_HEADER, PATIENCE
from support.mqtt_devices import ZigbeeBridge
from support.mqtt_flood import BASE, KEY, OWNER, PLANT, behind_broker, lamp_id, mqtt_estate
from support.spec_operations import E8

pytestmark = pytest.mark.slow

LAMP = "lamp_0"
TARGET = {"plant": PLANT, "module": lamp_id(0)}


@contextmanager
def listening(gateway: Gateway) -> Iterator[Iterator[dict[str, Any]]]:
    """The states of the lamp, as events bring them."""
    headers = {KEY_HEADER: KEY, "Authorization": f"Bearer {gateway.people[OWNER].token_for(E8)}"}
    with (
        httpx.Client(base_url=gateway.base_url, trust_env=False, timeout=PATIENCE) as http,
        connect_sse(http, "GET", "/events?kind=state", headers=headers) as source,
    ):
        events = source.iter_sse()
        assert next(events).event == "ready"
        yield (event.json()["data"]["state"] for event in events if event.event == "state")


class TestALampBehindABroker:
    def test_appears_at_once_and_once(self, tmp_path: Path) -> None:
        with behind_broker(tmp_path, mqtt_estate(1)) as (gateway, broker):
            bridge = ZigbeeBridge(broker.port, BASE)
            bridge.add(LAMP, state="OFF", brightness=254)

            def is_known() -> bool:
                bridge.say(LAMP)
                return gateway.send(E8, TARGET, who=OWNER).status_code == 200

            eventually(is_known, "the lamp has reported")
            with listening(gateway) as states:
                begun = time.monotonic()
                for on in (True, False) * 4:
                    bridge.change(LAMP, state="ON" if on else "OFF")
                    assert next(states)["on"] is on
                took = time.monotonic() - begun
                assert took < 6, "each of the eight changes was reported at once, not a second after the one before"
                order = json.dumps({"status": "on", "level": 40}).encode()
                assert gateway.send(X2, TARGET, who=OWNER, body=order).status_code == 200
                bridge.change(LAMP, brightness=254)
                assert [next(states)["level"] for _ in range(2)] == [40, 100], "an order is one event"
