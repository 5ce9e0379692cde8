"""Reads `id_token_hint`: an id token of this gateway that identifies a person. An expired token is also accepted."""

import json
from typing import Any

import msgspec

from domogate.domain.ids import DASHED_UUID, Id
from domogate.ports import Signer

_ALGORITHMS = ["ES256", "RS256"]
_MAX_HINT = 8_192


class Hint(msgspec.Struct, frozen=True):
    """The user and the client of an id token."""

    user_id: Id
    client_id: str


class IdTokenHints:
    """Reads `id_token_hint` (OpenID Connect Core §3.1.2.1, RP-Initiated Logout §2)."""

    def __init__(self, signer: Signer, issuer: str) -> None:
        self._signer = signer
        self._issuer = issuer

    async def verify(self, unverified_token: str) -> Hint | None:
        """Return the user and client of the id token.

        Return None if the text is not an id token of this gateway, or if the gateway no longer publishes the key that signed
        the token.
        """
        if len(unverified_token) > _MAX_HINT or not unverified_token.isascii() or unverified_token.count(".") != 2:
            return None
        # Imported here, because commands import this module and do not read hints.
        from joserfc import jws
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        keys = KeySet.import_key_set({"keys": (await self._signer.jwks())["keys"]})
        try:
            signed = jws.deserialize_compact(unverified_token, keys, algorithms=_ALGORITHMS)
            claims: Any = json.loads(signed.payload or b"")
        except (JoseError, ValueError, TypeError, RecursionError):  # TypeError: `crit` in the header is not a list of texts
            return None
        header = signed.headers()
        # An access token has another typ (RFC 8725 §3.11); only an id token has the client as audience.
        if str(header.get("typ")).upper() != "JWT" or "kid" not in header or not isinstance(claims, dict):
            return None
        subject, audience = claims.get("sub"), claims.get("aud")
        if claims.get("iss") != self._issuer or not isinstance(subject, str) or not isinstance(audience, str):
            return None
        user_id = DASHED_UUID.parse_id(subject)
        return None if user_id is None else Hint(user_id, audience)
