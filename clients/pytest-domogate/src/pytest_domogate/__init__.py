"""pytest fixtures for tests of applications that use Domogate."""

from collections.abc import Generator, Iterator, Mapping
from typing import Any

import pytest

from domogate.testing import Estate, Gateway

_SHOWN = 20
"""The number of requests that the report of a failed test shows."""
_SHOWN_BODY = 300
"""The number of characters of a refusal that the report shows."""
_GATEWAY = pytest.StashKey[Gateway]()


@pytest.fixture(scope="session")
def domogate_estate() -> Estate | None:
    """The estate of the gateway. Override this fixture in conftest.py; None means the demo estate."""
    return None


@pytest.fixture(scope="session")
def domogate_gateway(domogate_estate: Estate | None) -> Iterator[Gateway]:
    """One gateway for all tests of this process. It is never reset by itself: use the fixture `gateway` in tests."""
    with Gateway.start(domogate_estate) as started:
        yield started


@pytest.fixture
def gateway(domogate_gateway: Gateway, request: pytest.FixtureRequest) -> Gateway:
    """The gateway in its first state: it is reset before each test that uses it."""
    domogate_gateway.reset()
    request.node.stash[_GATEWAY] = domogate_gateway
    return domogate_gateway


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the last requests to the gateway in the report of a failed test."""
    report = yield
    gateway = item.stash.get(_GATEWAY, None)
    if report.when == "call" and report.failed and gateway is not None:
        report.sections.append(("requests to Domogate", _describe_traffic(gateway)))
    return report


def _describe_traffic(gateway: Gateway) -> str:
    try:
        exchanges = gateway.traffic()[-_SHOWN:]
    except Exception as error:  # The report of the test is more important than its additional section.
        return f"not available: {error!r}"
    return "\n".join(_describe_exchange(one) for one in exchanges)


def _describe_exchange(one: Mapping[str, Any]) -> str:
    fault = f" fault {one['fault']}" if one["fault"] else ""
    reason = f"\n    {one['answerBody'][:_SHOWN_BODY]}" if (one["status"] or 0) >= 400 and one["answerBody"] else ""
    return f"{one['method']} {one['path']} -> {one['status']}{fault}{reason}"
