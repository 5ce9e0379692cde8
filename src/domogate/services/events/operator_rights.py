"""The rights of the event stream of an operator. While the user is an operator, the stream may show all plants."""

from collections.abc import Awaitable, Callable, Sequence
from math import inf

from domogate.domain.events import Change
from domogate.domain.faults import Fault, NoSuchPlant, sentence
from domogate.domain.ids import Id
from domogate.domain.notices import Notice
from domogate.domain.people import HOME_SCOPE, Principal
from domogate.services.events.endings import CODE_OF, TOKEN_CHANGED, End, EndCode, Ended
from domogate.services.events.filters import EventFilter
from domogate.services.events.stream_rights import ALL_PLANTS, Dependency, StreamContext, StreamRights, ViewerKey
from domogate.services.plants.read_model import PlantView
from domogate.services.rights.access import Access, Caller

IsOperator = Callable[[Id], Awaitable[bool]]

_EVERYTHING = frozenset({HOME_SCOPE})
"""The scopes of the streams of operators. With them, every kind of module is visible, as in the management API."""
_ANY_OPERATOR = Id("operator")
_NOT_OPERATOR = End(EndCode.PLANT, "The user is not an operator any more.")


class OperatorRights(StreamRights):
    """The rights of the stream of an operator, who sees every plant, including removed plants.

    If the filter names no plants, the stream is about all plants of the gateway. This includes plants that are added later.
    """

    def __init__(self, context: StreamContext, caller: Caller, event_filter: EventFilter, is_operator: IsOperator) -> None:
        super().__init__(context, caller, event_filter)
        self._is_operator = is_operator

    @property
    def all_plants(self) -> bool:
        """Return False. True would mean that the stream is about all plants of its user.

        An operator's stream is not limited to the plants of the operator. If it is about all plants of the gateway,
        `list_dependencies` returns the dependency `ALL_PLANTS`. This dependency stands for each plant of the gateway.
        """
        return False

    def _find_viewer_key(self, _principal: Principal) -> ViewerKey:
        """Return the same viewer key for all operators, so that the hub checks an event once for all their streams."""
        return _ANY_OPERATOR, _EVERYTHING, None

    def list_dependencies(self) -> list[Dependency]:
        return [*super().list_dependencies(), *([] if self.plants else [ALL_PLANTS])]

    async def check(self) -> None:
        """Raises Ended if the token is refused, its scopes have changed, or its user is not an operator any more."""
        verifier = self._context.verifier
        try:
            principal = verifier.find_verified(self._token) or await verifier.verify(self._token)
        except Fault as fault:
            raise Ended(End(CODE_OF[type(fault)], sentence(fault.message.rstrip(".")))) from None
        if principal.scopes != self.principal.scopes:
            raise Ended(TOKEN_CHANGED)
        if not await self._is_operator(principal.user_id):
            raise Ended(_NOT_OPERATOR)
        self._set_principal(principal)
        self._token_until = self.until = principal.expires_at

    def find_access(self, plant_id: Id, plant: PlantView | None) -> Access:
        if plant is None:
            raise NoSuchPlant(f"no plant has the id {plant_id}")
        return Access(plant, _EVERYTHING, inf, joined=0)

    async def list_changes(self, after: int, limit: int) -> Sequence[Change]:
        return await self._context.store.list_changes_of(self.plants or None, after, limit)

    async def may_see(self, notice: Notice) -> bool:
        try:
            return (await self.get_access(notice.plant_id)).may_get(notice)
        except NoSuchPlant:
            return False
