"""Ways to check credentials: a token of an operator or of a person, or a subscription key and a token."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from domogate.common.http_messages import Request, find_headers
from domogate.domain.faults import KeyRefused, TokenRefused
from domogate.domain.ids import Id
from domogate.domain.people import (
    DEVELOPER_SCOPE,
    HOME_SCOPE,
    MANAGE_SCOPE,
    PAGES_CLIENT,
    GrantType,
    Principal,
    TokenKind,
    User,
)
from domogate.http_api.problems import Problem, bearer_challenge
from domogate.ports import Admission, Audit, Verifier
from domogate.services.audit import AuditAction, AuditResult, note_refusal
from domogate.services.people import Actor
from domogate.services.rights.access import KEY, Caller, authenticate, check_standing, find_token, may_manage, refuse_repeated
from domogate.wire.openapi import KEY_SCHEME

C = TypeVar("C")


class Credentials(ABC, Generic[C]):
    """Base class of the ways to check the credentials of a request."""

    scope: ClassVar[str] = ""
    """The scope that every operation needs; empty if there is no such scope."""
    schemes: Mapping[str, Any] = {}
    """The OpenAPI security schemes. A request needs all of them."""
    errors: Mapping[int, str] = {}
    """The statuses and texts of refusals because of credentials, for every operation that needs credentials."""

    @abstractmethod
    async def check(self, request: Request, operation: str) -> C:
        """Return the caller. Raises Problem or Fault if the credentials are refused.

        `operation` is the name of the operation in the audit log.
        """

    def headers_for(self, _caller: C) -> Sequence[tuple[bytes, bytes]]:
        """Return the headers that every answer to this caller has."""
        return ()

    def note_refusal(self, caller: C, error: Exception, request: Request, operation: str) -> None:
        """Write an audit record, if the refusal is of a kind that is audited. This base class writes no record."""


class Operator(Actor, frozen=True, kw_only=True):
    """An operator, and the IP address that the request came from.

    `caller` has the token, with which an open stream checks the rights again.
    """

    user_id: Id
    caller: Caller


class Users(Protocol):
    async def find_user(self, user_id: Id) -> User | None: ...


def _token_scheme(description: str) -> dict[str, Any]:
    return {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": description}}


async def verify_access_token(verifier: Verifier, request: Request, scope: str, api: str) -> tuple[Principal, bytes]:
    """Return the principal, and the token that was sent.

    The token must be an access token with this scope, and must not come from the implicit flow. Raises Problem or Fault if the
    token is refused. `api` is the name of the API for the message of a refusal.
    """
    unverified_token = read_bearer_token(request, "an access token").encode("latin-1")
    principal = verifier.find_verified(unverified_token) or await verifier.verify(unverified_token)
    if principal.kind is not TokenKind.ACCESS:
        raise _invalid(f"{api} takes an access token, and this is an id token.")
    if principal.flow is GrantType.IMPLICIT:
        raise _invalid(f"{api} does not take tokens of the grant type implicit.")
    if scope not in principal.scopes:
        detail = f"The token lacks the scope {scope}; the client must ask for it and be registered with it."
        raise Problem(403, detail, {"www-authenticate": bearer_challenge("insufficient_scope", scope)})
    return principal, unverified_token


class OperatorToken(Credentials[Operator]):
    """Checks an access token with the management scope. Its user must be an operator at the time of the request."""

    scope = MANAGE_SCOPE
    schemes = _token_scheme(f"An access token with the scope {MANAGE_SCOPE}")
    errors = {
        401: f"The access token is missing or not valid; it needs the scope {MANAGE_SCOPE}",
        403: f"The token lacks the scope {MANAGE_SCOPE}, or its user is not an operator",
    }

    def __init__(self, verifier: Verifier, users: Users, audit: Audit) -> None:
        self._verifier = verifier
        self._users = users
        self._audit = audit

    async def check(self, request: Request, operation: str) -> Operator:
        principal, unverified_token = await verify_access_token(self._verifier, request, MANAGE_SCOPE, "The management API")
        user = await self._users.find_user(principal.user_id)
        if user is None:
            raise _invalid("The token's user does not exist here.")
        caller = Caller(principal, None, None, unverified_token)
        operator = Operator(user_id=user.id, address=request.address, caller=caller)
        if not may_manage(user):
            what = f"management:{operation}"
            self._audit.note(AuditAction.REFUSAL, who=user.id, what=what, result=AuditResult.REFUSED, address=operator.address)
            raise Problem(403, "The token's user is not an operator; an operator can make this user an operator.")
        return operator


class Requests(Protocol):
    """Counts the requests of each person, and limits their number."""

    def admit(self, user_id: Id) -> None:
        """Count a request of this person. Raises TooManyRequests if the person has sent too many requests."""
        ...


def _person_errors(scope: str) -> dict[int, str]:
    return {
        401: f"The access token is missing or not valid; it needs the scope {scope}",
        403: f"The token lacks the scope {scope}, or the person has no rights on this",
        429: "The person sends too many requests; see Retry-After",
        469: "The person must renew their password",
        470: "The person must accept the terms and conditions",
    }


class PersonToken(Credentials[Principal]):
    """Checks an access token with the scope of the API.

    No subscription key is needed, so there is no rate of a key. Instead, the number of requests of each person is limited.
    """

    api: ClassVar[str]
    """The name of the API, as it is written at the beginning of a sentence: "The home API"."""
    any_standing: ClassVar[frozenset[str]] = frozenset()
    """The names of the operations that also answer a person who must renew the password or accept the terms."""

    def __init__(self, verifier: Verifier, requests: Requests, audit: Audit) -> None:
        self._verifier = verifier
        self._requests = requests
        self._audit = audit

    async def check(self, request: Request, operation: str) -> Principal:
        principal, _ = await verify_access_token(self._verifier, request, self.scope, self.api)
        self._requests.admit(principal.user_id)
        if operation not in self.any_standing:
            check_standing(principal.standing)
        return principal

    def note_refusal(self, caller: Principal, error: Exception, request: Request, operation: str) -> None:
        note_refusal(self._audit, caller, operation, error, request.address)


class HomeToken(PersonToken):
    scope, api = HOME_SCOPE, "The home API"
    schemes = _token_scheme(f"An access token with the scope {HOME_SCOPE}")
    errors = _person_errors(HOME_SCOPE)
    any_standing = frozenset({"getMe"})


class DeveloperToken(PersonToken):
    scope, api = DEVELOPER_SCOPE, "The developer API"
    schemes = _token_scheme(f"An access token with the scope {DEVELOPER_SCOPE}")
    errors = _person_errors(DEVELOPER_SCOPE)


class KeyAndToken(Credentials[Caller]):
    """Checks a subscription key, and an access token or id token, as the families do. The gateway's own pages need no key."""

    schemes = {"key": KEY_SCHEME, **_token_scheme("An access token or an id token")}
    errors = {
        401: "The subscription key or token is missing or not valid, or the token has none of the required scopes",
        429: "The key's rate or daily quota is used up",
        469: "The user must renew their password",
        470: "The user must accept the terms and conditions",
    }

    def __init__(self, admission: Admission, verifier: Verifier, audit: Audit) -> None:
        self._admission = admission
        self._verifier = verifier
        self._audit = audit

    async def check(self, request: Request, _operation: str) -> Caller:
        headers = request.headers
        try:
            return await authenticate(headers, self._admission, self._verifier)
        except KeyRefused:
            own = await self._find_own_pages(headers)
            if own is None:
                raise
            return own

    async def _find_own_pages(self, headers: Sequence[tuple[bytes, bytes]]) -> Caller | None:
        """Return the caller if it is one of the gateway's own pages, which have no subscription key (Decision 0076).

        Otherwise return None.
        """
        found = dict(headers)
        if KEY in found:
            return None
        try:
            refuse_repeated(headers)
            unverified_token = find_token(found)
            principal = self._verifier.find_verified(unverified_token) or await self._verifier.verify(unverified_token)
        except TokenRefused:
            return None
        if principal.client_id != PAGES_CLIENT:
            return None
        check_standing(principal.standing)
        return Caller(principal, None, None, unverified_token)

    def headers_for(self, caller: Caller) -> Sequence[tuple[bytes, bytes]]:
        return () if caller.admitted is None else caller.admitted.headers

    def note_refusal(self, caller: Caller, error: Exception, request: Request, operation: str) -> None:
        note_refusal(self._audit, caller.principal, operation, error, request.address)


def read_bearer_token(request: Request, what: str) -> str:
    """Return the token of the header (RFC 6750 §2.1). Raises Problem if it is missing or malformed.

    Tokens in forms and queries are not accepted.
    """
    sent = [value.decode("latin-1") for value in find_headers(request, b"authorization")]
    if len(sent) > 1:
        raise _missing("The header Authorization occurs more than once.")
    scheme, _, token = (sent[0] if sent else "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise _missing(f"The header Authorization with `Bearer` and {what} is missing.")
    return token.strip(" ")


def _missing(detail: str) -> Problem:
    return Problem(401, detail, {"www-authenticate": bearer_challenge()})


def _invalid(detail: str) -> Problem:
    return Problem(401, detail, {"www-authenticate": bearer_challenge("invalid_token")})
