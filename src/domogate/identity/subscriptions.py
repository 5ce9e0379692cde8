"""Issues subscription keys. A key is shown once and stored as a hash."""

import base64
import re
import secrets

from domogate.common.secrets import hash_secret
from domogate.domain.ids import new_id
from domogate.domain.people import MOST_DAILY_QUOTA, Subscription
from domogate.identity.rates import parse_rate

PREFIX = "dgk_"
MAX_KEY = 256

_KEY = re.compile(rf"[!-~]{{8,{MAX_KEY}}}", re.ASCII).fullmatch
_HINT = len(PREFIX) + 4


def new_key() -> str:
    """Return a new key.

    It is the prefix `dgk_` and 160 random bits, written as lower-case letters and the digits 2 to 7. By the prefix, people and
    secret scanners recognise a key.
    """
    return PREFIX + base64.b32encode(secrets.token_bytes(20)).decode().lower()


def new_subscription(
    name: str,
    key: str,
    created_at: float,
    *,
    rate: str | None = None,
    daily_quota: int | None = None,
    expires_at: float | None = None,
) -> Subscription:
    """Return the subscription of this key.

    Raises ValueError for a key with invalid characters or an invalid rate. Also raises ValueError for a quota that is too small
    or too large.
    """
    if not _KEY(key):
        raise ValueError(f"a subscription key has 8 to {MAX_KEY} visible ASCII characters and no spaces")
    if rate is not None:
        parse_rate(rate)
    if daily_quota is not None and daily_quota < 1:
        raise ValueError(f"a daily quota is at least 1, not {daily_quota}; to refuse all requests, revoke the key")
    if daily_quota is not None and daily_quota > MOST_DAILY_QUOTA:
        raise ValueError(f"a daily quota is at most {MOST_DAILY_QUOTA}, not {daily_quota}; for no limit, leave it out")
    return Subscription(
        id=new_id(),
        name=name,
        key_hash=hash_secret(key),
        # Show only a quarter of a short key, which a person chose.
        hint=key[: min(_HINT, len(key) // 4)],
        rate=rate,
        daily_quota=daily_quota,
        created_at=created_at,
        expires_at=expires_at,
    )
