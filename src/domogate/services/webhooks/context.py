"""The objects that the workers of all webhooks share."""

from typing import Protocol

import msgspec

from domogate.ports import Clock, FeedStore, WebhookSender, WebhookStore
from domogate.services.webhooks.counters import DeliveryCounters
from domogate.services.webhooks.delivery_log import DeliveryLog
from domogate.services.webhooks.formats import WebhookFormats
from domogate.services.webhooks.rights import WebhookRights


class DeliveryStore(WebhookStore, FeedStore, Protocol):
    """The parts of the store with webhooks and changes."""


class DeliveryContext(msgspec.Struct, frozen=True):
    """The objects that the workers of all webhooks share."""

    store: DeliveryStore
    sender: WebhookSender
    clock: Clock
    rights: WebhookRights
    formats: WebhookFormats
    counters: DeliveryCounters
    log: DeliveryLog
    given_up: float
    """The age in seconds at which an event that could not be delivered becomes a dead letter."""
