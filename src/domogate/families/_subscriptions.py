"""The subscriptions of the thermostat family (X6 to X8): webhooks in the format of this family (Decision 0047)."""

import msgspec

from domogate.common.http_messages import Answer
from domogate.domain.faults import NoSuchSubscription, SubscriptionExists, TokenRefused, ValueOutOfRange
from domogate.domain.webhooks import WebhookFormat
from domogate.families._call import Call, Services
from domogate.families._wire import EMPTY_ANSWER, Uuid, json_answer, nothing_found
from domogate.services.refusals import Conflict, Forbidden, Invalid, NotFound

_FORM = WebhookFormat.THERMOSTAT


class SubscriptionOrder(msgspec.Struct, frozen=True):
    """The body of a request X6. Its field has the name that existing applications send: `EndPointUrl`."""

    url: str = msgspec.field(name="EndPointUrl")


class NewSubscription(msgspec.Struct, rename="camel"):
    """The body of the answer to X6: the id of the new subscription."""

    subscription_id: Uuid


class Subscription(msgspec.Struct, rename="camel"):
    """A subscription in the answer to X7."""

    plant_id: Uuid
    subscription_id: Uuid
    url: str = msgspec.field(name="EndPointUrl")


async def subscribe(services: Services, call: Call) -> Answer:
    order: SubscriptionOrder = call.body
    plant_id = call.plant.plant.id
    try:
        made = await services.webhooks.register(call.principal, plant_id, order.url, form=_FORM, address=call.address)
    except Conflict as refused:
        raise SubscriptionExists(str(refused)) from None
    except Invalid as refused:
        raise ValueOutOfRange(f"EndPointUrl is not accepted: {refused}") from None
    except Forbidden as refused:
        raise TokenRefused(str(refused)) from None
    return json_answer(NewSubscription(made.id), 201)


async def list_subscriptions(services: Services, call: Call) -> Answer:
    found = await services.webhooks.list_own(call.principal, _FORM)
    listed = [Subscription(one.plant_id, one.id, one.url) for one in found if one.ended_at is None]
    return json_answer(listed) if listed else nothing_found()


async def unsubscribe(services: Services, call: Call) -> Answer:
    try:
        found = await services.webhooks.get_own(call.principal, call.subscription_id)
        if found.form is not _FORM or found.plant_id != call.plant.plant.id:
            raise NotFound("the subscription belongs to another plant")
        await services.webhooks.remove(call.principal, found.id, address=call.address)
    except NotFound:
        raise NoSuchSubscription("the application has no subscription to this plant with this id") from None
    return EMPTY_ANSWER
