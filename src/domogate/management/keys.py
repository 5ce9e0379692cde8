"""Operations on subscription keys and signing keys."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from domogate.domain.people import MOST_DAILY_QUOTA, Subscription
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing, Page, page_of
from domogate.http_api.requests import read_time
from domogate.management.services import ManagementServices, OperatorCall
from domogate.services.audit import AuditAction, key_ref
from domogate.services.people import check_name
from domogate.services.refusals import Invalid, NotFound, Reason
from domogate.wire import InputModel, OutputModel, to_datetime
from domogate.wire.keys import KeyOut

SUBSCRIPTIONS, SIGNING_KEYS = OperationTable("subscriptions"), OperationTable("signing keys")


class SubscriptionOut(KeyOut, frozen=True):
    """A subscription without its key.

    `usedToday` is the number of requests of this day (UTC). The number may be a second old.
    """


def _subscription_out(subscription: Subscription, used: int) -> SubscriptionOut:
    return SubscriptionOut.of(subscription, used_today=used)


class NewSubscription(InputModel, frozen=True):
    name: Annotated[str, Meta(min_length=1)]
    rate: str | None = None
    daily_quota: Annotated[int, Meta(ge=1, le=MOST_DAILY_QUOTA)] | None = None
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None


class CreatedSubscriptionOut(OutputModel, frozen=True):
    """A new subscription and its key, which is shown only in this response."""

    subscription: SubscriptionOut
    key: str


class SigningKeyOut(OutputModel, frozen=True):
    """A signing key without its private part. If tokens of the key are accepted, its public part is in `/auth/jwks`."""

    kid: str
    algorithm: str
    state: str
    signs_from: datetime
    retired_at: datetime | None


class KeyRotation(InputModel, frozen=True):
    """A request to rotate the signing key.

    With `emergency` the new key signs at once, and no other key is trusted any more: existing tokens are refused.
    """

    emergency: bool = False


class RotatedKeysOut(OutputModel, frozen=True):
    kid: str
    keys: tuple[SigningKeyOut, ...]


@SUBSCRIPTIONS.add("GET /subscriptions", "The subscriptions, sorted by id, without their keys, with their usage of today")
async def list_subscriptions(services: ManagementServices, _call: OperatorCall, query: Page) -> Listing[SubscriptionOut]:
    usages = await services.store.list_usages(to_datetime(services.clock.now()).date().isoformat())
    found = await services.store.list_subscriptions()
    return page_of(found, query, lambda one: one.id, lambda one: _subscription_out(one, usages.get(one.id, 0)))


@SUBSCRIPTIONS.add("POST /subscriptions", "Issue a subscription key; it is shown only once", status=201, errors=(422,))
async def create_subscription(
    services: ManagementServices, call: OperatorCall, body: NewSubscription
) -> CreatedSubscriptionOut:
    check_name(body.name)
    now = services.clock.now()
    expires_at = read_time("expiresAt", body.expires_at)
    if expires_at is not None and expires_at <= now:
        raise Invalid("expiresAt is in the past.", Reason.TIME_IN_PAST)
    try:
        key, subscription = services.new_subscription(body.name, body.rate, body.daily_quota, expires_at, now)
    except ValueError as error:
        raise Invalid(f"{error}.", Reason.BAD_KEY_LIMIT) from None
    await services.store.add_subscription(subscription)
    services.people.note(AuditAction.KEY_ISSUED, call.caller, key_ref(subscription.id))
    return CreatedSubscriptionOut(_subscription_out(subscription, 0), key)


@SUBSCRIPTIONS.add("DELETE /subscriptions/{subscriptionId}", "Revoke a subscription key; the next request with it is refused")
async def revoke_subscription(services: ManagementServices, call: OperatorCall) -> None:
    subscription_id = call.id_of("subscriptionId")
    revoked = await services.store.revoke_subscription(subscription_id, services.clock.now())
    if revoked is None:
        raise NotFound(f"There is no subscription {subscription_id}.")
    if revoked:
        services.people.note(AuditAction.KEY_REVOKED, call.caller, key_ref(subscription_id))


@SIGNING_KEYS.add("GET /signing-keys", "The signing keys with their states")
async def list_signing_keys(services: ManagementServices, _call: OperatorCall) -> Listing[SigningKeyOut]:
    return Listing([SigningKeyOut.of(place) for place in await services.signing_keys.list_places()])


@SIGNING_KEYS.add(
    "POST /signing-keys/rotation",
    "Publish the next signing key; it signs after ten minutes, or at once with `emergency`",
    status=201,
)
async def rotate_signing_keys(services: ManagementServices, call: OperatorCall, body: KeyRotation) -> RotatedKeysOut:
    kid = await services.signing_keys.rotate(now=body.emergency)
    emergency = "yes" if body.emergency else "no"
    services.people.note(AuditAction.SIGNING_KEYS_ROTATED, call.caller, f"signing key:{kid}", emergency=emergency)
    return RotatedKeysOut(kid, tuple(SigningKeyOut.of(place) for place in await services.signing_keys.list_places()))


OPERATIONS = (*SUBSCRIPTIONS, *SIGNING_KEYS)
