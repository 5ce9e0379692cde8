"""The operations of /tickets: SDKs and door stations redeem tickets and fetch pictures."""

import msgspec
from starlette.responses import Response

from domogate.common.http_messages import Request
from domogate.http_api.credentials import Credentials, read_bearer_token
from domogate.http_api.operations import Call, OperationTable, Surface
from domogate.services.tickets import NotRedeemed, Reason, Redemption
from domogate.tickets.problems import TicketProblem, errors_for
from domogate.tickets.wire import RedemptionOut, RedemptionRequest, redemption_out

OPERATIONS = OperationTable()


class TicketServices(msgspec.Struct, frozen=True):
    redemption: Redemption
    base_url: str

    @property
    def picture_url(self) -> str:
        return f"{self.base_url}{SURFACE.prefix}/picture"


class PictureToken(Credentials[str]):
    """Reads the picture token from the header Authorization. The handler of the operation verifies the token.

    The client got the picture token when it redeemed a ticket for a camera.
    """

    schemes = {"picture": {"type": "http", "scheme": "bearer", "description": "`picture.token` of a redemption's answer"}}

    async def check(self, request: Request, _operation: str) -> str:
        return read_bearer_token(request, "the token of the redemption")


def _admit(services: TicketServices, address: str) -> None:
    try:
        services.redemption.admit(address)
    except NotRedeemed as refused:
        raise TicketProblem(refused, "Ticket") from None


@OPERATIONS.add(
    "POST /redeem",
    "Redeem a ticket",
    anonymous=True,
    admit=_admit,
    success="The device has confirmed the command",
    errors={400: "The body does not have exactly one ticket", **errors_for(frozenset(Reason) - {Reason.CAMERA_OFF})},
)
async def redeem(services: TicketServices, call: Call[None], body: RedemptionRequest) -> RedemptionOut:
    try:
        redeemed = await services.redemption.redeem(body.ticket, call.address)
    except NotRedeemed as refused:
        raise TicketProblem(refused, "Ticket") from None
    return redemption_out(redeemed, services.picture_url)


@OPERATIONS.add(
    "GET /picture",
    "The camera's present picture",
    success="A picture; clients must not store it",
    media_types=("image/png", "image/jpeg"),
    errors=errors_for(frozenset(Reason) - {Reason.USED}),
)
async def picture(services: TicketServices, call: Call[str]) -> Response:
    try:
        taken = await services.redemption.take_picture(call.caller, call.address)
    except NotRedeemed as refused:
        raise TicketProblem(refused, "Bearer") from None
    return Response(taken.content, headers={"x-content-type-options": "nosniff"}, media_type=taken.media_type)


SURFACE = Surface(
    name="tickets",
    prefix="/tickets",
    description="For SDKs and door stations: a ticket (E11, E15) is redeemed once, and opens a lock or switches a camera on. "
    "To redeem it, only the ticket is needed. To fetch a picture, the picture token of the answer is needed. "
    "No subscription key is needed. "
    "If a request is refused, `type` in the answer says why.",
    operations=OPERATIONS,
    credentials=PictureToken,
)
