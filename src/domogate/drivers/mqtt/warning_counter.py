"""Counts unreadable messages. Only one log line from time to time says how many: a faulty device must not fill the log."""

from domogate.common.log import get_logger

_log = get_logger(__name__)

_SHOWN = 80


class WarningCounter:
    """The number of unreadable messages since the last log line, and the newest of these messages."""

    def __init__(self, broker: str) -> None:
        self._broker = broker
        self._unlogged = 0
        self._newest: tuple[bytes, bytes, str] = (b"", b"", "")
        self.counted = 0
        """The number of unreadable messages since the start."""

    def add(self, topic: bytes, payload: bytes, words: str) -> None:
        self.counted += 1
        self._unlogged += 1
        self._newest = (topic, payload[:_SHOWN], words)

    def log(self) -> None:
        """Write one log line about all unreadable messages since the last line. Without such messages, write nothing."""
        if self._unlogged:
            topic, payload, words = self._newest
            _log.warning(
                "unreadable messages were ignored",
                broker=self._broker,
                messages=self._unlogged,
                topic=topic.decode(errors="replace"),
                payload=payload.decode(errors="replace"),
                why=words,
            )
            self._unlogged = 0
