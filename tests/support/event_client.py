"""A client of /events that reconnects with the id of the last event."""

import http.client
import json
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from support.http import KEY_HEADER

_PAUSE = 0.02
_PATIENCE = 60


@dataclass
class EventClient:
    """Records all events. Inside a `with` block it reads on its own thread."""

    base_url: str
    key: str
    token: str
    query: str = ""
    last_id: str | None = None
    ids: list[int] = field(default_factory=list)
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    connections: int = 0
    refused: list[int] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _connection: http.client.HTTPConnection | None = None
    _thread: threading.Thread | None = None

    def __enter__(self) -> "EventClient":
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        connection = self._connection
        if connection is not None and connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)  # unlike a close, it wakes the reading thread
        assert self._thread is not None
        self._thread.join(_PATIENCE)

    def wait_for_event(self, cursor: int) -> None:
        """Wait for the event of this change or a later one."""
        give_up = time.monotonic() + _PATIENCE
        while self.last_id is None or int(self.last_id) < cursor:
            assert time.monotonic() < give_up, f"event {cursor} did not arrive; the last one was {self.last_id}"
            time.sleep(_PAUSE)

    def _follow(self) -> None:
        while not self._stop.is_set():
            # The gateway or this client has stopped. An event that was cut off is sent again after the reconnect.
            with suppress(OSError, ValueError, AttributeError, http.client.HTTPException):
                self._listen()
            time.sleep(_PAUSE)

    def _listen(self) -> None:
        connection = self._connection = http.client.HTTPConnection(urlsplit(self.base_url).netloc, timeout=2)
        headers = {KEY_HEADER: self.key, "Authorization": f"Bearer {self.token}"}
        if self.last_id is not None:
            headers["Last-Event-ID"] = self.last_id
        try:
            connection.request("GET", f"/events{self.query}", headers=headers)
            answer = connection.getresponse()
            if answer.status != 200:
                self.refused.append(answer.status)
                return
            self.connections += 1
            block: dict[str, str] = {}
            while (line := answer.readline()) and not self._stop.is_set():
                if line == b"\n":
                    self._take(block)
                    block = {}
                elif not line.startswith(b":"):
                    name, _, value = line.decode().rstrip("\n").partition(": ")
                    block[name] = value
        finally:
            connection.close()

    def _take(self, block: dict[str, str]) -> None:
        if "event" not in block:
            return
        event, data = block["event"], json.loads(block["data"])
        self.events.append((event, data))
        if "id" in block:
            self.last_id = block["id"]
            if event != "ready":
                self.ids.append(int(block["id"]))
