"""Encrypts secrets for the store with AES-256-GCM. The key is not in the database (Decision 0062)."""

import base64
import binascii
import hashlib
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from domogate.common.owners import advise_writable, describe_denied
from domogate.ports import SealBroken, SecretKeyMissing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_FILE = "secret-key"
"""The name of the key file in the data folder."""
CREDENTIAL = "domogate-secret-key"
"""The name of the systemd credential that can contain the keys."""

_KEY_BYTES = 32
_NONCE_BYTES = 12
_MAX_FILE = 65_536
_RIGHTS_OF_OTHERS = 0o077
_PREFIX = "sealed:1:"
_COMMENT = "# Secret key of a Domogate gateway. Keep a copy in a safe place: without it the gateway does not start.\n"
_EXPLAINED = "a secret key is 32 random bytes in Base64, as `openssl rand -base64 32` prints them"


def parse_keys(text: str) -> dict[str, bytes]:
    """Return the keys by id, in the order of the text. Lines that begin with # are comments.

    Keys are separated by commas, spaces or line ends. Raises ValueError if a part of the text is not a key. Its message does
    not contain the text, because the text is secret.
    """
    words = " ".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    keys = {}
    for word in re.findall(r"[^\s,]+", words):
        try:
            key = base64.b64decode(word.translate(str.maketrans("-_", "+/")), validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != _KEY_BYTES:
            raise ValueError(_EXPLAINED)
        keys[key_id_of(key)] = key
    return keys


def check_keys(text: str) -> str:
    """Return the setting `secret_key` unchanged. Raises ValueError if it has no key, or a part that is not a key."""
    if not parse_keys(text):
        raise ValueError(_EXPLAINED)
    return text


def key_id_of(key: bytes) -> str:
    return hashlib.sha256(b"domogate secret key id\0" + key).hexdigest()[:16]


class SecretKeys:
    """Encrypts and decrypts secrets of the store with a secret key. Implements Sealer.

    A key file may hold several keys: rotation puts the new key first, and old backups may need the other keys.
    """

    def __init__(self, data: Path, *, given: str | None = None, file: Path | None = None) -> None:
        """`given` has the keys as text. If `given` is None, the keys are in `file`, or in a file in the folder `data`.

        The store has the id of the key that it uses. If the store has no such id yet, and the file in `data` is used and has no
        key, `choose_key` writes a new key to this file.
        """
        self._given = given
        self._file = file or data / KEY_FILE
        self._may_create = given is None and file is None
        self._keys: dict[str, bytes] = {}

    def choose_key(self, stored: str | None) -> str:
        self._load()
        if stored is None and not self._keys and self._may_create:
            self._write_first_key()
        found = next(iter(self._keys), None) if stored is None else stored
        if found is None:
            raise SecretKeyMissing(f"there is no secret key in {self._source()}.\n{_EXPLAINED}.")
        self._find_key(found)
        return found

    def choose_next_key(self, current: str) -> str:
        self._load()
        first = next(iter(self._keys), current)
        if first != current:
            return first
        if self._given is not None:
            raise SecretKeyMissing(
                "the first key in secret_key (DOMOGATE_SECRET_KEY) is already in use. Write a new key before it, separated "
                f"by a space, restart all gateways with both, and repeat this command: {_EXPLAINED}."
            )
        try:
            self._write(f"{_COMMENT}{_new_key()}{_read(self._file).removeprefix(_COMMENT)}")
        except OSError as error:
            raise SecretKeyMissing(
                f"a new secret key cannot be written to {self._file}: {error.strerror}. Write a new key as its first line, "
                f"restart all gateways, and repeat this command: {_EXPLAINED}."
            ) from None
        return next(iter(self._keys))

    def seal(self, key_id: str, place: str, secret: str) -> str:
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._cipher(key_id).encrypt(nonce, secret.encode(), place.encode())
        return f"{_PREFIX}{key_id}:{base64.b64encode(sealed).decode()}"

    def unseal(self, place: str, sealed: str) -> str:
        from cryptography.exceptions import InvalidTag  # imported here for the same reason as in `_cipher`

        if not sealed.startswith(_PREFIX):
            raise SealBroken(f"a secret in the database is not encrypted: {_words(place)}")
        key_id, _, text = sealed.removeprefix(_PREFIX).partition(":")
        cipher = self._cipher(key_id)
        try:
            data = base64.b64decode(text, validate=True)
            return cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], place.encode()).decode()
        except (InvalidTag, ValueError):
            raise SealBroken(f"a secret in the database was changed, or moved from another row: {_words(place)}") from None

    def _cipher(self, key_id: str) -> "AESGCM":
        # Imported here, because the library is large and most commands use no secret.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._find_key(key_id))

    def _find_key(self, key_id: str) -> bytes:
        if key_id not in self._keys:
            self._load()  # The command line may have rotated the key in the meantime.
        key = self._keys.get(key_id)
        if key is None:
            raise SecretKeyMissing(
                f"the secrets in this database are encrypted under the secret key {key_id}, which was not found. Looked in "
                f"{self._source()}: found {', '.join(self._keys) or 'no key'}.\n"
                f"Give this key with --secret-key-file FILE, as the systemd credential {CREDENTIAL}, as the variable "
                f"DOMOGATE_SECRET_KEY, or as the file {KEY_FILE} in the data folder."
            )
        return key

    def _source(self) -> str:
        if self._given is not None:
            return "secret_key (DOMOGATE_SECRET_KEY)"
        if not self._may_create:
            return f"secret_key_file {self._file}"
        return f"secret_key, secret_key_file, the systemd credential {CREDENTIAL} (all not set) and the file {self._file}"

    def _load(self) -> None:
        try:
            self._keys = parse_keys(_read(self._file) if self._given is None else self._given)
        except FileNotFoundError:
            self._keys = {}
        except OSError as error:
            owner = describe_denied(self._file) if isinstance(error, PermissionError) else ""
            says = f"the secret key file {self._file} cannot be read: {error.strerror}. {owner}"
            raise SecretKeyMissing(says.rstrip()) from None
        except ValueError as error:
            raise SecretKeyMissing(f"{self._source()} has a wrong secret key: {error}.") from None

    def _write_first_key(self) -> None:
        try:
            self._write(_COMMENT + _new_key())
        except OSError as error:
            raise SecretKeyMissing(
                f"a new secret key cannot be written to {self._file}: {error.strerror}.\n{advise_writable(self._file.parent)}"
            ) from None

    def _write(self, text: str) -> None:
        """Write the key file with mode 0600. The file gets its name only when it is complete and on disk."""
        handle, name = tempfile.mkstemp(dir=self._file.parent, prefix=f".{KEY_FILE}.")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            with suppress(OSError):  # The gateway may run as another user than this command.
                former = self._file.stat()
                os.chown(name, former.st_uid, former.st_gid)
            Path(name).replace(self._file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        with suppress(OSError):  # Not every system can sync a folder.
            folder = os.open(self._file.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        self._load()


def _read(file: Path) -> str:
    """Return the content of the key file.

    Raises OSError if it cannot be read, and SecretKeyMissing if other users of the machine have rights on the file.
    """
    with file.open("rb") as opened:
        if os.fstat(opened.fileno()).st_mode & _RIGHTS_OF_OTHERS and not _is_credential(file):
            raise SecretKeyMissing(f"other users of this machine can use the secret key file {file}. Run: chmod 600 {file}")
        return opened.read(_MAX_FILE).decode("ascii", "replace")


def _is_credential(file: Path) -> bool:
    """Whether the file is a systemd credential.

    The mode of a credential is not checked: systemd sets the mode, and an access control list (ACL) can make the file look
    readable for the group.
    """
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    return folder is not None and file.parent == Path(folder)


def _new_key() -> str:
    return base64.b64encode(os.urandom(_KEY_BYTES)).decode() + "\n"


def _words(place: str) -> str:
    return place.replace("\0", " ")
