"""Checks the claims in the payload of a token whose signature is verified."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from domogate.domain.faults import TokenRefused

_NumericDate = Annotated[float, msgspec.Meta(ge=0, lt=2**53)]
_EXPIRED = "The token has expired: get a new one."
_BLANK: tuple[Any, ...] = ("", [], {})


class CommonClaims(msgspec.Struct, frozen=True):
    """The claims that every token must have, with their types."""

    sub: str
    aud: str | tuple[str, ...]
    iat: _NumericDate
    exp: _NumericDate


C = TypeVar("C", bound=CommonClaims)


class ClaimRules(msgspec.Struct, frozen=True):
    """The claims that a token must have, and the time at which it is checked."""

    now: float
    leeway: float
    """The number of seconds by which the clock of the issuer may be ahead. It does not make a token valid for longer."""
    required: Mapping[str, str | None]
    """The names of the claims. If the value is not None, the claim must have this value, or must be a list with this value."""
    blank: frozenset[str] = frozenset()
    """The required claims that may be empty."""

    def allows(self, name: str, value: Any) -> bool:
        if name not in self.required:
            return True
        if name not in self.blank and value in _BLANK:
            return False
        expected = self.required[name]
        return expected is None or value == expected or (isinstance(value, list) and expected in value)


def check_claims(
    payload: bytes, rules: ClaimRules, expected: type[C], explain: Callable[[str], str]
) -> tuple[dict[str, Any], C]:
    """Check the common claims and the types of the `expected` claims. Returns all claims.

    Raises TokenRefused if a claim is missing or wrong. `explain` returns the message for a wrong claim. Its argument is the
    name of the claim.
    """
    try:
        claims: Any = json.loads(payload)
        if not isinstance(claims, dict):
            raise TokenRefused("The token's payload is not a JSON object.")
        _check(claims, rules, explain)
        typed = msgspec.convert(claims, expected)
    except (ValueError, RecursionError):
        raise TokenRefused("The token's claims are incomplete, or have wrong types.") from None
    if typed.exp <= rules.now:
        raise TokenRefused(_EXPIRED)
    return claims, typed


def _check(claims: dict[str, Any], rules: ClaimRules, explain: Callable[[str], str]) -> None:
    if missing := [name for name in sorted(rules.required) if claims.get(name) is None]:
        raise TokenRefused(f"The token's claim {','.join(missing)} is missing.")
    for name, value in claims.items():
        has_type = _TYPES.get(name)
        if has_type is not None and not has_type(value):
            raise TokenRefused(explain(name))
        if name == "exp" and value <= rules.now:
            raise TokenRefused(_EXPIRED)
        is_early = name in ("iat", "nbf") and value > math.floor(rules.now) + math.ceil(rules.leeway)
        if is_early or not rules.allows(name, value):
            raise TokenRefused(explain(name))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_audience(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _is_time(value: Any) -> bool:
    """Return whether the value is a finite number: every comparison with NaN is false, so such a token would never expire."""
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)))


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("iss", "sub", "jti"), _is_text),
    **dict.fromkeys(("exp", "iat", "nbf"), _is_time),
    "aud": _is_audience,
}
"""The types of the claims of RFC 7519 §4.1."""
