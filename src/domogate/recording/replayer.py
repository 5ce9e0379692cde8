"""Serves the answers of a recording again."""

from collections.abc import Iterable
from threading import Lock

import msgspec

from domogate.recording.exchanges import Exchange
from domogate.recording.redaction import redact_target
from domogate.recording.server import Answer, Request, Responder


class Replayer(Responder):
    """Gives the answers of the recorded gateway. Equal requests get their answers in the recorded order.

    If there are more equal requests than recorded answers, each further request gets the last of these answers again.
    """

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._answers: dict[tuple[str, str], list[Exchange]] = {}
        for exchange in exchanges:
            self._answers.setdefault((exchange.method, exchange.target), []).append(exchange)
        self._served: dict[tuple[str, str], int] = {}
        self._lock = Lock()

    @property
    def count(self) -> int:
        """The number of different requests that have an answer."""
        return len(self._answers)

    def answer(self, request: Request) -> Answer:
        try:
            key = request.method, redact_target(request.target)
        except ValueError:
            return _missing("the query has too many fields")
        recorded = self._answers.get(key)
        if recorded is None:
            return _missing(f"the recording has no answer for {key[0]} {key[1]}")
        with self._lock:
            number = self._served.get(key, 0)
            self._served[key] = number + 1
        exchange = recorded[min(number, len(recorded) - 1)]
        headers = [("Content-Type", exchange.content_type)] if exchange.content_type else []
        has_body = not exchange.is_empty and "json" in exchange.content_type
        return Answer(exchange.status, headers, msgspec.json.encode(exchange.body) if has_body else b"")


def _missing(why: str) -> Answer:
    return Answer(404, [("Content-Type", "application/json")], msgspec.json.encode({"message": why}))
