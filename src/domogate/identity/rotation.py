"""Rotation of the signing key.

A planned rotation publishes the new key at once. The new key begins to sign when all cached copies of the key set have expired.
At this time the old key stops signing. The old key verifies until its last token has expired, so no token is refused. In an
emergency the new key signs at once and all other keys are distrusted: every existing token is refused from the next request on.
A gateway that starts with another algorithm than before changes the key as in a planned rotation.

Each change is one transaction of the store. So there is always a key that signs.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from domogate.identity.loaded_keys import GENERATORS, new_signing_key
from domogate.ports import Clock, KeyPlace, KeyState, SigningKey, SigningKeyStore

PUBLISHED_AHEAD = 600.0
"""Seconds between publishing a key and signing with it: twice the time for which clients may cache the key set."""

DISTRUSTED = 0.0
"""A value for `retired_at` of a signing key: a time so long ago that all tokens of the key have expired."""

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
    """Add a new key that begins to sign in `ahead` seconds.

    At the same time, all other keys stop signing.

    Raises ValueError for an unknown algorithm, or if `ahead` is shorter than MIN_AHEAD and `now` is false.

    If `now` is true, the new key signs at once, and all other keys are distrusted.
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
    ends = DISTRUSTED if now else begins
    new = await asyncio.to_thread(new_signing_key, algorithm, begins)
    _, *changed = await store.change_signing_keys(lambda keys: [new, *_end(keys, lambda _: ends)])
    kids = tuple(key.kid for key in changed)
    return KeyRotation(new.kid, algorithm, begins, () if now else kids, kids if now else ())


async def change_algorithm(store: SigningKeyStore, clock: Clock, algorithm: str) -> None:
    """Let a key with this algorithm sign, and retire all other keys when it begins to sign.

    If the store has a key with this algorithm that is not retired, this key signs, and no key is added. Otherwise a new key is
    added. It begins to sign in PUBLISHED_AHEAD seconds, or at once if no other key signs now.

    So gateways with different settings do not add a key at each start. The gateway that started last decides which key signs.
    """
    now = clock.now()
    stored = await store.list_signing_keys()
    new = None if _find_unretired(stored, algorithm, now) else await asyncio.to_thread(new_signing_key, algorithm, now)

    def change(keys: Sequence[SigningKey]) -> Sequence[SigningKey]:
        kept = _find_unretired(keys, algorithm, now)
        if kept is None and new is not None:
            ahead = PUBLISHED_AHEAD if any(key.created_at <= now and _ends_after(key, now) for key in keys) else 0.0
            kept = msgspec.structs.replace(new, created_at=now + ahead)
        if kept is None:  # Another process has just retired the key. Its change counts.
            return ()
        begins = max(now, kept.created_at)
        # Another key that has not begun to sign ends at the time at which it would begin. So it never signs, but a gateway that
        # starts before this time can still choose it.
        ended = _end([key for key in keys if key.kid != kept.kid], lambda key: max(begins, key.created_at))
        return ended if kept in keys and kept.retired_at is None else [msgspec.structs.replace(kept, retired_at=None), *ended]

    if change(stored):
        await store.change_signing_keys(change)


async def list_key_places(store: SigningKeyStore, clock: Clock) -> Sequence[KeyPlace]:
    """Return the id, algorithm, state and times of each signing key, including old keys. The oldest key is first."""
    moment = clock.now()
    return [
        KeyPlace(key.kid, key.algorithm, _state(key, moment), key.created_at, key.retired_at)
        for key in sorted(await store.list_signing_keys(), key=lambda key: (key.created_at, key.kid))
    ]


def _find_unretired(keys: Sequence[SigningKey], algorithm: str, now: float) -> SigningKey | None:
    """Return the newest key with this algorithm that is not retired, or None.

    A key without a time of retirement is preferred, even if a key with such a time is newer.
    """
    found = [key for key in keys if key.algorithm == algorithm and _ends_after(key, now)]
    return max(found, key=lambda key: (key.retired_at is None, key.created_at, key.kid), default=None)


def _end(keys: Sequence[SigningKey], end_of: Callable[[SigningKey], float]) -> list[SigningKey]:
    """Return copies of the keys. Each copy retires at the time that `end_of` returns for the key.

    A key that already retires at this time or earlier is left out.
    """
    return [msgspec.structs.replace(key, retired_at=end_of(key)) for key in keys if _ends_after(key, end_of(key))]


def _ends_after(key: SigningKey, moment: float) -> bool:
    return key.retired_at is None or key.retired_at > moment


def _state(key: SigningKey, moment: float) -> KeyState:
    if key.retired_at == DISTRUSTED:
        return KeyState.DISTRUSTED
    if not _ends_after(key, moment):
        return KeyState.RETIRED
    return KeyState.CURRENT if key.created_at <= moment else KeyState.NEXT
