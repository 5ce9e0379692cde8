"""Many clients of one gateway, some of which reconnect: each gets every change of its plant once."""

from pathlib import Path

import pytest

from support.examples import is_long
from support.stream_load import run_streams

pytestmark = pytest.mark.slow

LOAD = {"plants": 60, "listeners": 120, "rate": 60} if is_long() else {"plants": 30, "listeners": 60, "rate": 30}


def test_every_client_gets_every_event_once_also_over_reconnects(tmp_path: Path) -> None:
    """The soak measures the speed of reads meanwhile, on a quiet machine."""
    said: list[str] = []
    summary = run_streams(tmp_path, 2.5, 5, said.append, **LOAD, idle_for=0.2, times_idle=None)
    assert " reconnects" in summary
    assert " 0 reconnects" not in summary
