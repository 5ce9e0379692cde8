"""The gateways that these tests use. The fixtures `operator`, `rp` and `browser` belong to the gateway `identity`."""

import pytest

from support.certification import DESK, OPERATOR, STRICT, Browser, Operator, RelyingParty, identity_gateway
from support.gateway import Gateway, demo, web, workshop

__all__ = ["browser", "demo", "identity", "operator", "rp", "web", "workshop"]


@pytest.fixture(scope="session")
def identity(request: pytest.FixtureRequest) -> Gateway:
    return identity_gateway(request)


@pytest.fixture(scope="module")
def operator(identity: Gateway) -> Operator:
    """With a token of the usual flow."""
    return Operator(identity, RelyingParty(identity, DESK).log_in(Browser(identity, OPERATOR), scope="openid gateway.manage"))


@pytest.fixture
def rp(identity: Gateway) -> RelyingParty:
    return RelyingParty(identity, STRICT)


@pytest.fixture
def browser(identity: Gateway) -> Browser:
    return Browser(identity)
