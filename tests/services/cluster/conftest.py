"""A cluster whose members run on virtual time."""

from collections.abc import AsyncIterator

import pytest

from support.cluster_setup import FakeLeases, TestCluster


@pytest.fixture
def leases() -> FakeLeases:
    return FakeLeases()


@pytest.fixture
async def cluster(leases: FakeLeases, virtual_time: None) -> AsyncIterator[TestCluster]:
    cluster = TestCluster(leases)
    yield cluster
    await cluster.stop_all()
    assert cluster.devices.conflicts == []
