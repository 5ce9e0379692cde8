"""Rotation of the signing key.

A planned rotation publishes the new key at once. The new key begins to sign when all cached copies of the key set have expired.
At this time the old key stops signing. The old key verifies until its last token has expired, so no token is refused. In an
emergency the new key signs at once and all other keys are distrusted: every existing token is refused from the next request on.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from domogate.identity.loaded_keys import GENERATORS, new_signing_key
from domogate.identity.signing import DISTRUSTED, PUBLISHED_AHEAD
from domogate.ports import Clock, KeyPlace, KeyState, SigningKey, SigningKeyStore

MIN_AHEAD = 300.0
"""In seconds. A new key is published at least this time before it signs, because clients cache the key set (max-age)."""


class KeyRotation(msgspec.Struct, frozen=True):
    """The result of a rotation: the new key, and the keys that it retires or distrusts."""

    kid: str
    algorithm: str
    signs_from: float
    retired: tuple[str, ...]
    distrusted: tuple[str, ...]


async def rotate_keys(
    store: SigningKeyStore, clock: Clock, *, algorithm: str = "ES256", ahead: float = PUBLISHED_AHEAD, now: bool = False
) -> KeyRotation:
    """Add a new key that begins to sign in `ahead` seconds, when the other keys stop signing.

    Raises ValueError for an unknown algorithm, or if `ahead` is shorter than MIN_AHEAD and `now` is false.

    If `now` is true, the new key signs at once, and all other keys are distrusted. The new key is added before the other keys
    are changed. So the gateway can still sign after an interrupted rotation, and a second rotation completes the first one.
    """
    if algorithm not in GENERATORS:
        raise ValueError(f"unsupported signing algorithm {algorithm!r}, choose one of {', '.join(GENERATORS)}")
    if not now and not MIN_AHEAD <= ahead < float("inf"):
        raise ValueError(
            f"the next key must be published at least {MIN_AHEAD:g} seconds ahead, because clients may cache the key set; "
            "in an emergency rotate now"
        )
    moment = clock.now()
    begins = moment if now else moment + ahead
    new = await asyncio.to_thread(new_signing_key, algorithm, begins)
    await store.add_signing_key(new)
    changed: list[str] = []
    for key in await store.list_signing_keys():
        ends = DISTRUSTED if now else begins
        if key.kid != new.kid and _ends_after(key, ends):
            await store.add_signing_key(msgspec.structs.replace(key, retired_at=ends))
            changed.append(key.kid)
    kids = tuple(changed)
    return KeyRotation(new.kid, algorithm, begins, () if now else kids, kids if now else ())


async def list_key_places(store: SigningKeyStore, clock: Clock) -> Sequence[KeyPlace]:
    """Return the public data of all signing keys, including old keys. The oldest key is first."""
    moment = clock.now()
    return [
        KeyPlace(key.kid, key.algorithm, _state(key, moment), key.created_at, key.retired_at)
        for key in sorted(await store.list_signing_keys(), key=lambda key: (key.created_at, key.kid))
    ]


def _ends_after(key: SigningKey, moment: float) -> bool:
    return key.retired_at is None or key.retired_at > moment


def _state(key: SigningKey, moment: float) -> KeyState:
    if key.retired_at == DISTRUSTED:
        return KeyState.DISTRUSTED
    if not _ends_after(key, moment):
        return KeyState.RETIRED
    return KeyState.CURRENT if key.created_at <= moment else KeyState.NEXT
