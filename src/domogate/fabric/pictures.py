"""A picture as messages: a first message with its first part, and one message for each other part."""

from collections.abc import Awaitable, Callable
from hashlib import blake2b

from domogate.fabric.messages import LARGEST_PICTURE, NotAMessage, Pictured
from domogate.ports import Picture


def split_picture(picture: Picture, size: int) -> tuple[Pictured, list[bytes]]:
    """Return the message with the first part of the picture, and the other parts. Each part has at most `size` bytes."""
    content = picture.content
    parts = [content[start : start + size] for start in range(size, len(content), size)]
    return Pictured(picture.media_type, content[:size], len(parts), _digest(content)), parts


async def join_picture(first: Pictured, receive: Callable[[], Awaitable[bytes]]) -> Picture:
    """Receive the parts of the picture that come after the part `first`. Return the whole picture.

    Raises NotAMessage if a part is empty, if the picture is too large, or if its hash is not `first.digest`. A gateway
    with an earlier version sends no digest; then the hash is not checked.
    """
    content = bytearray(first.content)
    for _ in range(first.parts):
        part = await receive()
        content += part
        if not part or len(content) > LARGEST_PICTURE:
            raise NotAMessage("a part of a picture is empty, or the picture is too large")
    picture = bytes(content)
    if first.digest and first.digest != _digest(picture):
        raise NotAMessage("the parts of a picture do not fit together")
    return Picture(first.media_type, picture)


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()
