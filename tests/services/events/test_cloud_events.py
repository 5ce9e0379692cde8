"""Notices as CloudEvents that an independent library can read."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http_event

from domogate.domain.events import Change, PlantAspect, PlantChanged, StateChanged
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import Color, LightState
from domogate.ports import StoredPlant
from domogate.services.events.cloud_events import print_notice
from domogate.services.events.notices import find_notice
from domogate.services.plants.read_model import PlantView
from support.clocks import NOW
from support.stores import HOUSE, HOUSE_TOPOLOGY, LAMP

SOURCE = "https://gateway.example"
VIEW = PlantView(StoredPlant(HOUSE, HOUSE_TOPOLOGY, {}, 1))


def printed(event: Any) -> dict[str, Any]:
    notice = find_notice(Change(42, NOW, event), VIEW)
    assert notice is not None
    text = print_notice(notice, VIEW, SOURCE)
    assert b"\n" not in text, "a stream's line is one line"
    found: dict[str, Any] = json.loads(text)
    return found


def lamp(**more: Any) -> StateChanged:
    return StateChanged(
        plant_id=HOUSE.id, module_id=LAMP.id, **{"state": LightState(on=True, level=40), "reachable": True, "at": NOW, **more}
    )


class TestAModule:
    def test_in_full(self) -> None:
        assert printed(lamp(state=LightState(on=True, level=40, color=Color(10.0, 20.0, 30.0)))) == {
            "specversion": "1.0",
            "id": "42",
            "source": SOURCE,
            "type": "domogate.state",
            "subject": f"plants/{HOUSE.id}/modules/{LAMP.id}",
            "time": datetime.fromtimestamp(NOW, UTC).isoformat().replace("+00:00", "Z"),
            "datacontenttype": "application/json",
            "data": {
                "plantId": HOUSE.id,
                "moduleId": LAMP.id,
                "kind": "light",
                "name": "Lamp",
                "simulated": True,
                "reachable": True,
                "absentSince": None,
                "state": {"of": "light", "on": True, "level": 40, "color": {"hue": 10.0, "saturation": 20.0, "value": 30.0}},
            },
        }

    def test_that_went_away_says_since_when_and_keeps_the_evidence_to_operators(self) -> None:
        absence = Absence(AbsenceReason.CONNECTION_LOST, NOW - 5, "mqtt.internal:1883 refused the connection")
        notices = printed(lamp(reachable=False, absence=absence, turned=True))
        assert notices["type"] == "domogate.reachability"
        assert notices["data"]["reachable"] is False
        assert notices["data"]["absentSince"] == datetime.fromtimestamp(NOW - 5, UTC).isoformat().replace("+00:00", "Z")
        assert "internal" not in json.dumps(notices)

    def test_that_never_reported_has_no_state(self) -> None:
        assert printed(lamp(state=None, reachable=False, turned=True))["data"]["state"] is None


class TestAPlant:
    @pytest.mark.parametrize(("aspect", "kind"), [(PlantAspect.FACTS, "plant"), (PlantAspect.PEOPLE, "people")])
    def test_says_which_and_nothing_about_anybody(self, aspect: PlantAspect, kind: str) -> None:
        notices = printed(PlantChanged(plant_id=HOUSE.id, user_ids=(HOUSE.owner.user_id,), aspect=aspect))
        assert notices["type"] == f"domogate.{kind}"
        assert notices["subject"] == f"plants/{HOUSE.id}"
        assert notices["data"] == {"plantId": HOUSE.id}


def test_the_standards_own_library_reads_it() -> None:
    notice = find_notice(Change(42, NOW, lamp()), VIEW)
    assert notice is not None
    body = print_notice(notice, VIEW, SOURCE)
    event = from_http_event(HTTPMessage({"content-type": "application/cloudevents+json"}, body))
    assert (event.get_id(), event.get_source(), event.get_type()) == ("42", SOURCE, "domogate.state")
    assert event.get_time() == datetime.fromtimestamp(NOW, UTC)
