"""E4 and E12 show current measurements, not the values of the estate file."""

import pytest

from support.gateway import Gateway, eventually, readings_now

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("operation", ["E4", "E12"])
def test_the_readings_move_with_time(workshop: Gateway, operation: str) -> None:
    """Simulated devices measure once a minute. In a full run this happens before the test starts."""
    eventually(lambda: bool(readings_now(workshop)[operation] != workshop.early[operation]), "other readings", patience=150)
