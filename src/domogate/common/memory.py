"""Makes the process smaller and its garbage collections shorter, at the end of the start."""

import ctypes
import gc
from contextlib import suppress


def finish_start_up() -> None:
    """Switch the garbage collector on, and return free memory to the system.

    Only glibc has the function that returns memory. On systems without glibc, no memory is returned.
    """
    gc.collect()
    enable_collector()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def enable_collector() -> None:
    """Switch the garbage collector on. It ignores the objects that exist now, because they exist until the process ends."""
    gc.freeze()
    gc.enable()
