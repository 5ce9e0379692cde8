"""Gateways of a cluster count rates together: each gateway tells the other gateways how many requests it admits.

A message can be lost, and it arrives some time after the requests. So all gateways together can admit more requests than the
rate allows. `INTERVAL` is the time between two messages of a gateway. If no message is lost, the excess is at most the number
of requests that arrive in one `INTERVAL` (docs/cluster.md).
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Annotated

import msgspec

from domogate.common.limited_log import LimitedLog
from domogate.common.log import get_logger
from domogate.domain.ids import new_id
from domogate.identity.rates import Rate, RateWindow, RateWindows, parse_rate
from domogate.ports import Clock

_log = get_logger(__name__)

INTERVAL = 0.1
"""In seconds. A gateway collects its counts for this time, and then sends them in a message."""
_MOST_IN_A_MESSAGE = 2_000
"""The largest number of keys in a message.

Such a message has about 150 kB. NATS servers refuse messages that are larger than 1 MB.
"""
_LARGEST = 1 << 20
"""In bytes. A larger message is ignored.

A NATS server can be configured to deliver larger messages, but no gateway sends them.
"""


class KeyCount(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The number of requests that a gateway has admitted for a key. `key` is the id of the subscription, not the secret."""

    key: Annotated[str, msgspec.Meta(max_length=100)]
    rate: Annotated[str, msgspec.Meta(max_length=20)]
    number: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]


class RateMessage(msgspec.Struct, frozen=True, array_like=True):
    """The counts of one gateway.

    NATS delivers the messages of a process also to this process. `sender` is different for each process, so a process can
    ignore its own messages.
    """

    sender: Annotated[str, msgspec.Meta(max_length=36)]
    counts: Annotated[tuple[KeyCount, ...], msgspec.Meta(max_length=_MOST_IN_A_MESSAGE)]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(RateMessage).decode


class RateSharing:
    """Shares the counts of requests with other gateways. `publish` sends a message to all gateways; the message may be lost."""

    def __init__(self, windows: RateWindows, clock: Clock, publish: Callable[[bytes], None]) -> None:
        self._windows = windows
        self._clock = clock
        self._publish = publish
        self._sender = new_id()
        self._unsent: Counter[tuple[str, Rate]] = Counter()
        self._timer: asyncio.TimerHandle | None = None
        self._not_valid = LimitedLog(_log, "messages about rates are not valid")
        windows.on_admitted = self._note

    def _note(self, window: RateWindow) -> None:
        self._unsent[window.key, window.rate] += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._send)

    def _send(self) -> None:
        self._timer = None
        counts = [KeyCount(key, str(rate), number) for (key, rate), number in self._unsent.items()]
        self._unsent.clear()
        for start in range(0, len(counts), _MOST_IN_A_MESSAGE):
            self._publish(_encode(RateMessage(self._sender, tuple(counts[start : start + _MOST_IN_A_MESSAGE]))))

    def receive(self, content: bytes) -> None:
        """Count the requests that another gateway reports in this message. A message that is not valid is ignored."""
        if len(content) > _LARGEST:
            self._not_valid.warn(f"the message has {len(content)} bytes; the limit is {_LARGEST}")
            return
        try:
            message = _decode(content)
            counts = [(each.key, parse_rate(each.rate), each.number) for each in message.counts]
        except (ValueError, RecursionError) as error:
            self._not_valid.warn(error)
            return
        if message.sender != self._sender:
            now = self._clock.now()
            for key, rate, number in counts:
                self._windows.add(key, rate, now, number)

    def stop(self) -> None:
        self._windows.on_admitted = None
        if self._timer is not None:
            self._timer.cancel()
            self._send()
