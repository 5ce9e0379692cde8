"""The operation that describes the person who calls."""

from domogate.domain.people import Standing
from domogate.homes.services import HomeCall, HomeServices
from domogate.http_api.operations import OperationTable
from domogate.services.homes.homes import DOOR_SCOPE
from domogate.services.refusals import NotFound
from domogate.wire import OutputModel

OPERATIONS = OperationTable("me")


class MeOut(OutputModel, frozen=True):
    """The person of the token.

    If `standing` is not `good`, other operations answer 469 or 470 until the person has renewed the password or accepted the
    terms on the account page.

    `mayUseDoors` says whether the application may open doors and see cameras.
    """

    id: str
    email: str
    name: str
    language: str | None
    operator: bool
    standing: Standing
    may_use_doors: bool


@OPERATIONS.add("GET /me", "The person of the token")
async def get_me(services: HomeServices, call: HomeCall) -> MeOut:
    user = await services.identities.find_user(call.caller.user_id)
    if user is None:
        raise NotFound("The person of the token does not exist any more.")
    return MeOut.of(user, may_use_doors=DOOR_SCOPE in call.caller.scopes)
