"""People, the applications that they authorize, and the rights of these applications."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from domogate.domain.ids import Id


class Standing(StrEnum):
    """Whether the user has to renew the password (status 469) or accept the terms (status 470) on the account page."""

    GOOD = "good"
    PASSWORD_EXPIRED = "password expired"
    TERMS_EXPIRED = "terms expired"
    BOTH_EXPIRED = "password and terms expired"

    @property
    def password_is_due(self) -> bool:
        return self in (Standing.PASSWORD_EXPIRED, Standing.BOTH_EXPIRED)

    @property
    def terms_are_due(self) -> bool:
        return self in (Standing.TERMS_EXPIRED, Standing.BOTH_EXPIRED)


class User(msgspec.Struct, frozen=True):
    """A person. A user is active when a password is set. Invitations become memberships only when the user is active."""

    id: Id
    email: str
    name: str = ""
    password_hash: str | None = None
    standing: Standing = Standing.GOOD
    operator: bool = False
    """True if the user may use the management API."""
    totp_secret: str | None = None
    """The secret of the authenticator app in Base32 (RFC 6238). If it is set, a login needs a second factor."""
    email_verified: bool = False
    """True once the user has used a link that was mailed to this e-mail address (Decision 0029, Decision 0078)."""
    language: str | None = None
    """The language that the person chose for pages and mails. None means that the person chose no language."""
    page_language: str | None = None
    """The language of the pages at the last login."""
    terms_version: str | None = None
    """The version of the terms of use that the person accepted last."""
    has_passkey: bool = False
    """Whether the user has a passkey. The value is computed from the stored passkeys, and is not stored with the user."""

    @property
    def active(self) -> bool:
        return self.password_hash is not None

    @property
    def profile(self) -> dict[str, str]:
        """The claims of the scope `profile` (OpenID Connect Core §5.4). Claims whose value is not known are left out."""
        known = {"name": self.name, "locale": self.language}
        return {claim: value for claim, value in known.items() if value}

    @property
    def mail_language(self) -> str | None:
        """The language of mails to the person. None means the default language of the gateway."""
        return self.language or self.page_language

    @property
    def has_second_factor(self) -> bool:
        """Whether the user has an authenticator app or a passkey, so that a login needs more than the password."""
        return self.totp_secret is not None or self.has_passkey


class ExternalAccount(msgspec.Struct, frozen=True):
    """An account at another issuer, and its user. When the first token of the account is accepted, the account is bound to the
    user with the same e-mail address.
    """

    issuer: str
    subject: str
    user_id: Id
    bound_at: float


class Scope(StrEnum):
    """A scope that an application can get (Spec 5.3; `light.write` and `comfort.write` by Decision 0041).

    The value of each constant is the name of the scope in tokens and in requests.
    """

    PLUG_READ = "plug.read"
    PLUG_WRITE = "plug.write"
    TOPOLOGY_READ = "topology.read"
    SCENE_LAUNCH = "scene.launch"
    SCENE_WRITE = "scene.write"
    LIGHT_READ = "light.read"
    LIGHT_WRITE = "light.write"
    COMFORT_READ = "comfort.read"
    COMFORT_WRITE = "comfort.write"
    AUDIOVIDEO_READ = "audiovideoterminal.read"
    SAFETY_READ = "safety.read"


MANAGE_SCOPE = "gateway.manage"
"""With this scope an application can use the management API for an operator. It does not allow any operation of a family."""


HOME_SCOPE = "home.use"
"""With this scope an application can use the homes of a person as the person does (/home/v1).

For locks, gate openers and cameras, the application also needs the scope `audiovideoterminal.read`.
"""


DEVELOPER_SCOPE = "developer.use"
"""With this scope an application can use the developer API for a person (/developer/v1)."""


class IdentityScope(StrEnum):
    """Scopes of OpenID Connect. They are about the person, not about plants. They do not allow any operation of a family."""

    OPENID = "openid"
    PROFILE = "profile"
    EMAIL = "email"
    OFFLINE_ACCESS = "offline_access"


IDENTITY_SCOPES = frozenset(map(str, IdentityScope))

KNOWN_SCOPES = (*map(str, Scope), *map(str, IdentityScope), HOME_SCOPE, DEVELOPER_SCOPE, MANAGE_SCOPE)
"""All scopes that a client can be registered for, as written on the wire."""


PAGES_CLIENT = "domogate-pages"
"""The id of the client that the gateway's own pages use. Nobody can register, change or delete it (Decision 0076)."""


