"""The credentials of a request: a subscription key and a token (Spec 5, Decision 0005)."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

import msgspec

from domogate.domain.faults import KeyRefused, TokenRefused
from domogate.domain.people import Principal
from domogate.ports import Admission, Admitted, Verifier
from domogate.services.rights.access import check_standing

KEY, AUTHORIZATION = b"ocp-apim-subscription-key", b"authorization"


class Caller(msgspec.Struct, frozen=True):
    """A verified caller, with the credentials for a later check."""

    principal: Principal
    admitted: Admitted
    key: bytes
    unverified_token: bytes


async def let_in(headers: Sequence[tuple[bytes, bytes]], admission: Admission, verifier: Verifier) -> Caller:
    """Check the key, then the token. Raises KeyRefused, TooManyRequests, TokenRefused, PasswordToRenew, TermsToAccept."""
    found = dict(headers)
    if len(found) != len(headers):
        refuse_doubled(headers)
    key = found.get(KEY)
    if key is None:
        raise KeyRefused
    admitted = admission.admit_known(key) or await admission.admit(key)
    unverified_token = find_token(found)
    principal = verifier.find_verified(unverified_token) or await verifier.verify(unverified_token)
    check_standing(principal.standing)
    return Caller(principal, admitted, key, unverified_token)


def find_token(headers: Mapping[bytes, bytes]) -> bytes:
    return read_token(headers.get(AUTHORIZATION))


def refuse_doubled(headers: Sequence[tuple[bytes, bytes]]) -> None:
    names = [name for name, _ in headers]
    if names.count(KEY) > 1:
        raise KeyRefused
    if names.count(AUTHORIZATION) > 1:
        raise TokenRefused("the header Authorization must not be repeated")


def read_token(authorization: bytes | None) -> bytes:
    """`Bearer TOKEN` in any case, or the bare token (Decision 0005); not verified yet."""
    if not authorization:
        _refuse_no_token()
    if authorization[:7].lower() == b"bearer ":
        authorization = authorization[7:].strip(b" ")
    elif authorization.lower() == b"bearer":
        authorization = b""
    if not authorization:
        _refuse_no_token()
    return authorization


def _refuse_no_token() -> NoReturn:
    raise TokenRefused("the header Authorization with a token is missing", given=False)
