"""The command line of these tests."""

import pytest

from support.command_line import CommandLine, domogate
from support.device_estate import home
from support.small_estate import SMALL_ESTATE

__all__ = ["domogate", "home"]


@pytest.fixture
def small(domogate: CommandLine) -> CommandLine:
    """The command line of a gateway that has the small estate."""
    domogate.good("estate", "import", "-", input=SMALL_ESTATE)
    return domogate
