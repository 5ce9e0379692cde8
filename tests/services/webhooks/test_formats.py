"""An event is printed once for all webhooks of its plant, and a printed event is never out of date."""

import json

import msgspec

from domogate.domain.events import Change, StateChanged
from domogate.domain.notices import Notice
from domogate.domain.plants import Topology
from domogate.domain.states import LightState
from domogate.domain.webhooks import WebhookFormat
from domogate.ports import StoredPlant
from domogate.services.events.notices import find_notice
from domogate.services.plants.read_model import PlantView
from domogate.services.webhooks import formats
from domogate.services.webhooks.formats import Printed, WebhookFormats
from support.clocks import NOW
from support.stores import HOUSE, LAMP


def a_view(name: str) -> PlantView:
    lamp = msgspec.structs.replace(LAMP, name=name)
    return PlantView(StoredPlant(HOUSE, Topology(modules=(lamp,)), {}, 1))


VIEW = a_view("Lamp")


def a_notice(cursor: int, *, on: bool = True) -> Notice:
    event = StateChanged(plant_id=HOUSE.id, module_id=LAMP.id, state=LightState(on=on), reachable=True, at=NOW)
    notice = find_notice(Change(cursor, NOW, event), VIEW)
    assert notice is not None
    return notice


class TestPrintingOnce:
    def setup_method(self) -> None:
        self.formats = WebhookFormats("https://gateway.example")

    def print(self, notice: Notice, view: PlantView = VIEW) -> Printed:
        printed = self.formats.print_notice(WebhookFormat.CLOUDEVENTS, notice, view)
        assert printed is not None
        return printed

    def test_the_second_webhook_gets_the_same_bytes(self) -> None:
        notice = a_notice(7)
        assert self.print(notice) is self.print(notice)

    def test_a_module_with_a_new_name_is_printed_again(self) -> None:
        notice = a_notice(7)
        self.print(notice)
        assert json.loads(self.print(notice, a_view("Other")).body)["data"]["name"] == "Other"

    def test_another_event_with_the_same_cursor_is_printed_again(self) -> None:
        """A database that was restored from a backup gives the same cursor to another change."""
        self.print(a_notice(7, on=True))
        assert json.loads(self.print(a_notice(7, on=False)).body)["data"]["state"]["on"] is False

    def test_only_the_last_events_are_kept(self) -> None:
        first = a_notice(1)
        printed = self.print(first)
        for cursor in range(2, formats._MOST_RECENT + 2):
            self.print(a_notice(cursor))
        again = self.print(first)
        assert again is not printed
        assert again == printed
