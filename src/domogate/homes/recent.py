"""The operation that shows the last events of a home, as data that a page can show in any language."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from domogate.domain.ids import Id
from domogate.domain.login_names import print_email
from domogate.domain.notices import NoticeKind
from domogate.homes.services import HomeCall, HomeServices
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing
from domogate.services.homes.commands import Outcome
from domogate.services.homes.homes import Home
from domogate.services.homes.recent import RecentEvent
from domogate.services.rights.access import Role
from domogate.wire import OutputModel, to_datetime
from domogate.wire.commands import CommandBody, command_body
from domogate.wire.states import StateOut, state_out

OPERATIONS = OperationTable("events")

MOST = 100


class RecentKind(StrEnum):
    COMMAND = "command"
    STATE = "state"
    REACHABILITY = "reachability"
    SAFETY = "safety"
    PEOPLE = "people"
    HOME = "home"


_KIND_OF: dict[NoticeKind | None, RecentKind] = {
    None: RecentKind.COMMAND,
    NoticeKind.STATE: RecentKind.STATE,
    NoticeKind.REACHABILITY: RecentKind.REACHABILITY,
    NoticeKind.SAFETY: RecentKind.SAFETY,
    NoticeKind.PEOPLE: RecentKind.PEOPLE,
    NoticeKind.PLANT: RecentKind.HOME,
}


class NamedPersonOut(OutputModel, frozen=True):
    """The name of a person. `isMe` is true for the person who asks. If a guest asks, the names of other people are left out."""

    name: str
    is_me: bool


class RecentEventOut(OutputModel, frozen=True):
    """Something that happened in the home.

    The field `kind` says what happened. `command`: a person (field `by`, null if not known) sent a command (field `command`),
    and the field `outcome` says how the command ended. `state`, `safety`: the module changed, and no confirmed command caused
    this; for example, a resident used a switch. `reachability`: the module went offline or came back. `people`: the membership
    of some people (field `people`) changed. `home`: the name or the rooms of the home changed.
    """

    at: datetime
    kind: RecentKind
    module_id: str | None
    module: str | None
    by: NamedPersonOut | None
    command: CommandBody | None
    outcome: Outcome | None
    state: StateOut | None
    reachable: bool | None
    people: list[NamedPersonOut]


class RecentQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=MOST, description="The greatest number of events.")] = 50


@OPERATIONS.add("GET /homes/{homeId}/events/recent", "The last events of the home: who did what; the newest is first")
async def list_recent_events(services: HomeServices, call: HomeCall, query: RecentQuery) -> Listing[RecentEventOut]:
    home = await services.open_home(call)
    found = await services.recent.list(home, query.limit)
    return Listing([await _event_out(services, call, home, event) for event in found])


async def _event_out(services: HomeServices, call: HomeCall, home: Home, event: RecentEvent) -> RecentEventOut:
    async def name(user_id: Id | None) -> NamedPersonOut | None:
        is_me = user_id == call.caller.user_id
        if user_id is None or (home.role is Role.GUEST and not is_me):
            return None
        user = await services.identities.find_user(user_id)
        return None if user is None else NamedPersonOut(user.name or print_email(user.email), is_me)

    order = event.order
    module = None if event.module_id is None else home.view.modules.get(event.module_id)
    return RecentEventOut(
        at=to_datetime(event.at),
        kind=_KIND_OF[event.kind],
        module_id=event.module_id,
        module=None if module is None else module.module.name,
        by=None if order is None else await name(order.order.user_id),
        command=None if order is None else command_body(order.order.command),
        outcome=event.outcome,
        state=None if event.state is None else state_out(event.state),
        reachable=event.reachable,
        people=[person for member in event.members if (person := await name(member)) is not None],
    )
