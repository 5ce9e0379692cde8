"""What a camera published as its picture: the newest since it is on, and whoever waits for one."""

import asyncio

from domogate.drivers.mqtt.facts import Unreadable
from domogate.ports import Picture

_BEGINNINGS = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}
_AHEAD = 2.0
"""A picture may come so many seconds before the camera says that it is on."""


def read_picture(payload: bytes) -> Picture:
    """Raises Unreadable."""
    for beginning, media_type in _BEGINNINGS.items():
        if payload.startswith(beginning):
            return Picture(media_type, payload)
    raise Unreadable("it is neither JPEG nor PNG")


class Pictures:
    """Of one camera. A picture from the last time that it was on is none of now."""

    __slots__ = ("_came", "_heard_at", "_newest", "_on_since")

    def __init__(self) -> None:
        self._newest: Picture | None = None
        self._heard_at = 0.0
        self._on_since: float | None = None
        self._came = asyncio.Event()

    def hear(self, picture: Picture, now: float) -> None:
        self._newest, self._heard_at = picture, now
        self.wake()

    def turn(self, on: bool, now: float) -> None:
        """The camera said whether it is on."""
        if not on:
            self._on_since = self._newest = None
        elif self._on_since is None:
            self._on_since = now
        self.wake()

    def wake(self) -> None:
        """Have everyone who waits look again."""
        self._came.set()
        self._came = asyncio.Event()

    async def wait(self) -> None:
        """Until there may be something new."""
        await self._came.wait()

    @property
    def is_on(self) -> bool:
        return self._on_since is not None

    def find_newest(self) -> Picture | None:
        if self._on_since is None or self._newest is None or self._heard_at < self._on_since - _AHEAD:
            return None
        return self._newest
