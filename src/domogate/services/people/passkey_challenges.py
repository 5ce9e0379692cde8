"""Challenges for authenticators. A challenge needs no row in the store until it is used. So strangers cannot fill a table.

A challenge has 256 random bits and the time of its end. A MAC binds these bits and this time to the form token of a browser.
All gateways that share a store compute the same MAC, so each gateway can check the challenges of the others.
"""

import msgspec

from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.passkeys import UsedChallenge
from domogate.ports import Clock, Signer
from domogate.services.authorization.secrets import TextMac

CHALLENGE_LIFETIME = 300.0


class ReadChallenge(msgspec.Struct, frozen=True):
    """A challenge that a gateway with this store made. `user_handle` is empty if the challenge was not for a new passkey."""

    used: UsedChallenge
    user_handle: str


class PasskeyChallenges:
    """Makes challenges for authenticators, and recognises the challenges of all gateways with this store."""

    def __init__(self, signer: Signer, clock: Clock) -> None:
        self._mac = TextMac(signer, "passkey challenge")
        self._clock = clock

    async def new(self, form_token: str, user_handle: str = "") -> bytes:
        """Make a challenge.

        `form_token` belongs to one browser, and to its session or to one step of its login. `user_handle`, the id of the user
        in WebAuthn, is given only for a new passkey.
        """
        expires_at = int(self._clock.now() + CHALLENGE_LIFETIME)
        words = f"{new_secret()}.{expires_at}.{user_handle}"
        return f"{words}.{await self._mac.sign(f'{form_token} {words}')}".encode()

    async def read(self, challenge: bytes, form_token: str) -> ReadChallenge | None:
        """Return the content of the challenge. Return None if no gateway made it for `form_token`, or if it has expired."""
        text = challenge.decode("ascii", "replace")
        words, _, mac = text.rpartition(".")
        if not form_token or not await self._mac.verify(f"{form_token} {words}", mac):
            return None
        _, expires_at, user_handle = words.split(".")
        if float(expires_at) <= self._clock.now():
            return None
        return ReadChallenge(UsedChallenge(hash_secret(text), float(expires_at)), user_handle)
