"""The operation that shows the gateways of the cluster."""

from datetime import datetime

from domogate.http_api.operations import OperationTable
from domogate.management.services import ManagementServices, OperatorCall
from domogate.ports import LiveMember, MessageLink
from domogate.wire import OutputModel, to_datetime

OPERATIONS = OperationTable("cluster")


class GatewayOut(OutputModel, frozen=True):
    """A gateway of the cluster. `answering` is true for the gateway that sent this answer.

    If the gateway does not renew its lease within `leaseLeft` seconds, other gateways drive its plants. `shards` is the number
    of shards that the gateway holds; the cluster has 1,024 shards. `leaving` is true while the gateway stops and hands over
    its shards. `messages` says whether the gateway gets messages of the other gateways. If the value is `cut off`, the gateway
    hands over its shards to other gateways.
    """

    id: str
    name: str
    url: str
    version: str
    started_at: datetime
    lease_left: float
    shards: int
    leaving: bool
    messages: MessageLink
    answering: bool


class ClusterOut(OutputModel, frozen=True):
    """The gateways, as known to the gateway that answers. `name` is null if this gateway is not a member of a cluster.

    `knowledgeAge` is the number of seconds since this gateway last knew all changes of the other gateways. `knowledgeBound` is
    the setting `knowledge_bound`: if `knowledgeAge` is greater, this gateway is not ready.

    `natsProblem` says why this gateway has no connection to NATS. It is null while there is a connection.
    """

    at: datetime
    name: str | None
    gateways: tuple[GatewayOut, ...]
    knowledge_age: float | None
    knowledge_bound: float | None
    nats_server: str | None
    nats_problem: str | None


@OPERATIONS.add("GET /cluster", "The gateways of the cluster and their health; an empty list if this gateway is not a member")
async def get_cluster(services: ManagementServices, _call: OperatorCall) -> ClusterOut:
    at, cluster = to_datetime(services.clock.now()), services.status.read_cluster()
    if cluster is None:
        return ClusterOut(at, None, (), None, None, None, None)
    return ClusterOut(
        at=at,
        name=cluster.name,
        gateways=tuple(_gateway_out(live, answering=live.member.id == cluster.own_id) for live in cluster.members),
        knowledge_age=round(cluster.knowledge_age, 3),
        knowledge_bound=cluster.knowledge_bound,
        nats_server=cluster.nats_server or None,
        nats_problem=cluster.nats_problem or None,
    )


def _gateway_out(live: LiveMember, *, answering: bool) -> GatewayOut:
    return GatewayOut.of(
        live.member,
        live,
        lease_left=round(live.lease_left, 1),
        leaving=live.is_leaving,
        messages=live.link,
        answering=answering,
    )
