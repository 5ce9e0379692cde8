"""An authenticator in software: ES256 keys, and attestation "none". Each option breaks one rule of WebAuthn."""

import hashlib
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

ORIGIN = "https://gateway.example"

_PRESENT, _VERIFIED, _WITH_KEY = 0x01, 0x04, 0x40
_NO_MODEL = bytes(16)


def encode(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")


def decode(text: str) -> bytes:
    return urlsafe_b64decode(f"{text}===")


class Authenticator:
    """A device with one passkey. `count`: of signatures; 0 for a device that does not count."""

    def __init__(self, origin: str = ORIGIN, *, count: int = 0) -> None:
        self.origin = origin
        self.count = count
        self.credential_id = secrets.token_bytes(32)
        self.user_handle = b""
        self.rp_id = ""
        self._key = ec.generate_private_key(ec.SECP256R1())

    def create(self, options: dict[str, Any], **changed: Any) -> str:
        """The answer to `navigator.credentials.create()`."""
        self.user_handle = decode(options["user"]["id"])
        self.rp_id = options["rp"]["id"]
        numbers = self._key.public_key().public_numbers()
        point = {-2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}
        key = cbor2.dumps({1: 2, 3: -7, -1: 1, **point})
        attested = _NO_MODEL + len(self.credential_id).to_bytes(2) + self.credential_id + key
        data = self._authenticator_data(_WITH_KEY, **changed) + attested
        response = {
            "clientDataJSON": encode(self._client_data("webauthn.create", options, **changed)),
            "attestationObject": encode(cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})),
        }
        return self._answer(response)

    def get(self, options: dict[str, Any], **changed: Any) -> str:
        """The answer to `navigator.credentials.get()`."""
        self.count += 1 if self.count else 0
        data = self._authenticator_data(0, **changed)
        client_data = self._client_data("webauthn.get", options, **changed)
        signature = self._key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(hashes.SHA256()))
        response = {
            "clientDataJSON": encode(client_data),
            "authenticatorData": encode(data),
            "signature": encode(changed.get("signature", signature)),
            "userHandle": encode(changed.get("user_handle", self.user_handle)),
        }
        return self._answer({name: value for name, value in response.items() if value})

    def _answer(self, response: dict[str, str]) -> str:
        own = encode(self.credential_id)
        return json.dumps({"id": own, "rawId": own, "type": "public-key", "response": response})

    def _authenticator_data(self, flags: int, *, rp_id: str | None = None, verified: bool = True, **_: Any) -> bytes:
        flags |= _PRESENT | (_VERIFIED if verified else 0)
        return hashlib.sha256((rp_id or self.rp_id).encode()).digest() + bytes([flags]) + self.count.to_bytes(4)

    def _client_data(
        self, kind: str, options: dict[str, Any], *, origin: str | None = None, challenge: str | None = None, **more: Any
    ) -> bytes:
        said = {
            "type": more.get("type", kind),
            "challenge": challenge or options["challenge"],
            "origin": origin or self.origin,
            "crossOrigin": more.get("cross_origin", False),
        }
        return json.dumps(said).encode()
