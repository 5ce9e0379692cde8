"""Recovery codes for a person who has lost the phone with the authenticator app, or cannot use a passkey.

Each code works once, after the password, in place of a passkey or a code of the app.
"""

import re
import secrets
from collections.abc import Sequence

from domogate.common.secrets import hash_secret
from domogate.domain.ids import Id

RECOVERY_CODES = 10
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Letters and digits that do not look alike.

A code of 16 such characters has 79 random bits. Nobody can guess it, so the store does not need a slow hash as for passwords.
"""
_LENGTH, _GROUP = 16, 4
_CODE = re.compile(f"[{_LETTERS}]{{{_LENGTH}}}", re.ASCII).fullmatch


def new_recovery_codes() -> Sequence[str]:
    return [_new_code() for _ in range(RECOVERY_CODES)]


def _new_code() -> str:
    letters = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    return "-".join(letters[start : start + _GROUP] for start in range(0, _LENGTH, _GROUP))


def parse_recovery_code(text: str) -> str | None:
    """Return the code in lower case, without spaces and dashes. Return None if the text is not a recovery code."""
    letters = text[:100].replace("-", "").replace(" ", "").lower()
    return letters if _CODE(letters) else None


def hash_recovery_code(user_id: Id, code: str) -> str:
    return hash_secret(f"{user_id} {parse_recovery_code(code)}")
