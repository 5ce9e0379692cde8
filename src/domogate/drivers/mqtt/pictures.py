"""The pictures of a camera: the newest picture since the camera was switched on, and the callers that wait for a picture."""

from domogate.drivers.mqtt.broadcast import Broadcast
from domogate.drivers.mqtt.payloads import Unreadable
from domogate.ports import Picture

_SIGNATURES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}
_EARLY = 2.0
"""In seconds. A picture can arrive before the message that the camera is on. It is used if it was at most this much earlier."""


def read_picture(payload: bytes) -> Picture:
    """Return the picture. Raises Unreadable if the payload is neither JPEG nor PNG."""
    for signature, media_type in _SIGNATURES.items():
        if payload.startswith(signature):
            return Picture(media_type, payload)
    raise Unreadable("it is neither JPEG nor PNG")


class CameraPictures:
    """The pictures of one camera. Pictures that arrived more than `_EARLY` before the camera was switched on are not used."""

    __slots__ = ("_heard_at", "_newest", "changed", "is_on")

    def __init__(self) -> None:
        self._newest: Picture | None = None
        self._heard_at = 0.0
        self.is_on = False
        self.changed = Broadcast()
        """Notified when there may be a new picture."""

    def receive(self, picture: Picture, now: float) -> None:
        self._newest, self._heard_at = picture, now
        self.changed.notify()

    def set_on(self, on: bool, now: float) -> None:
        """Store whether the camera is on.

        If the camera is off, the newest picture is removed. If the camera was off and is on now, the newest picture stays only
        if it has just arrived (`_EARLY`).
        """
        if not on or (not self.is_on and abs(now - self._heard_at) > _EARLY):
            self._newest = None
        self.is_on = on
        self.changed.notify()

    def find_newest(self) -> Picture | None:
        return self._newest if self.is_on else None
