"""Finds damage in the write-ahead log of a SQLite file. SQLite reads the log up to the damage, and ignores the rest.

The log is a list of frames. A frame has one changed page of the database. The last frame of a transaction is its commit.

After a power failure, the last transaction in a log is often incomplete. This loses nothing, because no caller got an answer
for this transaction. But each commit is on disk before the next transaction begins. The first commit after the
frame at which SQLite stops ends the transaction of this frame. If a second commit follows, this transaction was already on
disk, and the frame was damaged later. Then answered writes would be lost (Decision 0133).
"""

import os
import struct
from pathlib import Path

_HEADER, _FRAME = 32, 24
"""In bytes: the size of the header of the log, and the size of the header of a frame. A frame has one page of the database."""
_MAGIC = (0x377F0682, 0x377F0683)
_INDEX_COPY = 48
"""In bytes: the size of the header of the file -shm, SQLite's index of the log. The file begins with this header, twice."""
_MOST_FRAMES = 100_000


def find_damaged_log(path: Path) -> str | None:
    """Return what is wrong with the log of the database, or None if no damage is found.

    Before this call, a connection must have read the database. During this read, SQLite decides how many frames it uses. It
    writes this number to the file `-shm`, which is beside the database.
    """
    log = Path(f"{path}-wal")
    try:
        with log.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            header = file.read(_HEADER)
            if len(header) < _HEADER or not any(header):
                return None
            if not _is_header(header):
                return f"its log {log.name} does not begin as a log of SQLite"
            valid = _count_valid_frames(Path(f"{path}-shm"), header)
            if valid is None:
                return None
            page_size = struct.unpack_from(">I", header, 8)[0]
            lost = 0
            for number in range(valid, min(valid + _MOST_FRAMES, (size - _HEADER) // (_FRAME + page_size))):
                file.seek(_HEADER + number * (_FRAME + page_size))
                frame = file.read(_FRAME)
                is_commit = len(frame) == _FRAME and frame[4:8] != bytes(4) and frame[8:16] == header[16:24]
                lost += is_commit
            if lost > 1 and _count_valid_frames(Path(f"{path}-shm"), header) != valid:
                return None  # Another process committed while the frames were read.
    except OSError:
        return None
    return f"its log {log.name} is damaged after frame {valid}, and {lost} commits follow" if lost > 1 else None


def _is_header(header: bytes) -> bool:
    magic = struct.unpack_from(">I", header)[0]
    if magic not in _MAGIC:
        return False
    words = struct.unpack_from(f"{'>' if magic & 1 else '<'}6I", header)
    first = second = 0
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return struct.unpack_from(">2I", header, 24) == (first, second)


def _count_valid_frames(index: Path, header: bytes) -> int | None:
    """Return the number of frames that SQLite uses. Return None if it is not known, because another process writes now.

    `index` is the file -shm, SQLite's index of the log. `header` is the beginning of the log.
    """
    with index.open("rb") as file:
        one, two = file.read(_INDEX_COPY), file.read(_INDEX_COPY)
    if len(two) < _INDEX_COPY or one != two or one[32:40] != header[16:24]:
        return None
    return int(struct.unpack_from("=I", one, 16)[0])
