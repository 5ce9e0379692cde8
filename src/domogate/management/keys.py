"""Subscription keys, signing keys, and the audit log."""

from typing import Annotated

import msgspec

from domogate.domain.audit import AuditRecord
from domogate.http_api.problems import Problem
from domogate.management.operation import Call, Desk, Listing, Operation, Page, SigningKeyPlace, cut, page_of, queried_id
from domogate.management.wire import (
    CreatedSubscription,
    NewSubscription,
    RotatedKeys,
    Rotation,
    ShownAuditRecord,
    ShownSigningKey,
    ShownSubscription,
    show_subscription,
)
from domogate.services.audit.log import AuditAction, key_ref
from domogate.services.people import check_name
from domogate.services.refusals import Invalid, NotFound
from domogate.wire import moment, moment_or_none


class AuditPage(Page, frozen=True, forbid_unknown_fields=True, rename="camel"):
    action: Annotated[str, msgspec.Meta(description="Only entries of this action.")] | None = None
    user_id: Annotated[str, msgspec.Meta(description="Only entries by or about this user.")] | None = None


async def list_subscriptions(desk: Desk, call: Call) -> Listing[ShownSubscription]:
    found, after = page_of(await desk.store.list_subscriptions(), call.query, lambda subscription: subscription.id)
    return Listing([show_subscription(subscription) for subscription in found], after)


async def create_subscription(desk: Desk, call: Call) -> CreatedSubscription:
    new: NewSubscription = call.body
    check_name(new.name)
    now = desk.clock.now()
    expires_at = None if new.expires_at is None else new.expires_at.timestamp()
    if expires_at is not None and expires_at <= now:
        raise Invalid("expiresAt has passed already.")
    try:
        key, subscription = desk.new_subscription(new.name, new.rate, new.daily_quota, expires_at, now)
    except ValueError as error:
        raise Invalid(f"{error}.") from None
    await desk.store.add_subscription(subscription)
    desk.people.note(AuditAction.KEY_ISSUED, call.by, key_ref(subscription.id))
    return CreatedSubscription(show_subscription(subscription), key)


async def revoke_subscription(desk: Desk, call: Call) -> None:
    subscription_id = call.id_of("subscriptionId")
    if not await desk.store.revoke_subscription(subscription_id, desk.clock.now()):
        raise NotFound(f"There is no subscription {subscription_id}.")
    desk.people.note(AuditAction.KEY_REVOKED, call.by, key_ref(subscription_id))


async def list_signing_keys(desk: Desk, _call: Call) -> Listing[ShownSigningKey]:
    return Listing([_show_signing_key(place) for place in await desk.signing_keys.list_places()])


async def rotate_signing_keys(desk: Desk, call: Call) -> RotatedKeys:
    rotation: Rotation = call.body
    kid = await desk.signing_keys.rotate(now=rotation.emergency)
    desk.people.note(
        AuditAction.SIGNING_KEYS_ROTATED, call.by, f"signing key:{kid}", emergency="yes" if rotation.emergency else "no"
    )
    return RotatedKeys(kid, tuple(_show_signing_key(place) for place in await desk.signing_keys.list_places()))


def _show_signing_key(place: SigningKeyPlace) -> ShownSigningKey:
    at = (moment(place.signs_from), moment_or_none(place.retired_at))
    return ShownSigningKey(place.kid, place.algorithm, place.state, *at)


async def list_audit(desk: Desk, call: Call) -> Listing[ShownAuditRecord]:
    query: AuditPage = call.query
    after = query.after or "0"
    if not (after.isascii() and after.isdecimal() and len(after) <= 18):
        raise Problem(400, "The query is not as expected: `after` must be `next` of the page before.")
    user_id = queried_id("userId", query.user_id)
    if user_id is not None and await desk.store.find_user(user_id) is None:
        return Listing([])  # whose pseudonym it was is forgotten with a user
    await desk.audit.flush()
    found = await desk.audit.list(after=int(after), limit=query.limit + 1, action=query.action, user_id=user_id)
    records, following = cut(found, query.limit, lambda record: str(record.number))
    return Listing([_show_audit(record) for record in records], following)


def _show_audit(record: AuditRecord) -> ShownAuditRecord:
    entry = record.entry
    return ShownAuditRecord(
        number=record.number,
        at=moment(entry.at),
        action=entry.action,
        who=entry.who,
        what=entry.what,
        result=entry.result,
        address=entry.address,
        detail=entry.detail,
        hash=record.hash,
    )


OPERATIONS = (
    Operation(
        id="listSubscriptions", tag="subscriptions", summary="Whose subscription keys there are, by id; never the keys",
        method="GET", path="/subscriptions", handler=list_subscriptions, query=Page, answer=Listing[ShownSubscription],
    ),
    Operation(
        id="createSubscription", tag="subscriptions", summary="Issue a subscription key, shown this one time",
        method="POST", path="/subscriptions", handler=create_subscription,
        body=NewSubscription, status=201, answer=CreatedSubscription, errors=frozenset({422}),
    ),
    Operation(
        id="revokeSubscription", tag="subscriptions", summary="Revoke a key: it is refused from the next request on",
        method="DELETE", path="/subscriptions/{subscriptionId}", handler=revoke_subscription,
        status=204, errors=frozenset({404}),
    ),
    Operation(
        id="listSigningKeys", tag="signing keys", summary="The signing keys and their place in the rotation",
        method="GET", path="/signing-keys", handler=list_signing_keys, answer=Listing[ShownSigningKey],
    ),
    Operation(
        id="rotateSigningKeys", tag="signing keys", summary="Publish the next signing key, which signs once others know it",
        method="POST", path="/signing-keys/rotation", handler=rotate_signing_keys,
        body=Rotation, status=201, answer=RotatedKeys,
    ),
    Operation(
        id="listAudit", tag="audit", summary="The audit log, the oldest first",
        method="GET", path="/audit", handler=list_audit, query=AuditPage, answer=Listing[ShownAuditRecord],
    ),
)  # fmt: skip
