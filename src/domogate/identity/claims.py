"""Checks the claims in the payload of a token whose signature is verified."""

import json
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec
from joserfc.errors import ExpiredTokenError, InvalidClaimError, MissingClaimError
from joserfc.jwt import ClaimsOption, JWTClaimsRegistry

from domogate.domain.faults import TokenRefused

ESSENTIAL: ClaimsOption = {"essential": True}

_NumericDate = Annotated[float, msgspec.Meta(ge=0, lt=2**53)]
_EXPIRED = "The token has expired: get a new one."


class CommonClaims(msgspec.Struct, frozen=True):
    """The claims that every token must have, with their types."""

    sub: str
    aud: str | tuple[str, ...]
    iat: _NumericDate
    exp: _NumericDate


C = TypeVar("C", bound=CommonClaims)


def check_claims(
    payload: bytes, registry: JWTClaimsRegistry, expected: type[C], now: float, explain: Callable[[str], str]
) -> tuple[dict[str, Any], C]:
    """Check the claims against the rules of `registry` and the types of the class `expected`.

    Returns all claims as a dict, and the claims of `expected` as an object of this class. Raises TokenRefused if a claim is
    missing or wrong. `explain` gets the name of a wrong claim and returns the message.
    """
    try:
        claims: Any = json.loads(payload)
        if not isinstance(claims, dict):
            raise TokenRefused("The token's payload is not a JSON object.")
        registry.validate(claims)
        typed = msgspec.convert(claims, expected)
    except ExpiredTokenError:
        raise TokenRefused(_EXPIRED) from None
    except MissingClaimError as error:
        raise TokenRefused(f"The token's claim {error.claim} is missing.") from None
    except InvalidClaimError as error:
        raise TokenRefused(explain(error.claim)) from None
    except (ValueError, RecursionError):
        raise TokenRefused("The token's claims are incomplete, or have wrong types.") from None
    if typed.exp <= now:  # compared without the leeway of the registry
        raise TokenRefused(_EXPIRED)
    return claims, typed
