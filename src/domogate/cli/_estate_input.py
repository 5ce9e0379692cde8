"""Reads the text of an estate file, and shows the progress on a terminal."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO, cast

from domogate.cli._command import Mistake
from domogate.cli._output import progress_bar

OpenText = Callable[[], AbstractContextManager[TextIO]]


@contextmanager
def open_input(file: Path) -> Iterator[OpenText]:
    """Yield a function that opens the text of the file, or of standard input if the file is `-`.

    The yielded function may be called more than once, so standard input is copied to a temporary file. Raises Mistake if the
    file cannot be opened or is not UTF-8 text.
    """
    if str(file) == "-":
        with tempfile.TemporaryFile("w+", encoding="utf-8") as copy:
            try:
                shutil.copyfileobj(sys.stdin, copy)
            except UnicodeDecodeError:
                raise Mistake("Standard input is not UTF-8 text.") from None

            def rewind() -> AbstractContextManager[TextIO]:
                copy.seek(0)
                return nullcontext(cast(TextIO, copy))

            yield rewind
        return
    with ExitStack() as opened:
        try:
            text = opened.enter_context(file.open(encoding="utf-8"))
        except OSError as error:
            raise Mistake(f"{file} cannot be read: {error.strerror}.") from None
        advance = opened.enter_context(progress_bar("Checking", file.stat().st_size))
        try:
            yield lambda: nullcontext(cast(TextIO, _ShownText(text, advance)))
        except UnicodeDecodeError:
            raise Mistake(f"{file} is not UTF-8 text.") from None


class _ShownText:
    """A text file that counts how much of it was read: each `read` calls `advance` with the number of characters."""

    def __init__(self, text: TextIOWrapper, advance: Callable[[int], None]) -> None:
        text.seek(0)
        self._text = text
        self._advance = advance

    def read(self, size: int = -1) -> str:
        piece = self._text.read(size)
        self._advance(len(piece))
        return piece
