"""What could not be read is counted, and said now and then: a device gone mad must not fill the log."""

import structlog

_log = structlog.get_logger(__name__)

_SHOWN = 80


class Complaints:
    """Payloads that made no sense: how many since it was last said, and the newest of them."""

    def __init__(self, broker: str) -> None:
        self._broker = broker
        self._unsaid = 0
        self._newest: tuple[bytes, bytes, str] = (b"", b"", "")
        self.counted = 0
        """All there ever were."""

    def take(self, topic: bytes, payload: bytes, words: str) -> None:
        self.counted += 1
        self._unsaid += 1
        self._newest = (topic, payload[:_SHOWN], words)

    def say(self) -> None:
        """One line for all since the last time."""
        if self._unsaid:
            topic, payload, words = self._newest
            _log.warning(
                "messages passed over",
                broker=self._broker,
                messages=self._unsaid,
                topic=topic.decode(errors="replace"),
                payload=payload.decode(errors="replace"),
                why=words,
            )
            self._unsaid = 0
