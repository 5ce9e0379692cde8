"""Gateways that look at the database and ask again only once an hour: plants move at once, because gateways are told."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from support import told_gateway
from support.cluster import running_cluster
from support.cluster_home import Home, start_again, wait_for_more
from support.examples import is_long

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROUNDS = 2 if is_long() else 1


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    settings = {"DOMOGATE_DEVICE_DEADLINE": "60", "DOMOGATE_KNOWLEDGE_BOUND": "60"}
    with running_cluster(3, settings, module=told_gateway.__name__) as cluster:
        home = Home(cluster)
        yield home
        home.close()


def test_no_request_waits_for_a_timer_while_gateways_stop_and_start(home: Home) -> None:
    for _ in range(ROUNDS):
        holder, _, _ = home.find_holder_and_other()
        others = [member for member in home.cluster.members if member is not holder]
        with ExitStack() as stack:
            answers = [stack.enter_context(home.switching(other)) for other in others]
            for statuses in answers:
                wait_for_more(statuses)
            holder.terminate()
            for statuses in answers:
                wait_for_more(statuses)
            start_again(holder)
            for statuses in answers:
                wait_for_more(statuses)
        assert {status for statuses in answers for status in statuses} == {"200"}
