"""The file of a recording: one exchange (request and answer) in each line, as JSON.

The size of the file is limited. Only the operating system user who runs `domogate record` can read the file.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import msgspec

LARGEST_RECORDING = 64 * 2**20
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


class BadRecording(Exception):
    """The file is not a recording, or no estate file can be made from it. The message says why."""


class Exchange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A request and its redacted answer. The body of the request and its headers are never stored."""

    method: str
    target: str
    """The path and the query, as `redact_target` returns them."""
    status: int
    content_type: str = ""
    body: Any = None
    """A JSON value. None if the answer has no body, or a body that is not JSON, such as a picture."""
    is_empty: bool = False
    """True if the answer has no body. If it is false and the content type is JSON, a body of None is the JSON value null."""


class RecordingFile:
    """Adds exchanges (requests with their answers) to a new file. Several threads may use the object."""

    def __init__(self, path: Path, *, replace: bool = False) -> None:
        """Raises OSError, for example if the file exists and may not be replaced."""
        if replace:
            path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600)
        self._file: BinaryIO = os.fdopen(handle, "wb")
        self._lock = Lock()
        self._size = 0
        self.count = 0
        self.is_full = False

    def add(self, exchange: Exchange) -> bool:
        """Write the exchange. Return False if the file would become too large; it then stays as it is."""
        line = msgspec.json.encode(exchange) + b"\n"
        with self._lock:
            if self._file.closed or self._size + len(line) > LARGEST_RECORDING:
                self.is_full = True
                return False
            self._file.write(line)
            self._file.flush()
            self._size += len(line)
            self.count += 1
            return True

    def close(self) -> None:
        with self._lock:
            self._file.close()


def read_recording(path: Path) -> Iterator[Exchange]:
    """Yield the exchanges of a recording, in the order of the file.

    Raises BadRecording if the file is too large or is not a recording, and OSError if it cannot be read.
    """
    if path.stat().st_size > LARGEST_RECORDING:
        raise BadRecording(f"{path} has more than {LARGEST_RECORDING // 2**20} MiB.")
    decode = msgspec.json.Decoder(Exchange).decode
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                exchange = decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as wrong:
                raise BadRecording(f"{path}, line {number} is not an exchange: {wrong}") from None
            if not 200 <= exchange.status <= 599 or not exchange.target.startswith("/"):
                raise BadRecording(f"{path}, line {number} has a status or a path that is not of HTTP.")
            yield exchange
