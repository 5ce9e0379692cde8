"""The key under which the secrets in the store are encrypted."""

from typing import Protocol

import msgspec


class SecretKeyRotation(msgspec.Struct, frozen=True):
    """The ids of the former and of the new key, and how many secrets were encrypted again."""

    former: str
    current: str
    secrets: int


class SecretKeyStore(Protocol):
    """The key itself is not in the store, only its id."""

    async def find_secret_key_id(self) -> str | None: ...
    async def rotate_secret_key(self) -> SecretKeyRotation:
        """Encrypt all secrets again, under the next key. Raise SecretKeyMissing if there is no next key."""
        ...
