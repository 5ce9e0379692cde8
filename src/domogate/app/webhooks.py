"""Builds the services that register webhooks and deliver events to them."""

from typing import TYPE_CHECKING

from domogate.app.parts import DAY
from domogate.domain.webhooks import WebhookFormat
from domogate.families._chronothermostats import print_notification
from domogate.ports import WebhookSender
from domogate.services.webhooks.dispatcher import Dispatcher
from domogate.services.webhooks.formats import WebhookFormats
from domogate.services.webhooks.registration import Webhooks

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway


def build_webhooks(gateway: "Gateway", sender: WebhookSender) -> tuple[Dispatcher, Webhooks]:
    settings, knowledge = gateway.settings, gateway.knowledge
    store, read_model, clock, audit = gateway.store, gateway.read_model, gateway.clock, gateway.audit
    formats = WebhookFormats(settings.base_url, {WebhookFormat.THERMOSTAT: print_notification})
    dispatcher = Dispatcher(
        store,
        gateway.identities,
        read_model,
        sender,
        clock,
        formats,
        audit,
        given_up=settings.webhook_given_up_days * DAY,
        dead_kept=settings.dead_letters_kept_days * DAY,
        may_prune=gateway.clock_check.check,
        holdings=store.holdings,
        is_current=lambda: knowledge.is_kept,
    )
    return dispatcher, Webhooks(store, read_model, sender, clock, audit, formats, dispatcher.log)
