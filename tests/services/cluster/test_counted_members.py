"""The metric `domogate_cluster_members`: the members whose leases have not ended."""

import asyncio

import pytest

from domogate.app.cluster_metrics import register_cluster_metrics
from domogate.edge.metrics import Metrics
from domogate.services.cluster import ClusterStatus
from support.cluster_setup import TestCluster, TestMember

pytestmark = pytest.mark.usefixtures("virtual_time")


def count_members(member: TestMember) -> float | None:
    """Return the number of members that /metrics of this member shows."""
    members = member.membership.list_members()
    status = ClusterStatus("north", None, members, 0, 0, 0.0, 2.0, "nats://nats", "")
    metrics = Metrics()
    register_cluster_metrics(metrics, lambda: status)
    return metrics.registry.get_sample_value("domogate_cluster_members")


async def test_a_member_that_cannot_renew_its_lease_does_not_count_itself_and_the_others(cluster: TestCluster) -> None:
    first, second = await cluster.start("first"), await cluster.start("second")
    await cluster.settle()
    assert (count_members(first), count_members(second)) == (2, 2)
    second.link.is_cut = True
    await asyncio.sleep(10)
    assert (count_members(first), count_members(second)) == (1, 0)
    second.link.is_cut = False
    await asyncio.sleep(3)
    assert (count_members(first), count_members(second)) == (2, 2)
