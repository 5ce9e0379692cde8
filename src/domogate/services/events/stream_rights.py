"""The rights of one event stream. They are checked again when a dependency changes or a time limit passes."""

from collections.abc import Sequence
from math import inf

import msgspec

from domogate.common.secrets import digest_secret
from domogate.domain.events import Change, ClientChanged, Event, GrantRevoked, SubscriptionChanged, UserChanged
from domogate.domain.faults import Fault, KeyRefused, NoSuchPlant, NotYourPlant, sentence
from domogate.domain.ids import Id
from domogate.domain.notices import Notice
from domogate.domain.people import Principal
from domogate.ports import Admission, Clock, FeedStore, Verifier
from domogate.services.events.endings import CODE_OF, KEY_GONE, TOKEN_CHANGED, TOKEN_EXPIRED, End, Ended
from domogate.services.events.filters import EventFilter
from domogate.services.plants.read_model import PlantView, ReadModel
from domogate.services.rights.access import Access, Caller, check_standing, get_access, list_own_plants

Dependency = tuple[str, str]
"""The type and id of an object, for example a user. When this object changes, the stream's rights are checked again."""


def plant_dependency(plant_id: Id) -> Dependency:
    return "plant", plant_id


ALL_PLANTS: Dependency = ("plant", "all")
"""The dependency of an operator's stream, if this stream has the events of all plants."""


def user_dependency(user_id: Id) -> Dependency:
    return "user", user_id


def key_dependency(key: bytes) -> Dependency:
    return "key", digest_secret(key).hex()


def find_dependency(event: Event) -> Dependency | None:
    """Return the user, client, grant or key that this event changes, as a dependency. None for other events."""
    if isinstance(event, UserChanged):
        return user_dependency(event.user_id)
    if isinstance(event, ClientChanged):
        return "client", event.client_id
    if isinstance(event, GrantRevoked):
        return "grant", event.grant_id
    if isinstance(event, SubscriptionChanged):
        return "key", event.key_hash
    return None


ViewerKey = tuple[Id, frozenset[str], frozenset[Id] | None]
"""The user, scopes and plants of a stream. Streams with the same values have the same rights to the events of a plant."""


class StreamContext(msgspec.Struct, frozen=True):
    """The objects that all streams of a hub share."""

    store: FeedStore
    read_model: ReadModel
    verifier: Verifier
    admission: Admission
    clock: Clock
    source: str
    """The URL of the gateway, which is the source of every event."""

    async def get_plant(self, plant_id: Id) -> PlantView | None:
        return self.read_model.find_plant(plant_id) or await self.read_model.get_plant(plant_id)


FramedNotice = tuple[Notice, bytes]
"""A notice with the bytes of its server-sent event."""
FramedNotices = Sequence[FramedNotice]


