"""Event streams with thousands of listeners: each gets every event once, and reads stay fast."""

from collections.abc import Callable
from pathlib import Path

from support.stream_load import run_streams

PLANTS, LISTENERS, RATE = 200, 2_000, 200
IDLE_FOR, LEAST_FOR = 15.0, 20.0
TIMES_IDLE = 3.0


def stream_to_thousands(directory: Path, seconds: float, seed: int, say: Callable[[str], None]) -> str:
    """Raises AssertionError."""
    return run_streams(
        directory,
        max(seconds - 2 * IDLE_FOR, LEAST_FOR),
        seed,
        say,
        plants=PLANTS,
        listeners=LISTENERS,
        rate=RATE,
        idle_for=IDLE_FOR,
        times_idle=TIMES_IDLE,
    )
