"""Memory of the process after the start."""

import ctypes
import gc
from contextlib import suppress


def finish_start_up() -> None:
    """Exclude the objects that exist now from later garbage collections, and return free memory to the system.

    The objects of the start live as long as the process, so that collections need not look at them. Only glibc can return
    memory; other systems leave this step out.
    """
    gc.collect()
    gc.freeze()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
