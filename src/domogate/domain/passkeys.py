"""Passkeys: key pairs of a person's devices. The gateway has only the public keys (WebAuthn)."""

import msgspec

from domogate.domain.ids import Id

MOST_PASSKEYS = 10
"""The largest number of passkeys that one user may have."""


class Passkey(msgspec.Struct, frozen=True):
    """A passkey of a user. `credential_id`, `user_handle` and `public_key` are bytes in base64url without padding."""

    id: Id
    user_id: Id
    credential_id: str
    """The authenticator chooses this id. Two passkeys in the store never have the same id."""
    user_handle: str
    """A random value that the authenticator returns at login. It says nothing about the person."""
    public_key: str
    """A COSE key (RFC 9052)."""
    sign_count: int
    name: str
    created_at: float
    used_at: float | None = None

    def accepts_count(self, new: int) -> bool:
        """Whether the new count of signatures is higher than the stored count.

        Also True if both counts are 0, because some authenticators do not count. If the result is False, somebody may have
        copied the authenticator (WebAuthn §6.1.1).
        """
        return new > self.sign_count or new == self.sign_count == 0


class UsedChallenge(msgspec.Struct, frozen=True):
    """A challenge that an authenticator signed. It cannot be used again."""

    id: str
    expires_at: float


class PasskeyUse(msgspec.Struct, frozen=True):
    """One verified login with a passkey.

    `sign_count` is the authenticator's new count of signatures; 0 if it does not count.
    """

    passkey_id: Id
    sign_count: int
    challenge: UsedChallenge
