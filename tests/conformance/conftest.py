"""The certified configuration: RS256 and the implicit flow are enabled (Decision 0027)."""

import pytest

from support.certification import Browser, RelyingParty, provider
from support.gateway import Gateway


@pytest.fixture(scope="session")
def certified(request: pytest.FixtureRequest) -> Gateway:
    return provider(request, "certified", {"DOMOGATE_SIGNING_ALGORITHM": "RS256", "DOMOGATE_IMPLICIT_ENABLED": "true"})


@pytest.fixture
def browser(certified: Gateway) -> Browser:
    """A new browser in which nobody is logged in."""
    return Browser(certified)


@pytest.fixture
def rp(certified: Gateway) -> RelyingParty:
    return RelyingParty(certified)
