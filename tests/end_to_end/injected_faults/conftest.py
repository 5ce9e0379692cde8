"""A gateway for injected faults, and the tool that injects them."""

from collections.abc import Iterator

import pytest

from support.gateway import QUICK, Gateway, running, start
from support.gateway_faults import GatewayFaults


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """It asks devices for every read, with a short deadline."""
    with running(start("demo", tmp_path_factory.mktemp("faults"), QUICK)) as started:
        yield started


@pytest.fixture(scope="module")
def faults(gateway: Gateway) -> Iterator[GatewayFaults]:
    faults = GatewayFaults(gateway)
    yield faults
    faults.close()
