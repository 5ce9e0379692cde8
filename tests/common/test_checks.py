"""The messages of the checks of numbers."""

import pytest

from domogate.common.checks import between


@pytest.mark.parametrize(
    ("low", "high", "said"), [(60, 31_536_000, "from 60 to 31536000"), (0.05, 1, "from 0.05 to 1"), (0, 2.5, "from 0 to 2.5")]
)
def test_a_message_shows_limits_as_people_write_them(low: float, high: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        between(low, high)(-1)
