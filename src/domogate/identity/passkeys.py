"""Passkeys with the library `webauthn`: options for browsers, and the check of their answers.

The library is large, so it is imported on a thread when a person first uses a passkey (Decision 0098).
"""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from domogate.common.late_imports import load_module
from domogate.domain.login_names import print_email
from domogate.domain.passkeys import Passkey
from domogate.domain.people import User
from domogate.identity.relying_party import RelyingParty
from domogate.ports import NewCredential, PasskeyRefused, UnverifiedAnswer

if TYPE_CHECKING:
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

_TIMEOUT_MS = 300_000
_LONGEST_ANSWER = 16_384
_LONGEST_KEY = 2_048
_CREDENTIAL_ID = re.compile(r"[A-Za-z0-9_-]{1,1364}", re.ASCII).fullmatch
"""A credential id in base64url: at most 1023 bytes (WebAuthn §4)."""
_ATTESTATIONS = ("none", "packed")
"""The accepted formats of an attestation: a signed statement about the authenticator of a new passkey (WebAuthn §6.5).

The gateway requests no attestation (`none`). A browser may still send one that the passkey itself signed (`packed`).
"""


class WebAuthnVerifier:
    """Implements PasskeyVerifier.

    Every use must verify the user (fingerprint, face or PIN), so a passkey alone counts as two factors.
    """

    def __init__(self, relying_party: RelyingParty) -> None:
        self._relying_party = relying_party

    async def creation_options(
        self, user: User, user_handle: str, known: Sequence[Passkey], challenge: bytes
    ) -> dict[str, Any]:
        await load_module("webauthn")
        import webauthn
        from webauthn.helpers import options_to_json_dict
        from webauthn.helpers.structs import (
            AuthenticatorSelectionCriteria,
            ResidentKeyRequirement,
            UserVerificationRequirement,
        )

        options = webauthn.generate_registration_options(
            rp_id=self._relying_party.id,
            rp_name="Domogate",
            user_id=_decode(user_handle),
            user_name=print_email(user.email),
            user_display_name=user.name or print_email(user.email),
            challenge=challenge,
            timeout=_TIMEOUT_MS,
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
            ),
            exclude_credentials=_descriptors(known),
        )
        return options_to_json_dict(options)

    async def request_options(self, known: Sequence[Passkey], challenge: bytes) -> dict[str, Any]:
        await load_module("webauthn")
        import webauthn
        from webauthn.helpers import options_to_json_dict
        from webauthn.helpers.structs import UserVerificationRequirement

        options = webauthn.generate_authentication_options(
            rp_id=self._relying_party.id,
            challenge=challenge,
            timeout=_TIMEOUT_MS,
            allow_credentials=_descriptors(known),
            user_verification=UserVerificationRequirement.REQUIRED,
        )
        return options_to_json_dict(options)

    async def read_answer(self, text: str) -> UnverifiedAnswer:
        if len(text) > _LONGEST_ANSWER:
            raise PasskeyRefused("the answer is too long")
        await load_module("webauthn")
        from webauthn.helpers import parse_client_data_json

        with _refusing("the answer is malformed"):
            answer = json.loads(text)
            response = answer["response"]
            client_data = parse_client_data_json(_decode(response["clientDataJSON"]))
            credential_id, user_handle = answer["id"], response.get("userHandle")
            # Our pages cannot be framed, so an answer from a frame of another site is refused.
            if client_data.cross_origin or not _CREDENTIAL_ID(credential_id) or not isinstance(user_handle, str | None):
                raise ValueError
        return UnverifiedAnswer(text, credential_id, client_data.challenge, user_handle or None)

    def verify_new(self, answer: UnverifiedAnswer) -> NewCredential:
        import webauthn

        with _refusing("the new passkey cannot be verified"):
            new = webauthn.verify_registration_response(**self._expect(answer))
        credential_id, public_key = _encode(new.credential_id), _encode(new.credential_public_key)
        if new.fmt not in _ATTESTATIONS or credential_id != answer.credential_id or len(public_key) > _LONGEST_KEY:
            raise PasskeyRefused("the new passkey is not of a supported kind")
        return NewCredential(credential_id, public_key, new.sign_count)

    def verify_use(self, answer: UnverifiedAnswer, passkey: Passkey) -> int:
        import webauthn

        with _refusing("the passkey cannot be verified"):
            used = webauthn.verify_authentication_response(
                **self._expect(answer),
                credential_public_key=_decode(passkey.public_key),
                credential_current_sign_count=0,  # The caller checks the count.
            )
        return used.new_sign_count

    def _expect(self, answer: UnverifiedAnswer) -> dict[str, Any]:
        """Return the arguments with which the library verifies every answer."""
        return {
            "credential": answer.text,
            "expected_challenge": answer.challenge,
            "expected_rp_id": self._relying_party.id,
            "expected_origin": self._relying_party.origin,
            "require_user_verification": True,
        }


@contextmanager
def _refusing(message: str) -> Iterator[None]:
    """Raise PasskeyRefused instead of an error of the library."""
    try:
        yield
    except Exception as error:  # The library raises many kinds of exceptions for malformed bytes.
        raise PasskeyRefused(message) from error


def _descriptors(known: Sequence[Passkey]) -> "list[PublicKeyCredentialDescriptor]":
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    return [PublicKeyCredentialDescriptor(id=_decode(passkey.credential_id)) for passkey in known]


def _encode(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(f"{text}===")
