"""pytest fixtures for tests of applications that use Domogate."""

from collections.abc import Generator, Iterator, Mapping
from typing import Any

import pytest

from domogate.testing import Estate, Gateway
from domogate.testing.process import GatewayProcess

_SHOWN = 20
"""The number of requests that the report of a failed test shows."""
_SHOWN_BODY = 300
"""The number of characters of a refusal that the report shows."""
_GATEWAY = pytest.StashKey[Gateway]()
_PROCESS = pytest.StashKey[GatewayProcess]()
_FIXTURE = "domogate_gateway"
_SELECTIONS = "domogate/selections"
"""The key in pytest's cache for the selections of tests that needed the gateway. The newest is the last."""
_MOST_SELECTIONS = 50


def pytest_sessionstart(session: pytest.Session) -> None:
    """Start the process of the gateway at once if the last run of the same selection needed it."""
    if _selection_of(session.config) in _list_selections(session.config):
        _start_process(session.config)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Start the process of the gateway at the first test that needs it. So it loads while pytest collects other tests."""
    if _uses_gateway(item):
        _start_process(item.config)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Stop the process if no selected test needs it. Note for the next run whether a test needs it."""
    config = session.config
    is_used = any(_uses_gateway(item) for item in session.items)
    if not is_used:
        _stop_process(config)
    selection, others = _selection_of(config), _list_selections(config)
    if is_used is not (selection in others) and (cache := _cache_of(config)) is not None:
        others = [one for one in others if one != selection]
        cache.set(_SELECTIONS, [*others, selection][-_MOST_SELECTIONS:] if is_used else others)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the process if it was not used, for example after an error in the collection."""
    _stop_process(config)


def _uses_gateway(item: pytest.Item) -> bool:
    return _FIXTURE in getattr(item, "fixturenames", ())


def _selection_of(config: pytest.Config) -> str:
    """Return the options that choose the tests of a run."""
    return " ".join([*config.args, "-k", config.option.keyword, "-m", config.option.markexpr])


def _list_selections(config: pytest.Config) -> list[str]:
    cache = _cache_of(config)
    found = [] if cache is None else cache.get(_SELECTIONS, [])
    return found if isinstance(found, list) else []


def _cache_of(config: pytest.Config) -> pytest.Cache | None:
    """Return the cache of pytest, or None if it is switched off (`-p no:cacheprovider`)."""
    return getattr(config, "cache", None)


def _start_process(config: pytest.Config) -> None:
    """Start the process, unless it runs already or this process runs no tests.

    With --collect-only and --fixtures, pytest runs no tests. With pytest-xdist, only the workers run tests.
    """
    only_lists = any(getattr(config.option, name, False) for name in ("collectonly", "showfixtures", "show_fixtures_per_test"))
    has_workers = getattr(config.option, "dist", "no") != "no" and not hasattr(config, "workerinput")
    if _PROCESS not in config.stash and not only_lists and not has_workers:
        config.stash[_PROCESS] = GatewayProcess()


def _stop_process(config: pytest.Config) -> None:
    process = config.stash.get(_PROCESS, None)
    if process is not None:
        del config.stash[_PROCESS]
        process.stop()


@pytest.fixture(scope="session")
def domogate_estate() -> Estate | None:
    """The estate of the gateway. Override this fixture in conftest.py; None means the demo estate."""
    return None


@pytest.fixture(scope="session")
def domogate_gateway(domogate_estate: Estate | None, pytestconfig: pytest.Config) -> Iterator[Gateway]:
    """One gateway for all tests of this process. It is never reset by itself: use the fixture `gateway` in tests."""
    process = pytestconfig.stash.get(_PROCESS, None) or GatewayProcess()
    if _PROCESS in pytestconfig.stash:
        del pytestconfig.stash[_PROCESS]  # From now on, this fixture stops the process.
    with Gateway.start_on(process, domogate_estate) as started:
        yield started


@pytest.fixture
def gateway(domogate_gateway: Gateway, request: pytest.FixtureRequest) -> Gateway:
    """The gateway. It is reset to its state after the start before each test that uses it."""
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
