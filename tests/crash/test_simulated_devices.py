"""kill -9 while simulated devices move: what they were told survives."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.extension_operations import X2
from support.gateway import Gateway, eventually, import_estate, running
from support.plug_estate import KEY, OWNER, plug_estate
from support.restartable import RestartableGateway, clean_environment, kill
from support.spec_operations import E8
from support.store_access import add_credentials

pytestmark = pytest.mark.slow

LAMP = "10000000-0000-4000-8000-00000000f001"
TRANSITION = 20
"""In seconds. Longer than it takes to read the lamp once, also on a busy machine."""


def estate_with_a_fading_lamp() -> dict[str, Any]:
    estate = plug_estate()
    estate["clients"][0]["scopes"] = sorted({*estate["clients"][0]["scopes"], "light.write"})
    estate["plants"][0]["modules"] = [
        {
            "id": LAMP,
            "name": "Lamp",
            "kind": "light",
            "driver": "simulator",
            "state": {"on": False, "level": 10},
            "options": {"transition": TRANSITION},
        }
    ]
    return estate


def light(gateway: Gateway, plant: str) -> dict[str, Any]:
    answer = gateway.send(E8, {"plant": plant, "module": LAMP}, who=OWNER)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["lights"][0]
    return found


def test_a_lamp_reaches_the_level_that_was_acknowledged_before_the_kill(tmp_path: Path) -> None:
    restartable = RestartableGateway(tmp_path, clean_environment({}))
    estate = estate_with_a_fading_lamp()
    plant = estate["plants"][0]["id"]
    import_estate(estate, tmp_path, restartable.data, restartable.environment)
    with running(restartable.start()) as gateway:
        restartable.known = {name: add_credentials(gateway, KEY).ready[name] for name in ("subscription_key", "users")}
        order = json.dumps({"status": "on", "level": 90}).encode()
        assert gateway.send(X2, {"plant": plant, "module": LAMP}, who=OWNER, body=order).status_code == 200
        assert light(gateway, plant)["level"] < 90, "the lamp is not on its way any more"
        kill(gateway.process)
    with running(restartable.start()) as gateway:
        eventually(lambda: light(gateway, plant)["level"] == 90, "the lamp never reaches the ordered level", 6 * TRANSITION)
        assert light(gateway, plant)["status"] == "on"
