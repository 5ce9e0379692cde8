"""Profiles of external issuers: how their tokens are read and checked (docs/external-issuers.md)."""

from collections.abc import Mapping
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any

import msgspec

from domogate.common.urls import split_url
from domogate.domain.people import DEVELOPER_SCOPE, HOME_SCOPE, MANAGE_SCOPE, Scope, TokenKind

# Algorithms and the kinds of keys that they need (RFC 7518 §3.1, RFC 8037 §3.1). Symmetric algorithms and "none" are not
# allowed.
ALGORITHMS: Mapping[str, tuple[str, str | None]] = MappingProxyType(
    {"ES256": ("EC", "P-256"), "RS256": ("RSA", None), "PS256": ("RSA", None), "EdDSA": ("OKP", "Ed25519")}
)

GRANTABLE = frozenset((*Scope, HOME_SCOPE, DEVELOPER_SCOPE, MANAGE_SCOPE))


class TokenMark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The conditions that identify a kind of token. All given conditions must hold; at least one must be given."""

    typ: tuple[str, ...] = ()
    """The header `typ` must be one of these words, in upper or lower case, with or without "application/".

    The empty text "" means a token without `typ`.
    """
    claims: dict[str, tuple[str, ...]] = {}
    """Each of these claims must have one of the given values."""
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (self.typ or self.claims or self.present or self.absent):
            raise ValueError("an empty mark would match every token; give typ, claims, present or absent")

    def matches(self, typ: str | None, claims: Mapping[str, Any]) -> bool:
        said = (typ or "").lower().removeprefix("application/")
        return (
            (not self.typ or said in (it.lower() for it in self.typ))
            and all(claims.get(name) in values for name, values in self.claims.items())
            and all(claims.get(name) is not None for name in self.present)
            and all(claims.get(name) is None for name in self.absent)
        )


class Preset(msgspec.Struct, frozen=True):
    """The token format of a product, such as Microsoft Entra."""

    marks: Mapping[TokenKind, TokenMark]
    scope_claims: tuple[str, ...] = ("scope",)
    client_claims: tuple[str, ...] = ("azp", "client_id")
    email_claim: str = "email"
    email_verified_claim: str = "email_verified"


# A logout token ("events") must not be accepted as an id token (OpenID Connect Back-Channel Logout §2.4).
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "standard": Preset(  # RFC 9068 §2.1 and §2.2, OpenID Connect Core §2
            {
                TokenKind.ACCESS: TokenMark(typ=("at+jwt",)),
                TokenKind.ID: TokenMark(typ=("JWT", ""), absent=("client_id", "events")),
            }
        ),
        "keycloak": Preset(
            {
                TokenKind.ACCESS: TokenMark(claims={"typ": ("Bearer",)}),
                TokenKind.ID: TokenMark(claims={"typ": ("ID",)}, absent=("events",)),
            },
            scope_claims=("scope", "realm_access.roles"),
        ),
        "entra": Preset(  # tokens of version 2.0
            {
                TokenKind.ACCESS: TokenMark(claims={"ver": ("2.0",)}, present=("scp", "azp")),
                TokenKind.ID: TokenMark(claims={"ver": ("2.0",)}, absent=("scp", "azpacr", "events")),
            },
            scope_claims=("scp", "roles"),
            client_claims=("azp",),
            email_verified_claim="xms_edov",
        ),
    }
)


class IssuerProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An accepted issuer and the format of its tokens. Raises ValueError for wrong or contradictory values."""

    url: str
    """The claim `iss` of its tokens must be exactly this text."""
    preset: str = "standard"
    metadata_url: str | None = None
    """The URL of the issuer's metadata. None means {url}/.well-known/openid-configuration."""
    algorithms: tuple[str, ...] = ("ES256", "RS256", "PS256")
    audiences: tuple[str, ...] = ()
    """An access token must name at least one of these audiences. If there are no audiences, access tokens are not accepted."""
    clients: dict[str, str] = {}
    """Maps client ids of the issuer to ids of our clients. An id token must be for one of these clients."""
    any_client: str | None = None
    """Our client for access tokens of all clients that are not in `clients`. If None, such tokens are refused."""
    access_mark: TokenMark | None = None
    id_mark: TokenMark | None = None
    client_claims: tuple[str, ...] | None = None
    scope_claims: tuple[str, ...] | None = None
    """Names of claims that hold scopes or roles, as text or as a list. `a.b` is the field `b` in the claim `a`."""
    scopes: dict[str, tuple[str, ...]] = {}
    """Maps scopes or roles of the issuer to our scopes. A word that is already a scope of the families needs no entry."""
    default_scopes: tuple[str, ...] = ()
    """The scopes of a token that has none of the scope claims. Most id tokens have no scope claim."""
    email_claim: str | None = None
    email_verified_claim: str | None = None
    trust_email: bool = False
    """Accept an e-mail address even if the token does not say that the address was verified."""
    leeway: float = 30.0
    """The number of seconds by which the issuer's clock may be ahead. The leeway does not make a token valid for longer."""
    max_lifetime: float = 86_400.0
    """In seconds. A token with a longer lifetime is refused, because the issuer cannot revoke it."""
    keys_max_age: float = 3600.0
    """In seconds. Older keys are fetched again."""

    def __post_init__(self) -> None:
        if problem := find_problem_of_url(self.url) or ("it has a query" if "?" in self.url else None):
            raise ValueError(f"the issuer {self.url!r} cannot be used: {problem}")
        if self.metadata_url is not None and (problem := find_problem_of_url(self.metadata_url)):
            raise ValueError(f"metadata_url {self.metadata_url!r} cannot be used: {problem}")
        if self.preset not in PRESETS:
            raise ValueError(f"there is no preset {self.preset!r}, choose one of {', '.join(PRESETS)}")
        if not self.algorithms or not ALGORITHMS.keys() >= set(self.algorithms):
            raise ValueError(f"algorithms must be some of {', '.join(ALGORITHMS)}")
        if not self.audiences and not self.clients:
            raise ValueError("give audiences (for access tokens) or clients (for id tokens); otherwise no token is accepted")
        if self.audiences and not self.clients and self.any_client is None:
            raise ValueError("access tokens must belong to a client here: give clients or any_client")
        granted = {scope for scopes in self.scopes.values() for scope in scopes} | set(self.default_scopes)
        if unknown := sorted(granted - GRANTABLE):
            raise ValueError(f"there is no scope {unknown[0]!r} here, choose some of {', '.join(sorted(GRANTABLE))}")
        if not (0 <= self.leeway <= 600 and self.max_lifetime > 0 and 60 <= self.keys_max_age <= 86_400):
            raise ValueError("leeway is 0 to 600 s, max_lifetime more than 0, keys_max_age 60 s to a day")

    @property
    def _preset(self) -> Preset:
        return PRESETS[self.preset]

    @property
    def metadata(self) -> str:
        return self.metadata_url or f"{self.url.removesuffix('/')}/.well-known/openid-configuration"

    def find_kind(self, typ: str | None, claims: Mapping[str, Any]) -> TokenKind | None:
        """Return the kind of the token: access token or id token.

        Each of these two kinds has a mark (`TokenMark`), by which its tokens are recognised. Return None if the token has
        neither mark or both marks.
        """
        given = {TokenKind.ACCESS: self.access_mark, TokenKind.ID: self.id_mark}
        matching = [kind for kind, mark in self._preset.marks.items() if (given[kind] or mark).matches(typ, claims)]
        return matching[0] if len(matching) == 1 else None

    def find_client(self, claims: Mapping[str, Any]) -> str | None:
        """Return the client id that the issuer wrote into one of the client claims. Return None if no such claim is a text.

        The claim `aud` is not used here: in an access token it names an API, not the client.
        """
        names = self._preset.client_claims if self.client_claims is None else self.client_claims
        return next((claims[name] for name in names if isinstance(claims.get(name), str)), None)

    def find_email(self, claims: Mapping[str, Any]) -> str | None:
        """Return the e-mail address of the token. Return None if the token has no valid address.

        Also return None if the issuer does not say that the address was verified, unless `trust_email` is set.
        """
        email = claims.get(self.email_claim or self._preset.email_claim)
        verified = claims.get(self.email_verified_claim or self._preset.email_verified_claim)
        trusted = self.trust_email or verified in (True, 1, "true", "1")  # some products write booleans like this
        return email if isinstance(email, str) and "@" in email and email.isprintable() and trusted else None

    def map_scopes(self, claims: Mapping[str, Any]) -> frozenset[str]:
        names = self._preset.scope_claims if self.scope_claims is None else self.scope_claims
        found = [words for name in names if (words := _words(_find_claim(claims, name))) is not None]
        if not found:
            return frozenset(self.default_scopes)
        said = {word for words in found for word in words}
        mapped = {scope for word in said for scope in self.scopes.get(word, ())}
        return frozenset(mapped | {word for word in said if word not in self.scopes and word in frozenset(Scope)})


def find_problem_of_url(url: str) -> str | None:
    """Return the reason why the gateway must not fetch from this URL, or None if it may fetch.

    The URL must use https, except for a server on this machine.
    """
    parts = split_url(url)
    if parts is None:
        return "it is not a URL"
    host = parts.hostname
    if not host or parts.fragment or parts.username is not None or not url.isprintable() or " " in url:
        return "a URL with a host, and without user and fragment, is expected"
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)):
        return None
    return "https is expected; http is allowed for this machine only"


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _find_claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return the claim with this name.

    If the token has no such claim, a name with dots is the path to a value inside a claim.
    """
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _words(value: Any) -> list[str] | None:
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list):
        return [word for word in value if isinstance(word, str)]
    return None
