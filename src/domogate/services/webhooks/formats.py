"""The formats of deliveries. The thermostat family provides its own format."""

from collections.abc import Callable, Mapping

import msgspec

from domogate.domain.events import Event
from domogate.domain.notices import Notice
from domogate.domain.plants import Module
from domogate.domain.webhooks import Webhook, WebhookFormat
from domogate.services.events.cloud_events import MEDIA_TYPE, encode_event, print_notice
from domogate.services.plants.read_model import PlantView
from domogate.wire import OutputModel


class Printed(msgspec.Struct, frozen=True):
    """The body and headers of a request to the receiver of a webhook."""

    body: bytes
    headers: Mapping[str, str]


Printer = Callable[[Notice, PlantView], Printed | None]
"""A function that prints a notice. It returns None if the format cannot express the notice."""


_NOTHING: tuple[Event | None, Module | None, Printed | None] = (None, None, None)
_MOST_RECENT = 100
"""The number of printed events that are kept."""


class PingData(OutputModel, frozen=True):
    webhook_id: str
    plant_id: str


class WebhookFormats:
    """Encodes notices and test events. `source` is the URL of the gateway."""

    def __init__(self, source: str, others: Mapping[WebhookFormat, Printer] | None = None) -> None:
        self._source = source
        self._recent: dict[int, tuple[Event | None, Module | None, Printed | None]] = {}
        """The last printed events by cursor: the event, its module, and the request that was printed from them.

        The webhooks of a plant deliver the same event at nearly the same time. So the event is printed once for all of them.
        """
        self._printers: dict[WebhookFormat, Printer] = {WebhookFormat.CLOUDEVENTS: self._print_cloudevent, **(others or {})}

    def print_notice(self, form: WebhookFormat, notice: Notice, plant: PlantView) -> Printed | None:
        return self._printers[form](notice, plant)

    def print_ping(self, webhook: Webhook, message: str, at: float) -> Printed:
        """Encode a test event with the id `message`. In the thermostat format, this event is an empty list of notifications."""
        if webhook.form is WebhookFormat.THERMOSTAT:
            return Printed(b"[]", {"content-type": "application/json"})
        event = encode_event(
            id=message,
            source=self._source,
            type="domogate.test",
            subject=f"plants/{webhook.plant_id}",
            at=at,
            data=PingData(webhook.id, webhook.plant_id),
        )
        return Printed(event, {"content-type": MEDIA_TYPE})

    def _print_cloudevent(self, notice: Notice, plant: PlantView) -> Printed:
        module = None if notice.module_id is None else plant.modules[notice.module_id].module
        event, of_module, printed = self._recent.get(notice.cursor, _NOTHING)
        if printed is None or event is not notice.event or of_module is not module:
            printed = Printed(print_notice(notice, plant, self._source), {"content-type": MEDIA_TYPE})
            self._recent[notice.cursor] = notice.event, module, printed
            if len(self._recent) > _MOST_RECENT:
                del self._recent[next(iter(self._recent))]
        return printed
