"""The port that makes requests to authenticators in browsers, and checks their answers (WebAuthn)."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from domogate.domain.passkeys import Passkey
from domogate.domain.people import User


class PasskeyRefused(Exception):
    """The answer of an authenticator is malformed, or does not prove that the person has the passkey.

    The login fails, or the new passkey is not added.
    """


class UnverifiedAnswer(msgspec.Struct, frozen=True):
    """An answer of an authenticator, before its signature is checked.

    `credential_id` and `user_handle` are in base64url.
    """

    text: str
    credential_id: str
    challenge: bytes
    user_handle: str | None


class NewCredential(msgspec.Struct, frozen=True):
    credential_id: str
    public_key: str
    sign_count: int


class PasskeyVerifier(Protocol):
    """Makes requests to authenticators and checks their answers.

    Passkeys are bound to the host name of this gateway. The methods that read or verify an answer raise PasskeyRefused
    if they do not accept it.
    """

    async def creation_options(
        self, user: User, user_handle: str, known: Sequence[Passkey], challenge: bytes
    ) -> dict[str, Any]:
        """Return the options of `navigator.credentials.create()` as JSON.

        `known` are the passkeys that the user has already. A device with one of these passkeys makes no new passkey.
        """
        ...

    async def request_options(self, known: Sequence[Passkey], challenge: bytes) -> dict[str, Any]:
        """Return the options of `navigator.credentials.get()` as JSON.

        `known` are the passkeys that the person may use. If `known` is empty, every passkey is allowed: the gateway then learns
        from the passkey who the person is.
        """
        ...

    async def read_answer(self, text: str) -> UnverifiedAnswer: ...
    def verify_new(self, answer: UnverifiedAnswer) -> NewCredential: ...
    def verify_use(self, answer: UnverifiedAnswer, passkey: Passkey) -> int:
        """Verify the use of a passkey, and return the authenticator's count of signatures.

        The caller checks the challenge and the count.
        """
        ...
