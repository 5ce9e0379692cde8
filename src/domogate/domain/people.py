"""People, the applications they let in, and what those may do."""

from enum import StrEnum

import msgspec

from domogate.domain.ids import Id


class Standing(StrEnum):
    """What the companion application still wants of a user (469, 470)."""

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
    """A person. Active once a password is set; only then do invitations become memberships."""

    id: Id
    email: str
    name: str = ""
    password_hash: str | None = None
    standing: Standing = Standing.GOOD
    operator: bool = False
    """May use the management API."""
    totp_secret: str | None = None
    """Base32; a second factor is asked for when it is there (RFC 6238)."""
    email_verified: bool = False
    """They set a password by a link that was sent to it (Decision 0029)."""

    @property
    def active(self) -> bool:
        return self.password_hash is not None


class Scope(StrEnum):
    """What an application may be let in for (Spec 5.3; `light.write` and `comfort.write` by Decision 0041).

    Members are the words on the wire.
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
"""Opens the management API, to operators only; no operation of a family."""


class IdentityScope(StrEnum):
    """Scopes of OpenID Connect: about the person, not about a plant. They open no operation of a family."""

    OPENID = "openid"
    PROFILE = "profile"
    EMAIL = "email"
    OFFLINE_ACCESS = "offline_access"


KNOWN_SCOPES = (*map(str, Scope), *map(str, IdentityScope), MANAGE_SCOPE)
"""Every scope that a client can be registered for, as written on the wire."""


class GrantType(StrEnum):
    AUTHORIZATION_CODE = "authorization_code"
    REFRESH_TOKEN = "refresh_token"
    IMPLICIT = "implicit"


class Client(msgspec.Struct, frozen=True):
    """A registered application. `access_token_everywhere` is the one exception to Spec 5's token kinds (Decision 0004)."""

    id: str
    name: str
    secret_hash: str | None = None
    redirect_uris: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    grants: tuple[GrantType, ...] = (GrantType.AUTHORIZATION_CODE, GrantType.REFRESH_TOKEN)
    scopes: tuple[str, ...] = ()
    access_token_everywhere: bool = False
    pkce_exempt: bool = False
    """A confidential client of the past that knows no PKCE."""
    post_logout_redirect_uris: tuple[str, ...] = ()

    @property
    def confidential(self) -> bool:
        return self.secret_hash is not None


class Grant(msgspec.Struct, frozen=True):
    """That a user let a client in, for some scopes. Every token belongs to one; revoking it ends them all."""

    id: Id
    user_id: Id
    client_id: str
    scopes: tuple[str, ...]
    flow: GrantType = GrantType.AUTHORIZATION_CODE
    created_at: float = 0.0
    revoked_at: float | None = None
    auth_time: float | None = None
    """When the person had proved who they are (OpenID Connect Core §2)."""
    factors: tuple[str, ...] = ()
    """How they had proved it, in the words of RFC 8176: what `amr` says."""


class TokenKind(StrEnum):
    ACCESS = "access"
    ID = "id"


class Claims(msgspec.Struct, frozen=True):
    """What a token says, its signature, times, issuer and audience proven; whether its grant still lives is not yet."""

    kind: TokenKind
    user_id: Id
    client_id: str
    grant_id: Id
    scopes: frozenset[str]
    expires_at: float


class Principal(msgspec.Struct, frozen=True):
    """A verified user, the client acting for them, and what it may do."""

    user_id: Id
    client_id: str
    grant_id: Id
    kind: TokenKind
    scopes: frozenset[str]
    expires_at: float
    flow: GrantType
    access_token_everywhere: bool
    standing: Standing


class Subscription(msgspec.Struct, frozen=True):
    """A caller's subscription key, kept as the SHA-256 of the key. `hint` is its first characters, to recognise it by."""

    id: Id
    name: str
    key_hash: str
    hint: str
    rate: str | None = None
    """As '10/second' or '600/minute'; None is no limit."""
    daily_quota: int | None = None
    created_at: float = 0.0
    expires_at: float | None = None
    revoked_at: float | None = None
