"""What the management API sends and takes, in JSON. What is taken is strict: an unknown field is a mistake, not ignored."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from domogate.domain.authorization import Session
from domogate.domain.people import Client, Grant, GrantType, Standing, Subscription, User
from domogate.domain.plants import Member, Plant, PlantStatus, PlantType
from domogate.services.people import InvitedAs, IssuedLink
from domogate.wire import Shown, moment, moment_or_none


class Taken(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Base of what is taken."""


# --- users


class ShownUser(Shown, frozen=True):
    id: str
    email: str
    name: str
    active: bool
    standing: Standing
    operator: bool
    second_factor: bool


def show_user(user: User) -> ShownUser:
    return ShownUser(
        user.id, user.email, user.name, user.active, user.standing, user.operator, second_factor=user.totp_secret is not None
    )


class ShownLink(Shown, frozen=True):
    """A one-time link. `url` is null when it was mailed: then only its receiver sees it."""

    url: str | None
    mailed: bool
    expires_at: datetime


def show_link(link: IssuedLink) -> ShownLink:
    return ShownLink(link.url, link.mailed, moment(link.expires_at))


class NewUser(Taken, frozen=True):
    email: str
    name: str = ""
    operator: bool = False
    show_link: bool = False
    """Have the link in the answer although there is a mail server."""


class CreatedUser(Shown, frozen=True):
    user: ShownUser
    link: ShownLink


class UserChange(Taken, frozen=True, omit_defaults=True):
    name: str | UnsetType = UNSET
    standing: Standing | UnsetType = UNSET
    operator: bool | UnsetType = UNSET


class LinkWish(Taken, frozen=True):
    show_link: bool = False


class ShownSession(Shown, frozen=True):
    id: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    address: str
    agent: str
    factors: tuple[str, ...]


def show_session(session: Session) -> ShownSession:
    at = (moment(session.created_at), moment(session.seen_at), moment(session.expires_at))
    return ShownSession(session.id, *at, session.address, session.agent, session.factors)


class ShownGrant(Shown, frozen=True):
    """That the user let a client in."""

    id: str
    client_id: str
    scopes: tuple[str, ...]
    flow: GrantType
    created_at: datetime


def show_grant(grant: Grant) -> ShownGrant:
    return ShownGrant(grant.id, grant.client_id, grant.scopes, grant.flow, moment(grant.created_at))


# --- clients


class ShownClient(Shown, frozen=True):
    id: str
    name: str
    confidential: bool
    redirect_uris: tuple[str, ...]
    post_logout_redirect_uris: tuple[str, ...]
    origins: tuple[str, ...]
    grants: tuple[GrantType, ...]
    scopes: tuple[str, ...]
    access_token_everywhere: bool
    pkce_exempt: bool


def show_client(client: Client) -> ShownClient:
    return ShownClient(
        id=client.id,
        name=client.name,
        confidential=client.confidential,
        redirect_uris=client.redirect_uris,
        post_logout_redirect_uris=client.post_logout_redirect_uris,
        origins=client.origins,
        grants=client.grants,
        scopes=client.scopes,
        access_token_everywhere=client.access_token_everywhere,
        pkce_exempt=client.pkce_exempt,
    )


class NewClient(Taken, frozen=True):
    """`confidential`: it runs where it can keep a secret; a browser or a phone is no such place."""

    id: str
    name: str
    confidential: bool
    redirect_uris: tuple[str, ...] = ()
    post_logout_redirect_uris: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    grants: tuple[GrantType, ...] = (GrantType.AUTHORIZATION_CODE, GrantType.REFRESH_TOKEN)
    scopes: tuple[str, ...] = ()
    access_token_everywhere: bool = False
    pkce_exempt: bool = False


class CreatedClient(Shown, frozen=True):
    """The secret is shown this one time; a public client has none."""

    client: ShownClient
    secret: str | None


class ClientChange(Taken, frozen=True, omit_defaults=True):
    name: str | UnsetType = UNSET
    redirect_uris: tuple[str, ...] | UnsetType = UNSET
    post_logout_redirect_uris: tuple[str, ...] | UnsetType = UNSET
    origins: tuple[str, ...] | UnsetType = UNSET
    grants: tuple[GrantType, ...] | UnsetType = UNSET
    scopes: tuple[str, ...] | UnsetType = UNSET
    access_token_everywhere: bool | UnsetType = UNSET
    pkce_exempt: bool | UnsetType = UNSET


class ShownSecret(Shown, frozen=True):
    secret: str


# --- plants


class ShownMember(Shown, frozen=True):
    user_id: str
    email: str


class ShownPlant(Shown, frozen=True):
    id: str
    name: str
    type: PlantType
    status: PlantStatus
    removed_at: datetime | None
    country: str | None
    zip_code: str | None
    address: str | None
    emergency_lighting: bool
    owner: ShownMember
    allowed: tuple[ShownMember, ...]
    invited: tuple[str, ...]


def show_plant(plant: Plant) -> ShownPlant:
    return ShownPlant(
        id=plant.id,
        name=plant.name,
        type=plant.type,
        status=plant.status,
        removed_at=moment_or_none(plant.removed_at),
        country=plant.country,
        zip_code=plant.zip_code,
        address=plant.address,
        emergency_lighting=plant.emergency_lighting,
        owner=_show_member(plant.owner),
        allowed=tuple(map(_show_member, plant.allowed)),
        invited=tuple(invitation.email for invitation in plant.invited),
    )


def _show_member(member: Member) -> ShownMember:
    return ShownMember(member.user_id, member.email)


class PlantChange(Taken, frozen=True):
    status: PlantStatus


class NewInvitation(Taken, frozen=True):
    email: str
    show_link: bool = False


class ShownInvitation(Shown, frozen=True):
    """Who is active is a member at once; others have a link by which they become active."""

    outcome: InvitedAs
    link: ShownLink | None


# --- subscriptions, signing keys, audit


class ShownSubscription(Shown, frozen=True):
    id: str
    name: str
    hint: str
    rate: str | None
    daily_quota: int | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


def show_subscription(subscription: Subscription) -> ShownSubscription:
    return ShownSubscription(
        id=subscription.id,
        name=subscription.name,
        hint=subscription.hint,
        rate=subscription.rate,
        daily_quota=subscription.daily_quota,
        created_at=moment(subscription.created_at),
        expires_at=moment_or_none(subscription.expires_at),
        revoked_at=moment_or_none(subscription.revoked_at),
    )


class NewSubscription(Taken, frozen=True):
    name: Annotated[str, msgspec.Meta(min_length=1)]
    rate: str | None = None
    daily_quota: Annotated[int, msgspec.Meta(ge=1, le=2**53)] | None = None
    expires_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class CreatedSubscription(Shown, frozen=True):
    """The key is shown this one time."""

    subscription: ShownSubscription
    key: str


class ShownSigningKey(Shown, frozen=True):
    """Without anything private; the public part is in the key set of the identity endpoints."""

    kid: str
    algorithm: str
    state: str
    signs_from: datetime
    retired_at: datetime | None


class Rotation(Taken, frozen=True):
    """`emergency`: the new key signs at once and no other is trusted any more, so every token in the field is refused."""

    emergency: bool = False


class RotatedKeys(Shown, frozen=True):
    kid: str
    keys: tuple[ShownSigningKey, ...]


class ShownAuditRecord(Shown, frozen=True):
    """`who` is a pseudonym, a client, or the command line."""

    number: int
    at: datetime
    action: str
    who: str
    what: str
    result: str
    address: str
    detail: dict[str, str]
    hash: str
