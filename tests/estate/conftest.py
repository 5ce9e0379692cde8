import pytest

from domogate.domain.estate import Estate
from domogate.estate import demo_text, print_estate, read_estate


@pytest.fixture(scope="session")
def demo() -> Estate:
    return read_estate(demo_text(), "demo").estate


@pytest.fixture(scope="session")
def printed(demo: Estate) -> str:
    """The demo estate, printed."""
    return print_estate(demo)
