"""A cluster that tests use like one gateway: its address is the balancer, which chooses a gateway at random."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.cluster import Cluster
from support.gateway import LASTING, QUICK, Gateway, import_estate, readings_now, serve_estate, shared_gateway, start
from support.postgres import postgres_server

GATEWAYS = int(os.environ.get("DOMOGATE_TEST_GATEWAYS", "1"))
"""The number of gateways on which the contract is tested."""

PATIENT = {"DOMOGATE_KNOWLEDGE_BOUND": "60", "DOMOGATE_DEVICE_DEADLINE": "20"}
"""On a busy machine, a gateway may get no processor for seconds. It must not refuse requests then."""


@dataclass
class ClusterGateway(Gateway):
    """The gateways of a cluster behind their balancer."""

    cluster: Cluster = field(kw_only=True)
    servers: ExitStack = field(kw_only=True)

    @property
    def log(self) -> str:
        return "".join(member.log.read_text(errors="replace") for member in self.cluster.members)

    def stop(self) -> None:
        if "api" in self.__dict__:
            self.api.close()
        self.servers.close()


def start_cluster(
    command: str,
    directory: Path,
    settings: Mapping[str, str],
    *,
    gateways: int = 3,
    prepare: Callable[[Mapping[str, str]], None] = lambda _: None,
) -> Gateway:
    """`prepare` is called with the environment of the gateways, before they start."""
    directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as servers:
        postgres = servers.enter_context(postgres_server())
        cluster = Cluster(directory, postgres, gateways, {**PATIENT, **settings})
        servers.callback(cluster.stop)
        prepare(cluster.environment)
        cluster.start(command)
        first = cluster.members[0]
        assert first.process is not None
        return ClusterGateway(
            first.process,
            directory / "data",
            first.log,
            cluster.ready,
            cluster.environment,
            is_demo=command == "demo",
            cluster=cluster,
            servers=servers.pop_all(),
        )


def start_gateways(command: str, directory: Path, settings: Mapping[str, str]) -> Gateway:
    """Start one gateway, or a cluster if the environment says so."""
    if GATEWAYS == 1:
        return start(command, directory, settings)
    return start_cluster(command, directory, settings, gateways=GATEWAYS)


def serve_estate_here(document: dict[str, Any], directory: Path, settings: Mapping[str, str]) -> Gateway:
    """As `start_gateways`, for `domogate serve` with this estate."""
    if GATEWAYS == 1:
        return serve_estate(document, directory, settings)

    def prepare(environment: Mapping[str, str]) -> None:
        import_estate(document, directory, directory / "data", environment)

    return start_cluster("serve", directory, settings, gateways=GATEWAYS, prepare=prepare)


@pytest.fixture(scope="session")
def demo(request: pytest.FixtureRequest) -> Gateway:
    """As in `support/gateway.py`, with as many gateways as the environment says."""
    return shared_gateway(request, "demo", LASTING, start_gateways)


@pytest.fixture(scope="session")
def workshop(request: pytest.FixtureRequest) -> Gateway:
    """As in `support/gateway.py`, with as many gateways as the environment says."""
    gateway = shared_gateway(request, "workshop", {**QUICK, **LASTING}, start_gateways)
    gateway.early = gateway.early or readings_now(gateway)
    return gateway
