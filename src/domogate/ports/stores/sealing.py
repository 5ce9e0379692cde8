"""The port for the key under which the secrets in the store are encrypted."""

from typing import Protocol

import msgspec


class SecretKeyRotation(msgspec.Struct, frozen=True):
    """The ids of the former key and the new key, and the number of secrets that were encrypted again."""

    former: str
    current: str
    secrets: int


class SecretKeyStore(Protocol):
    """Stores the id of the key that encrypts the stored secrets. The key itself is not in the store."""

    async def find_secret_key_id(self) -> str | None: ...
    async def rotate_secret_key(self) -> SecretKeyRotation:
        """Encrypt all secrets again, under the key that `Sealer.choose_next_key` returns.

        Raise SecretKeyMissing if there is no such key.
        """
        ...
