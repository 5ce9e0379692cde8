"""The port for the encryption of the secrets in the store (Decision 0062)."""

from typing import Protocol


class SecretKeyMissing(RuntimeError):
    """The key that decrypts the sealed secrets was not found, or may not be used. So the store cannot be opened.

    The message says what is wrong, for example which places were searched, or which file other users can read.
    """


class SealBroken(RuntimeError):
    """A sealed secret cannot be decrypted, because somebody changed it or moved it to another row.

    The read of this secret fails.
    """


class Sealer(Protocol):
    """Encrypts secrets under keys that are not in the database. `place` names the table, column and row of a secret.

    Several threads of the store may call the methods at the same time.
    """

    def choose_key(self, stored: str | None) -> str:
        """Return the id of the key to use: `stored`, or the first key of this sealer if the database has no key id yet.

        If neither the database nor the sealer has a key, the sealer may write a new key. Raise SecretKeyMissing if it may not
        or cannot do this, or if the key to use was not found.
        """
        ...

    def choose_next_key(self, current: str) -> str:
        """Return the id of the key that replaces `current`. Raise SecretKeyMissing if there is no such key."""
        ...

    def seal(self, key_id: str, place: str, secret: str) -> str: ...
    def unseal(self, place: str, sealed: str) -> str:
        """Decrypt a secret. Raise SecretKeyMissing if its key was not found, SealBroken if the secret was changed or moved."""
        ...