class StreamRights:
    """The principal and the plants of one stream, as they were at the last check."""

    def __init__(self, context: StreamContext, caller: Caller, event_filter: EventFilter) -> None:
        self._context = context
        self._token = caller.unverified_token
        self._key = caller.key
        self._event_filter = event_filter
        self._token_until = caller.principal.expires_at
        self._key_until = inf
        self._plants_until = inf
        self.until = caller.principal.expires_at
        """The earliest time at which the token or the key expires, or the rights on a plant may change."""
        self._set_principal(caller.principal)
        self.plants: set[Id] = set(event_filter.plants)

    @property
    def all_plants(self) -> bool:
        """Whether the stream is about all plants of the user, including plants that the user gets later."""
        return not self._event_filter.plants

    @property
    def outdated(self) -> bool:
        """Whether the rights on a plant may have changed, because the period of a guest has begun or ended."""
        return self._plants_until <= self._context.clock.now()

    def _set_principal(self, principal: Principal) -> None:
        self.principal = principal
        self.viewer_key: ViewerKey = self._find_viewer_key(principal)

    def _find_viewer_key(self, principal: Principal) -> ViewerKey:
        """Return the user, scopes and plants of the principal: the viewer key of the stream.

        Streams with equal viewer keys have the same rights to the events of a plant. So the hub checks an event once for all of
        them.
        """
        return principal.user_id, principal.scopes, principal.plants

    def list_dependencies(self) -> list[Dependency]:
        principal = self.principal
        return [
            user_dependency(principal.user_id),
            ("client", principal.client_id),
            ("grant", principal.grant_id),
            *([] if self._key is None else [key_dependency(self._key)]),
            *map(plant_dependency, self.plants),
        ]

    def check_time(self) -> None:
        """Raises Ended if the token or the key has expired."""
        now = self._context.clock.now()
        if now >= self._token_until:
            raise Ended(TOKEN_EXPIRED)
        if now >= self._key_until:
            raise Ended(KEY_GONE)

    async def check(self) -> None:
        """Check token, standing, key and plants as for a request. Raises Ended if one of them is refused."""
        verifier = self._context.verifier
        try:
            principal = verifier.find_verified(self._token) or await verifier.verify(self._token)
            check_standing(principal.standing)
            key_until = inf if self._key is None else await self._context.admission.recognise(self._key)
            if principal.scopes != self.principal.scopes:
                raise Ended(TOKEN_CHANGED)
            plants, plants_until = await self._find_plants(principal)
        except KeyRefused:
            raise Ended(KEY_GONE) from None
        except Fault as fault:
            raise Ended(End(CODE_OF[type(fault)], sentence(fault.message.rstrip(".")))) from None
        self._set_principal(principal)
        self.plants = plants
        self._token_until, self._key_until, self._plants_until = principal.expires_at, key_until, plants_until
        self.until = min(principal.expires_at, key_until, plants_until)

    async def _find_plants(self, principal: Principal) -> tuple[set[Id], float]:
        if self.all_plants:
            person = await self._context.read_model.get_person(principal.user_id)
            own = list_own_plants(person.plants, principal.user_id, principal.plants, self._context.clock.now())
            plants = {plant.id for plant in own.plants}
            if not self.plants <= plants:
                raise NotYourPlant("the user has lost the rights on a plant of this stream")
            return plants, own.until
        now = self._context.clock.now()
        until = [
            get_access(principal, plant_id, await self._context.get_plant(plant_id), now).until
            for plant_id in self._event_filter.plants
        ]
        return self.plants, min(until)

    async def keep_visible(self, notices: FramedNotices) -> FramedNotices:
        """Return the notices that the present rights allow.

        The module of a notice may have been deleted or changed since the notice was made.
        """
        return [(notice, frame) for notice, frame in notices if await self.may_see(notice)]

    def find_access(self, plant_id: Id, plant: PlantView | None) -> Access:
        """Return what the stream may show of the plant. Raises NoSuchPlant, NotYourPlant.

        `plant` is the plant from the read model, or None if there is no such plant.
        """
        return get_access(self.principal, plant_id, plant, self._context.clock.now())

    def may_get(self, notice: Notice, plant: PlantView) -> bool | None:
        """Return whether the stream may show the notice. Return None if the stream may show nothing of the plant."""
        try:
            return self.find_access(notice.plant_id, plant).may_get(notice)
        except (NoSuchPlant, NotYourPlant):
            return None

    async def get_access(self, plant_id: Id) -> Access:
        """Return what the stream may show of the plant.

        If the plant is not in memory, load it first. Raises NoSuchPlant, NotYourPlant.
        """
        return self.find_access(plant_id, await self._context.get_plant(plant_id))

    async def list_changes(self, after: int, limit: int) -> Sequence[Change]:
        """Return changes of the stream's plants, including changes that the stream may not show."""
        return await self._context.store.list_changes_of(self.plants, after, limit)

    async def may_see(self, notice: Notice) -> bool:
        if notice.plant_id not in self.plants:
            return False
        try:
            access = await self.get_access(notice.plant_id)
        except (NoSuchPlant, NotYourPlant):
            return False
        return access.may_get(notice)
