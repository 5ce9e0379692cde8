"""Reads the event stream of a real gateway over HTTP, with an independent client library."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from queue import Empty, Queue
from typing import Any

import httpx
from httpx_sse import EventSource, ServerSentEvent, connect_sse

from support.gateway import Gateway
from support.http import KEY_HEADER, PATIENCE


class StreamReader:
    """Reads on its own thread."""

    def __init__(
        self, gateway: Gateway, token: str, *, query: str = "", key: str = "", last: str | None = None, path: str = "/events"
    ) -> None:
        headers = {KEY_HEADER: key or gateway.subscription_key, "Authorization": f"Bearer {token}"}
        if last is not None:
            headers["Last-Event-ID"] = last
        self._http = httpx.Client(base_url=gateway.base_url, trust_env=False, verify=False, timeout=PATIENCE)
        self._connect: Callable[[], AbstractContextManager[EventSource]] = lambda: connect_sse(
            self._http, "GET", f"{path}{query}", headers=headers
        )
        self._closing = False
        self._received: Queue[ServerSentEvent | None] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with self._http, suppress(httpx.HTTPError), self._connect() as source:
            for event in source.iter_sse():
                self._received.put(event)
                if self._closing:
                    return
        self._received.put(None)

    def wait_for(self, wanted: Callable[[ServerSentEvent], bool]) -> ServerSentEvent:
        """The next event of this kind; others are skipped."""
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                event = self._received.get(timeout=max(0.0, give_up - time.monotonic()))
            except Empty:
                raise AssertionError("the event did not come") from None
            assert event is not None, "the stream was over before"
            if wanted(event):
                return event

    def is_let_in(self) -> bool:
        """Whether any event arrives."""
        event = self._received.get(timeout=PATIENCE)
        assert event is None or event.event == "ready"
        return event is not None

    def wait_named(self, name: str) -> ServerSentEvent:
        return self.wait_for(lambda event: event.event == name)

    def wait_over(self) -> None:
        assert self._received.get(timeout=PATIENCE) is None

    def close(self) -> None:
        """The thread ends at the next event; the test does not wait for it."""
        self._closing = True


@contextmanager
def open_stream(gateway: Gateway, token: str, **how: Any) -> Iterator[StreamReader]:
    reader = StreamReader(gateway, token, **how)
    try:
        reader.wait_named("ready")
        yield reader
    finally:
        reader.close()


def data_of(event: ServerSentEvent) -> dict[str, Any]:
    return dict(json.loads(event.data)["data"])
