"""A real site: emergency lights behind a real broker, seen by E18, the logbook and the report."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.gateway import Gateway, eventually, running, serve_estate
from support.mosquitto import DeviceClient, mosquitto
from support.safety_reports import read_pages
from support.spec_operations import ALL_SCOPES, E18
from support.store_access import add_credentials

pytestmark = pytest.mark.slow

OWNER, KEY = "owner@example.com", "emergency-estate-0123456789"
SITE = "e3e40000-0000-4000-8000-000000000001"
CONTROLLER = "e3e40000-0000-4000-8000-000000000002"
UNITS = ["e3e40000-0000-4000-8000-000000000003", "e3e40000-0000-4000-8000-000000000004"]


def unit(number: int) -> dict[str, Any]:
    topic = f"clinic/{number}"
    bits = {"2": "BLOCK.FAULTY_BATTERY", "3": "BLOCK.FAULTY_EMERGENCY_LIGHT"}
    results = {"passed": "passed", "battery": "BLOCK.FAULTY_BATTERY"}
    options = {
        "dialect": "emergency",
        "failures": {"topic": topic, "path": "status", "bits": bits},
        "charge": {"topic": topic, "path": "charge"},
        "functionTest": {
            "topic": f"{topic}/function",
            "result": "result",
            "map": results,
            "ended": "ended",
            "lit": "seconds",
        },
    }
    return {"id": UNITS[number], "name": f"Exit {number}", "reference": "062520", "options": options}


def estate() -> dict[str, Any]:
    words = {"good": "REMOTE.STATUS.OK", "short": "REMOTE.STATUS.BUS_SHORT_CIRCUIT"}
    controller = {
        "id": CONTROLLER,
        "name": "Controller",
        "kind": "emergency controller",
        "options": {"dialect": "emergency", "failures": {"topic": "clinic/controller", "map": words}},
        "units": [unit(0), unit(1)],
    }
    site = {"id": SITE, "name": "Clinic", "type": "hospital", "owner": OWNER, "driver": "mqtt", "modules": [controller]}
    return {
        "users": [{"email": OWNER, "name": "Owner", "password": "a good long password"}],
        "subscriptions": [{"name": "site", "key": KEY}],
        "clients": [{"id": "site-app", "name": "Site", "scopes": list(ALL_SCOPES), "redirectUris": ["http://localhost/cb"]}],
        "plants": [site],
    }


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[tuple[Gateway, DeviceClient]]:
    with mosquitto(tmp_path) as broker:
        client = DeviceClient(broker.port)
        settings = {"DOMOGATE_MQTT_BROKERS": json.dumps([{"url": broker.url}])}
        try:
            with running(serve_estate(estate(), tmp_path / "gateway", settings)) as one:
                yield add_credentials(one, KEY), client
        finally:
            client.close()


def types(gateway: Gateway) -> dict[str, list[str]]:
    """The failure types of each device in E18."""
    answer = gateway.send(E18, {"plant": SITE}, who=OWNER)
    assert answer.status_code == 200, answer.text
    devices = [*answer.json(), *(child for one in answer.json() for child in one["children"])]
    return {one["id"]: [failure["failureType"] for failure in one["failures"]] for one in devices}


def test_a_site_shows_what_its_devices_report_and_nothing_is_simulated(
    gateway: tuple[Gateway, DeviceClient], tmp_path: Path
) -> None:
    served, client = gateway
    client.publish("clinic/controller", "short", retain=True)
    client.publish("clinic/0", '{"status": 0, "charge": 100}', retain=True)
    client.publish("clinic/1", '{"status": "0x0c", "charge": 20}', retain=True)
    client.publish("clinic/0/function", '{"result": "passed", "ended": "2026-11-01T03:00:30Z", "seconds": 30}', retain=True)
    expected = {
        CONTROLLER: ["REMOTE.STATUS.BUS_SHORT_CIRCUIT"],
        UNITS[0]: ["BLOCK.OK"],
        UNITS[1]: ["BLOCK.FAULTY_BATTERY", "BLOCK.FAULTY_EMERGENCY_LIGHT"],
    }
    eventually(lambda: types(served) == expected, "E18 shows the reported failures")

    def logbook() -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = json.loads(served.domogate("safety", "logbook", "Clinic", "--json"))
        return entries

    eventually(lambda: any(entry["kind"] == "test" for entry in logbook()), "the test is in the logbook")
    assert not any(entry["simulated"] for entry in logbook())
    report = tmp_path / "report.pdf"
    served.domogate("safety", "report", "Clinic", "--out", str(report))
    pages = read_pages(report.read_bytes())
    assert "SIMULATED" not in " ".join(pages)
    assert "battery faulty" in " ".join(pages)
