"""Changing the signing key by command, without anyone being refused for it.

A planned rotation publishes the next key at once and lets it sign later, when whoever keeps a copy of the key set has
fetched it again; the key before it stops signing at that same moment and verifies on until its last token has expired. In an
emergency the new key signs at once and no other is trusted any more: every token in the field is refused from the next call.
"""

import asyncio
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from domogate.identity.signing import GENERATORS, PUBLISHED_AHEAD, new_signing_key
from domogate.ports import Clock, SigningKey, SigningKeyStore

MIN_AHEAD = 300.0
"""The key set may be kept for so long (its max-age)."""

DISTRUSTED = 0.0
"""As `retired_at`: so long ago that nothing it signed can be alive."""


class KeyState(StrEnum):
    """Where a key is in the rotation."""

    NEXT = "next"
    CURRENT = "current"
    RETIRED = "retired"
    """Signs no more; verifies until what it signed has expired."""
    DISTRUSTED = "distrusted"


class KeyPlace(msgspec.Struct, frozen=True):
    """A key and where it is in the rotation, without anything private."""

    kid: str
    algorithm: str
    state: KeyState
    signs_from: float
    retired_at: float | None


class KeyRotation(msgspec.Struct, frozen=True):
    """What a rotation did: the new key, and those that sign until then, or that are not trusted any more."""

    kid: str
    algorithm: str
    signs_from: float
    retired: tuple[str, ...]
    distrusted: tuple[str, ...]


async def rotate_keys(
    store: SigningKeyStore, clock: Clock, *, algorithm: str = "ES256", ahead: float = PUBLISHED_AHEAD, now: bool = False
) -> KeyRotation:
    """Have a new key sign in `ahead` seconds; with `now`, at once, and trust none of the others. Raises ValueError.

    The new key is added before another is touched, so a rotation cut short in the middle leaves a gateway that signs, and
    doing it again mends it.
    """
    if algorithm not in GENERATORS:
        raise ValueError(f"unsupported signing algorithm {algorithm!r}, choose one of {', '.join(GENERATORS)}")
    if not now and not MIN_AHEAD <= ahead < float("inf"):
        raise ValueError(
            f"the next key must be published at least {MIN_AHEAD:g} seconds ahead, for so long others may keep the key set; "
            "in an emergency rotate now"
        )
    moment = clock.now()
    begins = moment if now else moment + ahead
    new = await asyncio.to_thread(new_signing_key, algorithm, begins)
    await store.add_signing_key(new)
    touched: list[str] = []
    for key in await store.list_signing_keys():
        ends = DISTRUSTED if now else begins
        if key.kid != new.kid and _ends_after(key, ends):
            await store.add_signing_key(msgspec.structs.replace(key, retired_at=ends))
            touched.append(key.kid)
    kids = tuple(touched)
    return KeyRotation(new.kid, algorithm, begins, () if now else kids, kids if now else ())


async def list_key_places(store: SigningKeyStore, clock: Clock) -> Sequence[KeyPlace]:
    """Every key that was ever made, the oldest first."""
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
