"""The file of a recording: one exchange (request and answer) in each line, as JSON.

The size of the file is limited. Only the operating system user who runs `domogate record` can read the file.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

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
    """The JSON value in the body. None if the answer has no body, or a body that is not JSON, such as a picture."""
    is_empty: bool = False
    """True if the answer has no body. False if the body is the JSON value null, although `body` is None."""


class RecordingFile:
    """Adds exchanges (requests with their answers) to a new file. Several threads may use the object."""

    def __init__(self, path: Path, *, replace: bool = False) -> None:
        """Raises OSError, for example if the file exists and may not be replaced."""
        if replace:
            path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600)
        self._file = os.fdopen(handle, "wb", buffering=0)
        self._lock = Lock()
        self._size = 0
        self.count = 0
        self.has_ended = False

    def add(self, exchange: Exchange) -> str | None:
        """Write the exchange, unless the recording has ended. Return the reason if the recording ends now, and None otherwise.

        The recording ends if the file would become too large, or if the exchange cannot be written. The file keeps the lines
        that it has.
        """
        line = msgspec.json.encode(exchange) + b"\n"
        with self._lock:
            if self.has_ended:
                return None
            if self._size + len(line) > LARGEST_RECORDING:
                self.has_ended = True
                return f"the file may have at most {LARGEST_RECORDING // 2**20} MiB"
            try:
                self._write(line)
            except OSError as failed:
                self.has_ended = True
                with suppress(OSError):
                    self._file.truncate(self._size)
                return failed.strerror or str(failed)
            self._size += len(line)
            self.count += 1
            return None

    def close(self) -> None:
        with self._lock:
            self.has_ended = True
            self._file.close()

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:  # A disk that becomes full can take only a part.
            rest = rest[self._file.write(rest) :]


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
