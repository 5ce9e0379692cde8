"""Checks an exported audit log by the rules of docs/audit.md, without any code of the gateway."""

import hashlib
import json
import re
from collections.abc import Sequence

_LINE = re.compile(rb'\{"number":([0-9]+),"entry":(.*),"hash":"([0-9a-f]{64})"\}\n?')


def find_broken_line(lines: Sequence[bytes]) -> int | None:
    """Return the position of the first line that was changed or cannot be read, or None. The export must be complete."""
    removals = [json.loads(line)["entry"]["detail"] for line in lines if b'"entries removed"' in line]
    previous = removals[-1]["hash"].encode() if removals else b"0" * 64
    for position, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None:
            return position
        number, entry, digest = match.groups()
        if hashlib.sha256(previous + number + entry).hexdigest().encode() != digest:
            return position
        previous = digest
    return None