class GrantType(StrEnum):
    AUTHORIZATION_CODE = "authorization_code"
    REFRESH_TOKEN = "refresh_token"
    IMPLICIT = "implicit"


class Client(msgspec.Struct, frozen=True):
    """A registered application.

    If `access_token_everywhere` is true, every family accepts its access tokens (Decision 0004).
    """

    id: str
    name: str
    secret_hash: str | None = None
    redirect_uris: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    grants: tuple[GrantType, ...] = (GrantType.AUTHORIZATION_CODE, GrantType.REFRESH_TOKEN)
    scopes: tuple[str, ...] = ()
    access_token_everywhere: bool = False
    pkce_exempt: bool = False
    """True for an old confidential client that does not support PKCE."""
    post_logout_redirect_uris: tuple[str, ...] = ()

    @property
    def confidential(self) -> bool:
        return self.secret_hash is not None

    def may_have(self, scope: str) -> bool:
        """Whether the client may have this scope.

        The scopes of OpenID Connect need no registration. But `offline_access` is only for clients that may use refresh tokens.
        """
        if scope == IdentityScope.OFFLINE_ACCESS:
            return GrantType.REFRESH_TOKEN in self.grants
        return scope in IDENTITY_SCOPES or scope in self.scopes

    def limit_scopes(self, scopes: Iterable[str]) -> tuple[str, ...]:
        """Return the given scopes that the client may have now.

        An operator can take scopes away from a client after they were granted (Decision 0055).
        """
        return tuple([scope for scope in scopes if self.may_have(scope)])


class Grant(msgspec.Struct, frozen=True):
    """A user's authorization of a client for some scopes.

    Every token of the gateway belongs to a grant, and is invalid when the grant has ended.
    """

    id: Id
    user_id: Id
    client_id: str
    scopes: tuple[str, ...]
    flow: GrantType = GrantType.AUTHORIZATION_CODE
    created_at: float = 0.0
    revoked_at: float | None = None
    auth_time: float | None = None
    """The time at which the user logged in (OpenID Connect Core §2). None if the grant was made without a login."""
    factors: tuple[str, ...] = ()
    """The authentication methods (RFC 8176), for the claim `amr`."""
    plants: frozenset[Id] | None = None
    """The plants that the user chose.

    None means all plants of the user, including plants that the user gets later (Decision 0079).
    """


class TokenKind(StrEnum):
    ACCESS = "access"
    ID = "id"


class _TokenContent(msgspec.Struct, frozen=True):
    user_id: Id
    client_id: str
    grant_id: Id
    kind: TokenKind
    scopes: frozenset[str]
    expires_at: float


class Claims(_TokenContent, frozen=True):
    """The claims of a token whose signature, times, issuer and audience were checked.

    The grant of the token is not checked yet.
    """


class Principal(_TokenContent, frozen=True):
    """A verified user, the client that acts for the user, and the scopes of this client."""

    flow: GrantType
    access_token_everywhere: bool
    standing: Standing
    plants: frozenset[Id] | None = None
    """The plants of the grant. None means all plants of the user."""


MOST_DAILY_QUOTA: Final = 2**53
"""The largest daily quota. JSON readers that use floating-point numbers read integers exactly up to this number."""


class Subscription(msgspec.Struct, frozen=True):
    """A subscription key, stored as its SHA-256. `hint` is the beginning of the key, so that people can recognise it."""

    id: Id
    name: str
    key_hash: str
    hint: str
    rate: str | None = None
    """The permitted rate, for example '10/second' or '600/minute'. None means no limit."""
    daily_quota: int | None = None
    created_at: float = 0.0
    expires_at: float | None = None
    revoked_at: float | None = None


def oldest_first(subscriptions: Iterable[Subscription]) -> list[Subscription]:
    return sorted(subscriptions, key=lambda subscription: (subscription.created_at, subscription.name, subscription.id))
