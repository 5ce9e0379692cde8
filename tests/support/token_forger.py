"""Forges tokens: changes a valid token and signs it again.

The private key comes from the gateway's store. So a test can prove that a correctly signed token with one wrong claim is
refused because of that claim.
"""

import base64
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jwt

from domogate.app import Tools
from domogate.ports import SigningKey
from support.gateway import Gateway
from support.store_access import run_with_tools


def encode(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def claims_of(token: str) -> dict[str, Any]:
    claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return claims


@dataclass
class TokenForger:
    """Signs changed tokens of one gateway."""

    gateway: Gateway

    @cached_property
    def _key(self) -> SigningKey:
        async def newest(tools: Tools) -> SigningKey:
            return [key for key in await tools.store.list_signing_keys() if key.retired_at is None][-1]

        return run_with_tools(self.gateway, newest)

    @cached_property
    def public_key(self) -> dict[str, Any]:
        published = self.gateway.api.http.get(f"{self.gateway.auth_url}/jwks").json()["keys"]
        key: dict[str, Any] = next(key for key in published if key["kid"] == self._key.kid)
        return key

    def resign(self, token: str, claims: dict[str, Any] | None = None, header: dict[str, Any] | None = None) -> str:
        """The token with other claims or header members, signed by the gateway's key. None removes one."""
        head = {**jwt.get_unverified_header(token), **(header or {})}
        body = {**claims_of(token), **(claims or {})}
        # The raw algorithm of PyJWT signs unusual headers and claims unchanged.
        algorithm = jwt.get_algorithm_by_name(jwt.get_unverified_header(token)["alg"])
        parts = [encode({k: v for k, v in part.items() if v is not None}) for part in (head, body)]
        signed = ".".join(parts)
        key = algorithm.from_jwk(self._key.jwk)
        return f"{signed}.{base64.urlsafe_b64encode(algorithm.sign(signed.encode(), key)).rstrip(b'=').decode()}"
